"""``print``: prints each row and its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from headrace.common._options.values import ValueKind
from headrace.common.types import Row
from headrace.datastream.connectors._print import PrintSink
from headrace.sql.types import SqlType
from headrace.table._connectors.connector import Connector, TableRequest, TableSink, refuse_to_read
from headrace.table._formats.value_text import value_text
from headrace.table._options import TableOption, read_options

_IDENTIFIER = TableOption("print-identifier", default="")
_TO_STDERR = TableOption("standard-error", ValueKind.BOOLEAN, False)
_PARALLELISM = TableOption("sink.parallelism", ValueKind.INT)


class PrintConnector(Connector):
    """Tables that are only written, to the program's output."""

    identifier = "print"

    def source(self, request: TableRequest) -> NoReturn:
        """Refuse: the table can only be written."""
        refuse_to_read(request, self.identifier)

    def sink(self, request: TableRequest) -> TableSink:
        """Return a sink that prints rows of any kind."""
        found = read_options(request.name, request.options, (_IDENTIFIER, _TO_STDERR, _PARALLELISM))
        types = tuple(column.type for column in request.columns)
        return TableSink(TablePrintSink(found["print-identifier"], found["standard-error"], types))


@dataclass(frozen=True)
class TablePrintSink(PrintSink):
    """Prints rows as Flink's SQL does: ``+I[1, abc]``."""

    types: tuple[SqlType, ...] = ()

    def shown(self, value: Any, type_info: Any) -> str:  # type: ignore[override]
        """Return the line of a row, without the identifier."""
        return row_line(value, [value_text(kind) for kind in self.types])


def row_line(row: Row, texts: Sequence[Callable[[Any], str]]) -> str:
    """Return a row as a line; ``texts`` has a function for the values of each column."""
    shown = ", ".join([text(value) for text, value in zip(texts, row, strict=True)])
    return f"{row.get_row_kind().sign}[{shown}]"
