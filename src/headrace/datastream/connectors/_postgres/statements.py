"""The sink's SQL statements with placeholders, and the functions that return their values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.types import Row
from headrace.datastream.connectors._postgres.client import identifier, table_name
from headrace.errors import TypeMismatchError

Values = Callable[[Any], Sequence[Any]]


@dataclass(frozen=True)
class FieldsOf:
    """Returns the fields of a record by name; those of tuples and lists by position."""

    names: tuple[str, ...]

    def __call__(self, record: Any) -> Sequence[Any]:
        """The values in the order of the names.

        Raises:
            TypeMismatchError: a field is missing.
        """
        names = self.names
        try:
            if isinstance(record, Row):
                if record._names() is not None:
                    return record.get_fields_by_names(names)
                record = record._values
            if isinstance(record, Mapping):
                return [record[name] for name in names]
            if not isinstance(record, tuple | list) or hasattr(record, "_fields"):
                return [getattr(record, name) for name in names]
            if len(record) == len(names):
                return record
        except (KeyError, AttributeError):
            pass  # raised below, with the record
        raise TypeMismatchError(
            f"a record does not have the {len(names)} columns {', '.join(names)}",
            where={"record": repr(record)[:200]},
            hint="name the columns after the fields, or give values=",
        )


def append_sql(table: str, columns: Sequence[str]) -> str:
    """Return a COPY into the table."""
    return f"COPY {table_name(table)} ({', '.join(map(identifier, columns))}) FROM STDIN"


def upsert_sql(table: str, columns: Sequence[str], key: Sequence[str]) -> str:
    """Return an INSERT that updates the row with the same key, if there is one."""
    names = ", ".join(map(identifier, columns))
    marks = ", ".join(["%s"] * len(columns))
    rest = [identifier(column) for column in columns if column not in key]
    change = ", ".join(f"{name} = EXCLUDED.{name}" for name in rest)
    return (
        f"INSERT INTO {table_name(table)} ({names}) VALUES ({marks}) "
        f"ON CONFLICT ({', '.join(map(identifier, key))}) DO "
        + (f"UPDATE SET {change}" if change else "NOTHING")
    )
