"""Blocks of CSV as columns, if pyarrow reads them exactly as Flink's CSV format does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.typeinfo import TypeInformation, Types
from headrace.datastream.formats._csv.columns import CsvColumns
from headrace.sql.types import DoubleType, IntegerType, SqlType


@dataclass(frozen=True)
class TableCsvColumns(CsvColumns):
    """Reads blocks into columns of numbers and of texts.

    ``null``: the text of a field that is NULL; None: no field is. ``quoted``: quotes are around
    whole fields; the dialect has none to look for.
    """

    null: str | None = None
    quoted: bool = False

    def _find_specials(self) -> tuple[bytes, ...]:
        # Blank lines need not be looked for: who counts the rows finds that they are missing.
        return tuple(each for each in super()._find_specials() if not each.endswith(b"\n"))

    def _make_options(self) -> tuple[Any, Any]:
        parsing, converting = super()._make_options()
        converting.null_values = [] if self.null is None else [self.null]
        converting.strings_can_be_null = self.null is not None
        if self.quoted:
            parsing.quote_char, parsing.double_quote = '"', False
        return parsing, converting


def read_as(kind: SqlType) -> TypeInformation:
    """Return the type as which pyarrow reads the fields of a column; the others are texts."""
    match kind:
        case IntegerType():
            of_bits = {8: Types.BYTE(), 16: Types.SHORT(), 32: Types.INT(), 64: Types.LONG()}
            return of_bits[kind.bits]
        case DoubleType():
            return Types.DOUBLE()
    return Types.STRING()
