"""Types of rows and tuples."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from headrace.common._types.data import TypeData, type_data
from headrace.common._types.information import (
    Coercer,
    TypeInformation,
    coerce_each,
    mismatch,
    require_types,
)
from headrace.common._types.row import Row, RowKind, row_of
from headrace.errors import PlanError

_KINDS = tuple(RowKind)


class RowTypeInfo(TypeInformation):
    """The type of a Row, with the types and names of its fields (default names f0, f1, …).

    It accepts rows, tuples and lists (fields by position), and mappings and objects (fields by
    name; a missing name becomes None).
    """

    def __init__(
        self, field_types: Sequence[TypeInformation], field_names: Sequence[str] | None = None
    ) -> None:
        self._field_types = require_types(field_types, "ROW")
        self._named = bool(field_names)
        names = [f"f{index}" for index in range(len(self._field_types))]
        self._field_names = list(field_names) if field_names else names
        if len(self._field_names) != len(self._field_types):
            raise PlanError(
                f"ROW has {len(self._field_names)} names for {len(self._field_types)} types"
            )
        if len(set(self._field_names)) != len(self._field_names):
            raise PlanError(f"ROW has a name twice: {', '.join(self._field_names)}")

    def get_field_names(self) -> list[str]:
        """Return the names of the fields, in order."""
        return list(self._field_names)

    def get_field_index(self, field_name: str) -> int:
        """Return the position of a field, or -1 if the row type has no field names.

        Raises:
            ValueError: the row type has names, but not ``field_name``.
        """
        return self._field_names.index(field_name) if self._named else -1

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields, in order."""
        return list(self._field_types)

    def _arguments(self) -> tuple[Any, ...]:
        return (self._field_types, tuple(self._field_names))

    def to_data(self) -> TypeData:
        names = {"names": self.get_field_names()} if self._named else {}
        return type_data("ROW", *(field.to_data() for field in self._field_types), **names)

    def coercer(self) -> Coercer | None:
        """Return a function that converts values to a Row with this type's names.

        The row kind is kept.
        """
        coercers = [field.coercer() for field in self._field_types]
        names = self._field_names
        no_coercions = not any(coercers)

        def coerce(value: Any) -> Any:
            if value is None:
                return None
            values = self._values_of(value)
            if len(values) != len(names):
                raise mismatch(value, self, f"it has {len(values)} fields, not {len(names)}")
            fields = list(values) if no_coercions else coerce_each(values, coercers, names)
            return row_of(names, fields, value._row_kind if isinstance(value, Row) else _INSERT)

        return coerce

    def _values_of(self, value: Any) -> Sequence[Any]:
        if isinstance(value, Row):
            # A type without names takes the fields by position, whatever their names.
            if not self._named or value._names() is None:
                return value._values
            try:
                return value.get_fields_by_names(self._field_names)
            except KeyError as error:
                raise mismatch(value, self, f"no field {error.args[0]}") from None
        if isinstance(value, tuple | list):
            return value
        if isinstance(value, Mapping):
            return [value.get(name) for name in self._field_names]
        if dataclasses.is_dataclass(value) or hasattr(value, "__dict__"):
            if self._named and not isinstance(value, type):
                return [getattr(value, name, None) for name in self._field_names]
            raise mismatch(value, self, "fields of an object need names: use Types.ROW_NAMED")
        raise mismatch(value, self)

    def _format(self, value: Any) -> str:
        kind = value.get_row_kind() if isinstance(value, Row) else RowKind.INSERT
        shown = (
            field.format(part)
            for field, part in zip(self._field_types, self._values_of(value), strict=True)
        )
        return f"{kind.sign}[{', '.join(shown)}]"

    def need_conversion(self) -> bool:
        """Return True: the internal form is a tuple."""
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Convert a row to a tuple: the row kind's number, then the fields in internal form."""
        if obj is None:
            return None
        kind = obj.get_row_kind() if isinstance(obj, Row) else RowKind.INSERT
        fields = zip(self._field_types, self._values_of(obj), strict=True)
        return (kind.value, *(field.to_internal_type(part) for field, part in fields))

    def from_internal_type(self, obj: Any) -> Row | None:
        """Convert such a tuple back to a row with this type's field names."""
        if obj is None:
            return None
        kind, *parts = obj
        fields = zip(self._field_types, parts, strict=True)
        values = [field.from_internal_type(part) for field, part in fields]
        return row_of(self._field_names, values, _KINDS[kind])


_INSERT = RowKind.INSERT


class TupleTypeInfo(TypeInformation):
    """The type of a tuple, with a type for each field."""

    def __init__(self, field_types: Sequence[TypeInformation]) -> None:
        self._field_types = require_types(field_types, "TUPLE")

    def get_field_types(self) -> list[TypeInformation]:
        """Return the types of the fields, in order."""
        return list(self._field_types)

    def _arguments(self) -> tuple[Any, ...]:
        return self._field_types

    def to_data(self) -> TypeData:
        return type_data("TUPLE", *(field.to_data() for field in self._field_types))

    def coercer(self) -> Coercer | None:
        """Return a function that converts tuples, lists and rows to tuples."""
        coercers = [field.coercer() for field in self._field_types]
        path_steps = [f"f{index}" for index in range(len(coercers))]
        no_coercions = not any(coercers)

        def coerce(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, tuple | list | Row):
                raise mismatch(value, self)
            if len(value) != len(path_steps):
                raise mismatch(value, self, f"it has {len(value)} fields, not {len(path_steps)}")
            if no_coercions:
                return tuple(value)
            values = value._values if isinstance(value, Row) else value
            return tuple(coerce_each(values, coercers, path_steps))

        return coerce

    def _format(self, value: Any) -> str:
        fields = zip(self._field_types, value, strict=True)
        return f"({','.join(field.format(part) for field, part in fields)})"

    def need_conversion(self) -> bool:
        """Return True: lists and rows become tuples."""
        return True

    def to_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Convert to a tuple of the fields in internal form."""
        if obj is None:
            return None
        fields = zip(self._field_types, obj, strict=True)
        return tuple(field.to_internal_type(part) for field, part in fields)

    def from_internal_type(self, obj: Any) -> tuple[Any, ...] | None:
        """Convert back to a tuple of the fields."""
        if obj is None:
            return None
        fields = zip(self._field_types, obj, strict=True)
        return tuple(field.from_internal_type(part) for field, part in fields)


class ExternalTypeInfo(TypeInformation):
    """A wrapper around another type; it behaves exactly as that type."""

    def __init__(self, type_info: TypeInformation) -> None:
        (self._type_info,) = require_types([type_info], "ExternalTypeInfo")

    def _arguments(self) -> tuple[Any, ...]:
        return (self._type_info,)

    def to_data(self) -> TypeData:
        return type_data("EXTERNAL", self._type_info.to_data())

    def coercer(self) -> Coercer | None:
        """Return the coercer of the wrapped type."""
        return self._type_info.coercer()

    def _format(self, value: Any) -> str:
        return self._type_info.format(value)

    def need_conversion(self) -> bool:
        """Return whether the wrapped type needs conversion."""
        return self._type_info.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Convert as the wrapped type does."""
        return self._type_info.to_internal_type(obj)

    def from_internal_type(self, obj: Any) -> Any:
        """Convert back as the wrapped type does."""
        return self._type_info.from_internal_type(obj)
