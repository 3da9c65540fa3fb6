"""Access to one field of a record: a tuple, list, ``Row``, dict, dataclass or other object."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from headrace.common.types import Row, row_of
from headrace.errors import TypeMismatchError


def has_fields(record: Any) -> bool:
    """Return False for plain values such as numbers and strings."""
    return isinstance(record, tuple | list | Row | dict) or _is_dataclass(record)


def field_of(record: Any, field: int | str) -> Any:
    """Return the value of a field, by position or name.

    Raises:
        TypeMismatchError: the record has no such field.
    """
    try:
        if isinstance(field, str):
            return record[field] if isinstance(record, Row | dict) else getattr(record, field)
        if _is_dataclass(record):
            return getattr(record, dataclasses.fields(record)[field].name)
        return record[field]
    except (LookupError, AttributeError):
        raise _missing_field_error(field, record) from None


def with_field(record: Any, field: int | str, value: Any) -> Any:
    """Return a copy of a record with another value in one field."""
    if isinstance(record, tuple):
        if hasattr(record, "_replace"):
            name = field if isinstance(field, str) else record._fields[field]  # type: ignore[attr-defined]
            return record._replace(**{name: value})
        items = list(record)
        items[field] = value  # type: ignore[index]
        return tuple(items)
    if isinstance(record, Row):
        row = row_of(getattr(record, "_fields", None), list(record), record.get_row_kind())
        row[field] = value
        return row
    if isinstance(record, list | dict):
        copy: Any = record.copy()
        copy[field] = value
        return copy
    name = field if isinstance(field, str) else dataclasses.fields(record)[field].name
    return dataclasses.replace(record, **{name: value})


def _is_dataclass(record: Any) -> bool:
    return dataclasses.is_dataclass(record) and not isinstance(record, type)


def require_position(field: int, *records: tuple[Any, ...]) -> None:
    """Check that each tuple in ``records`` has the position ``field``.

    Raises:
        TypeMismatchError: a tuple is too short.
    """
    for record in records:
        if not -len(record) <= field < len(record):
            raise _missing_field_error(field, record) from None


def require_position_zero(field: int | str, record: Any) -> None:
    """Check that the field of a plain value, which has no fields, is position 0: the value itself.

    Raises:
        TypeMismatchError: ``field`` is another position, or a name.
    """
    if field != 0:
        raise TypeMismatchError(
            f"field {field!r} is asked of a {type(record).__name__}, which has no fields",
            where={"record": repr(record)[:120]},
            hint="use position 0, the value itself",
        )


def fields_hint(count: int, names: Sequence[Any]) -> str:
    """Return a sentence for an error's hint: which fields a record has."""
    if not count:
        return "it has no fields"
    positions = f"it has the positions 0 to {count - 1}"
    return f"{positions}, named {', '.join(map(str, names))}" if names else positions


def _missing_field_error(field: int | str, record: Any) -> TypeMismatchError:
    names: list[Any] = []
    if isinstance(record, dict):
        names = [*record]
    elif isinstance(record, Row):
        names = [*(record._names() or ())]
    elif hasattr(record, "_fields"):
        names = [*record._fields]
    elif _is_dataclass(record):
        names = [each.name for each in dataclasses.fields(record)]
    elif not isinstance(record, tuple | list):
        names = [*getattr(record, "__dict__", ())]
    count = len(record) if isinstance(record, tuple | list | Row) else len(names)
    return TypeMismatchError(
        f"a {type(record).__name__} has no field {field!r}",
        where={"record": repr(record)[:120]},
        hint=fields_hint(count, names),
    )
