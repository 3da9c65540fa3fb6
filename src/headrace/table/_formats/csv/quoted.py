"""Blocks of CSV with quoted fields, if pyarrow reads them as Flink's CSV format does."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from headrace.datastream.formats._csv.columns import CsvColumns

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"


class QuotedCsvColumns(CsvColumns):
    """Reads blocks whose quotes are around whole fields; the dialect has none to look for."""

    @cached_property
    def _options(self) -> tuple[Any, Any]:
        parsing, converting = super()._options
        parsing.quote_char, parsing.double_quote = '"', False
        return parsing, converting


def quotes_whole_fields(block: bytes, delimiter: str) -> bool:
    """Return whether each quote begins or ends a field of one line, and none is in one."""
    import numpy as np

    if b'""' in block:
        return False
    found = np.frombuffer(block, np.uint8)
    quotes = np.flatnonzero(found == ord('"'))
    if len(quotes) % 2:
        return False
    opening, closing = quotes[::2], quotes[1::2]
    between = ord(delimiter)
    before = found[opening[opening > 0] - 1]
    after = found[closing[closing < len(found) - 1] + 1]
    if not ((before == between) | (before == _LINE_FEED)).all():
        return False
    ends = (after == between) | (after == _LINE_FEED) | (after == _CARRIAGE_RETURN)
    lines = np.flatnonzero(found == _LINE_FEED)
    same_line = np.searchsorted(lines, opening) == np.searchsorted(lines, closing)
    return bool(ends.all() and same_line.all())
