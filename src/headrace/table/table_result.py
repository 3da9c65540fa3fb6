"""``TableResult``: what a statement gives."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, RowKind
from headrace.datastream._streams.closeable_iterator import CloseableIterator
from headrace.errors import PlanError
from headrace.sql.rel import Columns
from headrace.table._results.tableau import MAX_WIDTH, NULL, print_rows
from headrace.table._results.texts import text_of
from headrace.table._results.values import python_row
from headrace.table.result_kind import ResultKind

if TYPE_CHECKING:
    from headrace.common.job_client import JobClient
    from headrace.table._catalogs.columns import ResolvedSchema
    from headrace.table.table_schema import TableSchema

__all__ = ["CloseableIterator", "TableResult"]

KIND_CODES = dict(zip(RowKind, ("+I", "-U", "+U", "-D"), strict=True))
"""How row kinds are printed."""

Open = Callable[[], CloseableIterator]
"""Starts the job, if it is not running, and returns its rows."""


class TableResult:
    """The rows of a statement, or that it was carried out. Rows can be taken once."""

    def __init__(
        self,
        columns: Columns,
        kind: ResultKind,
        open_rows: Open,
        *,
        changes: bool = False,
        time_zone: str = "UTC",
        job: JobClient | None = None,
        max_width: int = MAX_WIDTH,
        is_query: bool = True,
    ) -> None:
        self._columns = columns
        self._kind = kind
        self._open = open_rows
        self._changes = changes
        self._time_zone = time_zone
        self._job = job
        self._max_width = max_width
        self._is_query = is_query
        self._taken = False
        self._plain = False

    def get_job_client(self) -> JobClient | None:
        """Return the client of the job that the statement started; None: it started none."""
        return self._job

    def get_resolved_schema(self) -> ResolvedSchema:
        """Return the columns."""
        from headrace.table._catalogs.columns import schema_of_columns

        return schema_of_columns(self._columns)

    def get_table_schema(self) -> TableSchema:
        """Return the names and types of the columns."""
        from headrace.table.table_schema import TableSchema

        return TableSchema._of_columns(self._columns)

    def get_result_kind(self) -> ResultKind:
        """Return whether there are rows."""
        return self._kind

    def wait(self, timeout_ms: int | None = None) -> None:
        """Wait until the job has ended.

        Raises:
            TimeoutError: it has not ended in time.
        """
        if self._job is not None:
            self._job.get_job_execution_result().result(
                None if timeout_ms is None else timeout_ms / 1000
            )

    def collect(self) -> CloseableIterator:
        """Return the rows, each with its row kind; closing the iterator ends the job."""
        rows = self._take()
        return CloseableIterator(self._python_rows(rows), rows.close)

    def print(self) -> None:
        """Print the rows as a table; of a stream with the kind of each row."""
        if self._kind is ResultKind.SUCCESS:
            print("OK")
            return
        with self._take() as rows:
            if self._plain:
                for row in rows:
                    print(row[0])
                return
            texts = self._texts(rows)
            print_rows(
                self._columns,
                self._changes,
                texts,
                print,
                self._max_width,
                by_type=self._is_query,
            )

    def _take(self) -> CloseableIterator:
        if self._taken:
            raise PlanError(
                "the rows of a TableResult can be taken once, by collect() or print()",
                hint="run the statement again",
            )
        self._taken = True
        return self._open()

    def _python_rows(self, rows: Iterator[Row]) -> Iterator[Row]:
        types = [column.type for column in self._columns]
        for row in rows:
            yield python_row(row, types)

    def _texts(self, rows: Iterator[Row]) -> Iterator[list[str]]:
        for row in rows:
            cells = self._cells(row)
            yield [KIND_CODES[row.get_row_kind()], *cells] if self._changes else cells

    def _cells(self, row: Row) -> list[str]:
        return [
            text_of(value, column.type, self._time_zone, NULL if self._is_query else "")
            for value, column in zip(row._values, self._columns, strict=True)
        ]


def content_of(columns: Columns, rows: list[list[Any]]) -> TableResult:
    """Return a result of rows that are known, which are printed in full."""
    return TableResult(
        columns,
        ResultKind.SUCCESS_WITH_CONTENT,
        lambda: CloseableIterator(iter([Row(*row) for row in rows])),
        max_width=sys.maxsize,
        is_query=False,
    )


def done() -> TableResult:
    """Return the result of a statement that was carried out: a row with OK."""
    from headrace.sql.rel import Column
    from headrace.sql.types import STRING

    return TableResult(
        (Column("result", STRING),),
        ResultKind.SUCCESS,
        lambda: CloseableIterator(iter([Row("OK")])),
    )


def text_result(text: str) -> TableResult:
    """Return a result of one text, which is printed as it is."""
    from headrace.sql.rel import Column
    from headrace.sql.types import STRING

    result = content_of((Column("result", STRING),), [[text]])
    result._plain = True
    return result
