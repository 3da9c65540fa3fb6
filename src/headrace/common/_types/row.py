"""``Row``, a record with named or numbered fields, and ``RowKind``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

__all__ = ["Row", "RowKind"]


class RowKind(Enum):
    """The change that a row means in a changelog: insert, update (before, after) or delete."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3

    @property
    def sign(self) -> str:
        """The two characters that Flink prints before a row: ``+I``, ``-U``, ``+U``, ``-D``."""
        return _SIGNS[self.value]

    def __str__(self) -> str:
        return self.sign


_SIGNS = ("+I", "-U", "+U", "-D")


class Row:
    """A record; fields are read by position (``row[0]``) and, if named, by name (``row.id``).

    ``Row(1, "a")`` has fields without names, ``Row(id=1, name="a")`` has named fields.
    ``Row("id", "name")`` can be called, and makes named rows: ``Row("id", "name")(1, "a")``. As
    in PyFlink, only named rows have the attribute ``_fields``.

    Rows are equal when kinds, names and values are equal; the order of named fields does not
    matter. ``<`` compares the values as tuples.
    """

    __slots__ = ("_fields", "_from_dict", "_row_kind", "_values")

    _fields: Sequence[str]
    _from_dict: bool
    _row_kind: RowKind
    _values: list[Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError("a Row takes positional values or named values, not both")
        if kwargs:
            self._fields = list(kwargs)
            self._values = list(kwargs.values())
            self._from_dict = True
        else:
            self._values = list(args)
            self._from_dict = False
        self._row_kind = RowKind.INSERT

    @staticmethod
    def of_kind(row_kind: RowKind, *args: Any, **kwargs: Any) -> Row:
        """Return a row of the given kind, from positional or named values."""
        row = Row(*args, **kwargs)
        row._row_kind = row_kind
        return row

    def as_dict(self, recursive: bool = False) -> dict[str, Any]:
        """Return the fields as a dict.

        ``recursive``: convert also rows in fields, lists and dicts.

        Raises:
            TypeError: the fields have no names.
        """
        names = self._names()
        if names is None:
            raise TypeError("a Row without field names cannot become a dict")
        values = map(_as_plain, self._values) if recursive else self._values
        return dict(zip(names, values, strict=False))

    def get_row_kind(self) -> RowKind:
        """Return the row kind; the default is INSERT."""
        return self._row_kind

    def set_row_kind(self, row_kind: RowKind) -> None:
        """Change the kind of this row."""
        self._row_kind = row_kind

    def set_field_names(self, field_names: Sequence[str]) -> None:
        """Name the fields, in their order."""
        self._fields = field_names

    def get_fields_by_names(self, names: Sequence[str]) -> list[Any]:
        """Return the values of the named fields in their order; all values of an unnamed row.

        Raises:
            KeyError: the row has no field of that name.
        """
        field_names = self._names()
        if field_names is None or list(names) == list(field_names):
            return self._values
        missing = [name for name in names if name not in field_names]
        if missing:
            raise KeyError(f"{', '.join(missing)}: not among the fields {', '.join(field_names)}")
        position = {name: index for index, name in enumerate(field_names)}
        return [self._values[position[name]] for name in names]

    def _names(self) -> Sequence[str] | None:
        return getattr(self, "_fields", None)

    def _find_position(self, name: str) -> int:
        names = self._names()
        if names is not None:
            for index, candidate in enumerate(names):
                if candidate == name:
                    return index
        raise KeyError(name)

    def __call__(self, *args: Any) -> Row:
        """A row whose field names are this row's values, and whose values are ``args``."""
        if len(args) > len(self._values):
            raise ValueError(f"{self!r} has {len(self._values)} fields, got {len(args)} values")
        return row_of(self._values, list(args), self._row_kind)

    def __getitem__(self, item: int | slice | str) -> Any:
        if isinstance(item, int | slice):
            return self._values[item]
        return self._values[self._find_position(item)]

    def __setitem__(self, item: int | slice | str, value: Any) -> None:
        if isinstance(item, int | slice):
            self._values[item] = value
        else:
            self._values[self._find_position(item)] = value

    def __getattr__(self, name: str) -> Any:
        """The value of the field ``name``."""
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._values[self._find_position(name)]
        except KeyError:
            raise AttributeError(f"{self!r} has no field {name!r}") from None

    def __contains__(self, item: object) -> bool:
        """Whether a named row has the field ``item``, or an unnamed row the value ``item``."""
        names = self._names()
        return item in (self._values if names is None else names)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def _to_comparable(self) -> tuple[Any, ...]:
        names = self._names()
        if names is None:
            return (self._row_kind.value, None, *self._values)
        by_name = sorted(zip(names, self._values, strict=False), key=lambda field: field[0])
        return (
            self._row_kind.value,
            tuple(name for name, _ in by_name),
            *(value for _, value in by_name),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return type(self) is type(other) and self._to_comparable() == other._to_comparable()

    def __hash__(self) -> int:
        return hash(self._to_comparable())

    def __lt__(self, other: Row) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return tuple(self._values) < tuple(other._values)

    def __le__(self, other: Row) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return tuple(self._values) <= tuple(other._values)

    def __gt__(self, other: Row) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return tuple(self._values) > tuple(other._values)

    def __ge__(self, other: Row) -> bool:
        if not isinstance(other, Row):
            return NotImplemented
        return tuple(self._values) >= tuple(other._values)

    def __reduce__(self) -> tuple[object, ...]:
        if self._row_kind is RowKind.INSERT:  # pickling an enum member doubles the time
            return (row_of, (self._names(), self._values))
        return (row_of, (self._names(), self._values, self._row_kind))

    def __repr__(self) -> str:
        names = self._names()
        if names is None:
            return f"<Row({', '.join(map(repr, self._values))})>"
        fields = zip(names, self._values, strict=False)
        return f"Row({', '.join(f'{name}={value!r}' for name, value in fields)})"


def row_of(names: Sequence[str] | None, values: list[Any], kind: RowKind = RowKind.INSERT) -> Row:
    """Return a row of ``values`` and ``names``, which are not copied."""
    row = Row.__new__(Row)
    if names is not None:
        row._fields = names
    row._values = values
    row._from_dict = False
    row._row_kind = kind
    return row


# Pickles refer to the public path, so that this module may move.
for _public in (Row, RowKind, row_of):
    _public.__module__ = "headrace.common.types"


def _as_plain(value: Any) -> Any:
    if isinstance(value, Row):
        return value.as_dict(True)
    if isinstance(value, list):
        return [_as_plain(element) for element in value]
    if isinstance(value, dict):
        return {key: _as_plain(element) for key, element in value.items()}
    return value
