"""Lines of styled text for a terminal, formatted without rich.

The layout of a table with rich takes 17 ms; four tables a second would cost the job a fourteenth of
a core. This module needs a third of a millisecond.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.text import Text

_CODES = {
    "": "",
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
    "bright_blue": "94",
    "black on white": "30;47",
    "black on green": "30;42",
    "black on yellow": "30;43",
    "white on red": "97;41",
}
"""The styles of spans, with their terminal codes; the names are those of rich."""

_ELLIPSIS = "…"


class Span(NamedTuple):
    """A text of one style."""

    text: str
    style: str = ""


Line = Sequence[Span]


@dataclass(frozen=True)
class Column:
    """A column of a table; ``width`` is its minimum width."""

    title: str
    width: int = 0
    right: bool = False


def table_lines(
    columns: Sequence[Column], rows: Iterable[Sequence[Line]], gap: int = 2
) -> list[Line]:
    """Return the lines of a table: a dim head, and a line for each row of cells."""
    cells = [*rows]
    widths = [
        max([column.width, len(column.title), *(_width(row[at]) for row in cells)])
        for at, column in enumerate(columns)
    ]
    head: list[Line] = [[Span(column.title, "dim")] for column in columns]
    return [[Span(" "), *_row_spans(columns, widths, row, gap)] for row in (head, *cells)]


def _row_spans(
    columns: Sequence[Column], widths: Sequence[int], row: Sequence[Line], gap: int
) -> list[Span]:
    spans: list[Span] = []
    for column, width, cell in zip(columns, widths, row, strict=True):
        padding = Span(" " * max(width - _width(cell), 0))
        spans += [padding, *cell] if column.right else [*cell, padding]
        spans.append(Span(" " * gap))
    return spans


def _width(line: Line) -> int:
    return sum(text_width(span.text) for span in line)


def text_width(text: str) -> int:
    """Return how many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def shorten(text: str, width: int) -> str:
    """Return a text that takes at most ``width`` cells, with an ellipsis if it was cut."""
    if text_width(text) <= width:
        return text
    while text and text_width(text) > width - 1:
        text = text[:-1]
    return text + _ELLIPSIS


def to_ansi(line: Line, width: int) -> str:
    """Return a line as text with terminal codes, cut to ``width`` cells."""
    parts, left = [], width
    for text, style in line:
        if left <= 0:
            break
        shown = shorten(text, left)
        left -= text_width(shown)
        parts.append(f"\x1b[{_CODES[style]}m{shown}\x1b[0m" if style else shown)
    return "".join(parts).rstrip()


def to_rich(lines: Iterable[Line]) -> Text:
    """Return lines as a ``Text`` of rich, for notebooks."""
    from rich.text import Text

    shown = Text(no_wrap=True)
    for line in lines:
        for text, style in line:
            shown.append(text, style)
        shown.append("\n")
    return shown
