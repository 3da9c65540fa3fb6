"""Finds the row that PostgreSQL, or its client, refuses."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from typing import Any

from headrace.datastream.connectors._postgres.client import psycopg
from headrace.errors import TypeMismatchError

Row = Sequence[Any]

_OF_ROWS = ("22", "23", "P0")
"""Error classes that concern values: data, constraints, and exceptions of triggers."""
_TYPE_MISMATCH = "42804"
_LINE_OF_COPY = re.compile(r"^COPY .*?, \S+ (\d+)(?=[,:]|$)", re.MULTILINE)


def is_about_a_row(error: Exception) -> bool:
    """Return whether the error is about one row's values.

    Return False if, for example, the table is missing.
    """
    library = psycopg()
    if not isinstance(error, library.Error):  # the conversion of a value has failed
        return isinstance(error, TypeError | ValueError | ArithmeticError)
    if error.sqlstate is None:
        of_values = library.ProgrammingError | library.DataError | library.NotSupportedError
        return isinstance(error, of_values)
    state: str = error.sqlstate
    return state.startswith(_OF_ROWS) or state == _TYPE_MISMATCH


def copy_rows(cursor: Any, sql: str, rows: Sequence[Row]) -> None:
    """Write rows with one COPY. The error for a row names the row."""
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
            _add_row_note(error, row)
        raise


def _row_of_line(context: str | None, rows: Sequence[Row]) -> Row | None:
    """Return the row at which a COPY failed: its error contains the number of the input line."""
    found = _LINE_OF_COPY.search(context or "")
    line = int(found[1]) if found else 0
    return rows[line - 1] if 0 < line <= len(rows) else None


def name_refused_row(
    error: Exception, connection: Any, sql: str, rows: Sequence[Row], sent: slice
) -> None:
    """Add a note to the error that names the first refused row of those that were sent together.

    The rows are sent again one by one, after those before them, in a transaction that is rolled
    back. If all are accepted then, or the connection breaks, no row is named.
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
                    _add_row_note(error, row)
                return


def _add_row_note(error: Exception, row: Row) -> None:
    error.add_note(f"the row that was refused: {row!r:.200}")


def is_not_adapted(error: Exception) -> bool:
    """Return whether it is psycopg's own error for a value that it cannot convert."""
    return isinstance(error, psycopg().ProgrammingError) and error.sqlstate is None


def mismatch(error: Exception, sink: str) -> TypeMismatchError:
    """Return the error as an exception of Headrace, with its notes."""
    made = TypeMismatchError(str(error), where={"sink": sink})
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made
