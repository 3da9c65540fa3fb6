"""Rows printed as a table, as Flink's client prints them."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence

from headrace.sql.rel import Columns
from headrace.sql.types import (
    BooleanType,
    DateType,
    DecimalType,
    IntegerType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)

MAX_WIDTH = 30
"""The widest column; longer texts are cut, with three dots."""

NULL = "<NULL>"
_KIND = "op"


def widths_of(columns: Columns, kinds: bool, max_width: int = MAX_WIDTH) -> list[int]:
    """Return the widths of columns from their types, before there are rows."""
    found = [
        max(_display_width(column.name), _width_of(column.type, max_width), len(NULL))
        for column in columns
    ]
    return [len(_KIND), *found] if kinds else found


def fitted_widths(
    columns: Columns, kinds: bool, rows: Sequence[Sequence[str]], max_width: int = MAX_WIDTH
) -> list[int]:
    """Return the widths that rows need, of which the first cell is the kind if ``kinds``."""
    names = [*((_KIND,) if kinds else ()), *(column.name for column in columns)]
    found = []
    for place, name in enumerate(names):
        longest = max((_display_width(row[place]) for row in rows), default=0)
        found.append(min(max(_display_width(name), longest), max(max_width, len(name))))
    return found


class Tableau:
    """Prints a table, row by row."""

    def __init__(
        self, columns: Columns, kinds: bool, widths: Sequence[int], write: Callable[[str], object]
    ) -> None:
        self._names = [*((_KIND,) if kinds else ()), *(column.name for column in columns)]
        self._kinds = kinds
        self._widths = widths
        self._write = write

    def begin(self) -> None:
        """Print the names."""
        self._border()
        self.row(self._names)
        self._border()

    def row(self, cells: Sequence[str]) -> None:
        """Print a row of texts."""
        parts = [
            _aligned(text, width, left=self._kinds and place == 0)
            for place, (text, width) in enumerate(zip(cells, self._widths, strict=True))
        ]
        self._write("| " + " | ".join(parts) + " |")

    def end(self) -> None:
        """Print the last border."""
        self._border()

    def _border(self) -> None:
        self._write("+-" + "-+-".join("-" * width for width in self._widths) + "-+")


def print_rows(
    columns: Columns,
    kinds: bool,
    rows: Iterable[Sequence[str]],
    write: Callable[[str], object],
    max_width: int = MAX_WIDTH,
    *,
    by_type: bool | None = None,
) -> None:
    """Print rows of texts and their number.

    ``by_type``: whether the widths follow from the types, or from the rows; None: from the types if
    ``kinds``.
    """
    count = 0
    if kinds if by_type is None else by_type:
        table = Tableau(columns, kinds, widths_of(columns, kinds, max_width), write)
        for row in rows:
            if not count:
                table.begin()
            table.row(row)
            count += 1
    else:
        known = [*rows]
        table = Tableau(columns, kinds, fitted_widths(columns, kinds, known, max_width), write)
        for row in known:
            if not count:
                table.begin()
            table.row(row)
            count += 1
    if not count:
        write("Empty set")
        return
    table.end()
    write("1 row in set" if count == 1 else f"{count} rows in set")


def _aligned(text: str, width: int, left: bool) -> str:
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    if _display_width(text) > width:
        text = _cut(text, width - 3) + "..."
    space = " " * (width - _display_width(text))
    return text + space if left else space + text


def _cut(text: str, width: int) -> str:
    found = ""
    for char in text:
        if _display_width(found + char) > width:
            break
        found += char
    return found


def _display_width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _width_of(kind: SqlType, max_width: int) -> int:
    match kind:
        case BooleanType():
            return 5
        case IntegerType():
            return kind.digits + 1
        case DecimalType():
            return kind.precision + 2
        case DateType():
            return 10
        case TimeType():
            return 8 if kind.precision == 0 else 9 + kind.precision
        case TimestampType() | TimestampLtzType():
            digits = -(-kind.precision // 3) * 3  # of milliseconds, of microseconds and so on
            return 20 + digits if digits else 19
    return max_width
