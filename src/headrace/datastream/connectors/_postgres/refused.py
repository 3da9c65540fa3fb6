"""Which of many rows PostgreSQL, or its client, does not take."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors._postgres.client import psycopg
from headrace.errors import TypeMismatchError

Row = Sequence[Any]

_OF_ROWS = ("22", "23", "P0")
"""Classes of errors that are about values: data, constraints, and what a trigger raises."""
_TYPE_MISMATCH = "42804"
_LINE_OF_COPY = re.compile(r"^COPY .*?, \S+ (\d+)(?=[,:]|$)", re.MULTILINE)


def is_about_a_row(error: Exception) -> bool:
    """Whether another row might have been taken: not so where a table is missing, say."""
    library = psycopg()
    if not isinstance(error, library.Error):  # what turns values into texts has failed
        return isinstance(error, TypeError | ValueError | ArithmeticError)
    if error.sqlstate is None:
        of_values = library.ProgrammingError | library.DataError | library.NotSupportedError
        return isinstance(error, of_values)
    state: str = error.sqlstate
    return state.startswith(_OF_ROWS) or state == _TYPE_MISMATCH


def copy_rows(cursor: Any, sql: str, rows: Sequence[Row]) -> None:
    """Write rows with one COPY. An error about a row names it."""
    row: Row | None = None
    try:
        with cursor.copy(sql) as copy:
            for row in rows:
                copy.write_row(row)
            row = None
    except Exception as error:
        if row is None and isinstance(error, psycopg().Error):
            row = _row_of_line(error.diag.context, rows)
        if row is not None and is_about_a_row(error):
            _name(error, row)
        raise


def _row_of_line(context: str | None, rows: Sequence[Row]) -> Row | None:
    """The row of the line that a COPY has failed at: rows are lines of its input."""
    found = _LINE_OF_COPY.search(context or "")
    line = int(found[1]) if found else 0
    return rows[line - 1] if 0 < line <= len(rows) else None


def name_refused(
    error: Exception, connection: Any, sql: str, rows: Sequence[Row], sent: slice
) -> None:
    """Name the first of the rows that were sent together, after those before, that is not taken.

    They are sent again one by one, in a transaction that is rolled back. Where each of them is
    taken then, or the connection breaks, no row is named.
    """
    with (
        contextlib.suppress(psycopg().Error),
        connection.transaction(force_rollback=True),
        connection.cursor() as cursor,
    ):
        if sent.start:
            cursor.executemany(sql, rows[: sent.start])
        for row in rows[sent]:
            try:
                cursor.execute(sql, row)
            except Exception as again:
                if is_about_a_row(again):
                    _name(error, row)
                return


def _name(error: Exception, row: Row) -> None:
    error.add_note(f"the row that was refused: {row!r:.200}")


def is_not_adapted(error: Exception) -> bool:
    """Whether it is psycopg's own: it has no form for a value."""
    return isinstance(error, psycopg().ProgrammingError) and error.sqlstate is None


def mismatch(error: Exception, sink: str) -> TypeMismatchError:
    """The same as an exception of Headrace's, with what is noted."""
    made = TypeMismatchError(str(error), where={"sink": sink})
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made
