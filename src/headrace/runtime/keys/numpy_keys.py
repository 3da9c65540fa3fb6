"""How numpy's scalars are hashed as keys: each as the value of Python's that it is equal to."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

_ATTOSECONDS = {
    "W": 7 * 86_400 * 10**18,
    "D": 86_400 * 10**18,
    "h": 3_600 * 10**18,
    "m": 60 * 10**18,
    "s": 10**18,
    "ms": 10**15,
    "us": 10**12,
    "ns": 10**9,
    "ps": 10**6,
    "fs": 10**3,
    "as": 1,
}
_EPOCH = dt.datetime(1970, 1, 1)


def value_getter(kind: type) -> Callable[[Any], Any] | None:
    """Return a function that converts scalars of a numpy class to hashable Python values, or None.

    Equal scalars, of any class and unit, give equal values. Times and time spans that differ by
    less than a microsecond may give the same value.
    """
    import numpy as np

    if issubclass(kind, np.timedelta64):
        return _to_timedelta
    if issubclass(kind, np.datetime64):
        return _to_datetime
    for parent, convert in (
        (np.bool_, bool),
        (np.integer, int),
        (np.floating, float),
        (np.complexfloating, complex),
        (np.str_, str),
        (np.bytes_, bytes),
    ):
        if issubclass(kind, parent):
            return convert
    return None


def _to_datetime(scalar: Any) -> Any:
    import numpy as np

    if np.isnat(scalar):
        return float("nan")
    unit, _ = np.datetime_data(scalar.dtype)
    if unit in ("Y", "M"):
        scalar = scalar.astype("datetime64[D]")
    microseconds = _to_microseconds(scalar)
    try:
        return _EPOCH + dt.timedelta(microseconds=microseconds)
    except OverflowError:  # beyond the calendar of ``datetime``
        return microseconds


def _to_timedelta(scalar: Any) -> Any:
    import numpy as np

    if np.isnat(scalar):
        return float("nan")
    unit, count = np.datetime_data(scalar.dtype)
    if unit in ("Y", "M"):  # no number of days
        return "months", int(scalar.astype("int64")) * count * (12 if unit == "Y" else 1)
    if unit == "generic":
        raise TypeError("a time span without a unit cannot be hashed")
    microseconds = _to_microseconds(scalar)
    try:
        return dt.timedelta(microseconds=microseconds)
    except OverflowError:
        return microseconds


def _to_microseconds(scalar: Any) -> int:
    import numpy as np

    unit, count = np.datetime_data(scalar.dtype)
    return int(scalar.astype("int64")) * count * _ATTOSECONDS[unit] // 10**12
