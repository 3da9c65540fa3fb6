"""Dates and times in the texts of formats: reading and writing, for values and for columns."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from typing import Any

from headrace.sql.functions.moments import BEYOND
from headrace.sql.types import AnyTimestampType, TimestampLtzType, to_arrow

_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)", re.ASCII)
_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?", re.ASCII)
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)([ T])(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{0,9}))?)?(Z?)", re.ASCII
)
_EPOCH = datetime.datetime(1970, 1, 1)
_PER_SECOND = {"ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}


def read_date(text: str) -> datetime.date:
    """Return the day of ``2020-01-31``; raise ValueError for another text."""
    found = _DATE.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r:.80} is not a date")
    return datetime.date(*map(int, found.groups()))


def read_time_ms(text: str) -> int:
    """Return the ms of ``23:59:59.123``; further digits are dropped, as Flink does.

    Raises:
        ValueError: the text is no such time.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r:.80} is not a time")
    hour, minute, second = map(int, found.groups()[:3])
    datetime.time(hour, minute, second)
    millis = int((found[4] or "").ljust(3, "0")[:3])
    return ((hour * 60 + minute) * 60 + second) * 1000 + millis


def timestamp_reader(kind: AnyTimestampType, iso: bool) -> Callable[[str], int]:
    """Return a function from a text to a timestamp, in the unit of its Arrow column.

    ``iso``: ``2020-01-31T23:59:59``, where the seconds may be missing; else ``2020-01-31
    23:59:59``. A moment ends in ``Z``. The function raises ``ValueError`` for other texts.
    """
    per_second = _PER_SECOND[to_arrow(kind).unit]
    between, end = "T" if iso else " ", "Z" if isinstance(kind, TimestampLtzType) else ""

    def read(text: str) -> int:
        found = _TIMESTAMP.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r:.80} is not a timestamp")
        year, month, day, separator, hour, minute, second, fraction, zone = found.groups()
        if separator != between or zone != end or (second is None and not iso):
            raise ValueError(f"{text!r:.80} is not a timestamp in the format of the table")
        moment = datetime.datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second or 0)
        )
        seconds = (moment - _EPOCH) // datetime.timedelta(seconds=1)
        nanos = int((fraction or "").ljust(9, "0"))
        value = seconds * per_second + nanos * per_second // 1_000_000_000
        if not -(1 << 63) <= value < 1 << 63:
            raise ValueError(f"{text!r:.80} is no {kind}: {BEYOND}")
        return value

    return read


def timestamps_of_texts(texts: Any, kind: AnyTimestampType, iso: bool) -> Any | None:
    """Return an Arrow array of texts as timestamps; None: some must be read one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.binary_length(texts)
    bounds = pc.min_max(lengths).as_py()
    zoned = isinstance(kind, TimestampLtzType)
    if bounds["min"] is None:
        return pa.nulls(len(texts), to_arrow(kind))
    # With seconds, and at most 6 digits after them: Arrow refuses more than the unit has.
    if bounds["min"] < 19 + zoned or bounds["max"] > 26 + zoned:
        return None
    if not _all_have(texts, 10, "T" if iso else " "):
        return None
    if zoned:
        if pc.all(pc.ends_with(texts, "Z")).as_py() is not True:
            return None
        texts = pc.utf8_slice_codeunits(texts, 0, -1)
    try:
        found, unit = texts.cast(pa.timestamp("us")), to_arrow(kind).unit
        return found.cast(pa.timestamp(unit), safe=unit == "ns").cast(to_arrow(kind))
    except pa.ArrowInvalid:
        return None


def _all_have(texts: Any, place: int, char: str) -> bool:
    """Return whether all texts have a character at a place; none is shorter."""
    import numpy as np

    if texts.null_count:
        texts = texts.drop_null()
    _, offsets, data = texts.buffers()
    starts = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts)]
    return bool((np.frombuffer(data, np.uint8)[starts + place] == ord(char)).all())


def dates_of_texts(texts: Any) -> Any | None:
    """Return an Arrow array of texts as days; None: some must be read one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bounds = pc.min_max(pc.binary_length(texts)).as_py()
    if bounds["min"] is not None and (bounds["min"], bounds["max"]) != (10, 10):
        return None
    try:
        return texts.cast(pa.date32())
    except pa.ArrowInvalid:
        return None


def times_of_texts(texts: Any) -> Any | None:
    """Return an Arrow array of texts as times of day; None: some must be read one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bounds = pc.min_max(pc.binary_length(texts)).as_py()
    if bounds["min"] is not None and (bounds["min"], bounds["max"]) != (8, 8):
        return None
    try:
        # Arrow reads no times of day.
        moments = pc.binary_join_element_wise("1970-01-01", texts, " ").cast(pa.timestamp("s"))
        return moments.cast(pa.time32("s")).cast(pa.time32("ms"))
    except pa.ArrowInvalid:
        return None


def time_text(moment: datetime.time) -> str:
    """Return ``23:59:59``, with as many digits after the point as are needed."""
    return _with_fraction(moment.isoformat("seconds"), moment.microsecond)


def timestamp_text(moment: datetime.datetime, between: str = " ") -> str:
    """Return the date and time of day, with as many digits after the point as are needed."""
    bare = moment if moment.tzinfo is None else moment.replace(tzinfo=None)
    text = bare.isoformat(between)
    return text.rstrip("0") if bare.microsecond else text


def _with_fraction(text: str, micros: int) -> str:
    return f"{text}.{micros:06d}".rstrip("0") if micros else text
