"""Quoted fields of CSV: whether pyarrow reads them as Flink's format does, and where they end."""

from __future__ import annotations

import re

from headrace.datastream.formats._csv.fields import CsvDialect

_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"
_SHORT = 1 << 10
"""For fewer bytes a pattern is faster than numpy."""


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


class QuotedFields:
    """Finds quoted fields in lines of CSV.

    As in Jackson, a quote begins such a field only where a field begins. Elsewhere it is a
    character of the field.
    """

    def __init__(self, dialect: CsvDialect, *, comments: bool) -> None:
        assert dialect.quote is not None
        self._dialect = dialect
        self._mark = dialect.quote.encode()
        quote, delimiter = re.escape(dialect.quote), re.escape(dialect.delimiter)
        escape = None if dialect.escape is None else re.escape(dialect.escape)
        pair = "" if escape is None else rf"|{escape}(?:.|\Z)"
        char = _none_of(dialect.quote, dialect.escape)
        rest = rf"(?:{char}|{quote}{quote}{pair})*+(?P<end>{quote}|\Z)"
        begins = rf"(?:\A|\n|{delimiter}){quote}{rest}"
        comment = r"|(?:\A|\n)[ \t]*+#[^\n]*+" if comments else ""
        self._rest = re.compile(rest.encode(), re.DOTALL)
        self._begins = re.compile((begins + pair + comment).encode(), re.DOTALL)

    def is_open(self, lines: bytes, opened: bool = False) -> bool:
        """Return whether the lines end inside a quoted field; ``opened``: they begin in one."""
        at = 0
        if opened:
            end = self._end_of_open(lines)
            if end is None:
                return True
            at = end
        elif self._mark not in lines or self._are_whole(lines):
            return False
        return any(found["end"] == b"" for found in self._begins.finditer(lines, at))

    def span_lines(self, block: bytes) -> bool:
        """Return whether a quoted field of the block contains a line end."""
        if self._mark not in block or self._are_whole(block):
            return False
        return any(
            block.find(b"\n", found.start() + 1, found.end()) >= 0
            for found in self._begins.finditer(block)
            if found["end"] is not None
        )

    def records(self, block: bytes) -> list[bytes | None]:
        """Return the records of a block in place of their first lines, and None in place of their
        other lines."""
        lines = block.split(b"\n")
        if not lines[-1]:
            del lines[-1]
        found: list[bytes | None] = []
        first, opened = 0, False
        for number, line in enumerate(lines):
            opened = self.is_open(line, opened)
            if not opened or number == len(lines) - 1:
                found.append(b"\n".join(lines[first : number + 1]).removesuffix(b"\r"))
                found += [None] * (number - first)
                first = number + 1
        return found

    def _end_of_open(self, lines: bytes) -> int | None:
        """Return the end of the field that began in the lines before; None: it ends later."""
        if self._mark not in lines:
            return None
        found = self._rest.match(lines)
        assert found is not None, "the pattern matches every text"
        return None if found["end"] == b"" else found.end()

    def _are_whole(self, lines: bytes) -> bool:
        if len(lines) < _SHORT or self._mark != b'"' or self._dialect.escape is not None:
            return False
        return quotes_whole_fields(lines, self._dialect.delimiter)


def _none_of(*chars: str | None) -> str:
    """Return a pattern of characters that are none of these."""
    given = [char for char in chars if char is not None]
    if all(map(str.isascii, given)):
        return f"[^{''.join(map(re.escape, given))}]++"
    return f"(?!{'|'.join(map(re.escape, given))})."
