"""Conversion of what timestamp assigners return to milliseconds."""

from __future__ import annotations

import operator
from datetime import datetime
from typing import Any

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK, out_of_range
from headrace.common.time import epoch_ms_of
from headrace.errors import TypeMismatchError


def as_ms(result: Any, value: Any) -> int:
    """Convert ``result``, returned by an assigner for the record ``value``, to int ms.

    Raises:
        TypeMismatchError: the result is neither an int of 64 bits nor a datetime.
    """
    if isinstance(result, datetime):
        return epoch_ms_of(result)
    if not isinstance(result, bool):
        try:
            found = operator.index(result)  # accepts numpy's integers too
        except TypeError:
            pass  # raised below, with the record
        else:
            if MIN_WATERMARK <= found <= MAX_WATERMARK:
                return found
            record = {"record": repr(value)[:120]}
            raise out_of_range("the timestamp assigner returned", found, record)
    raise TypeMismatchError(
        f"the timestamp assigner returned {result!r}, a {type(result).__name__}, not an int",
        where={"record": repr(value)[:120]},
        hint="return milliseconds since the epoch as an int, or a datetime",
    )
