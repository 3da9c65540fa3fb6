"""What timestamp assigners give, as milliseconds."""

from __future__ import annotations

import operator
from datetime import datetime
from typing import Any

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK, out_of_range
from headrace.common.time import epoch_ms_of
from headrace.errors import TypeMismatchError


def as_ms(result: Any, value: Any) -> int:
    """The milliseconds that an assigner gave for a record, as an int.

    Raises:
        TypeMismatchError: it gave something other than an int or a datetime, or a number that
            does not fit 64 bits.
    """
    if isinstance(result, datetime):
        return epoch_ms_of(result)
    if not isinstance(result, bool):
        try:
            found = operator.index(result)  # numpy's integers
        except TypeError:
            pass  # said below, with the record
        else:
            if MIN_WATERMARK <= found <= MAX_WATERMARK:
                return found
            record = {"record": repr(value)[:120]}
            raise out_of_range("the timestamp assigner gave", found, record)
    raise TypeMismatchError(
        f"the timestamp assigner gave {result!r}, a {type(result).__name__}, not an int",
        where={"record": repr(value)[:120]},
        hint="give milliseconds since the epoch as an int, or a datetime",
    )
