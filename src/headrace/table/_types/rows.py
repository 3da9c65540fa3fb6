"""``RowType`` and its fields, and types that users define."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

from headrace.common.types import Row, RowKind
from headrace.table._types.data_types import DEFAULT_DESCRIPTION, DataType


class RowField:
    """A named part of a row."""

    def __init__(self, name: str, data_type: DataType, description: str | None = None) -> None:
        if not isinstance(data_type, DataType):
            raise AssertionError(f"data_type {data_type} should be an instance of {DataType}")
        if not isinstance(name, str):
            raise AssertionError(f"field name {name} should be string")
        self.name = name
        self.data_type = data_type
        self.description = DEFAULT_DESCRIPTION if description is None else description

    def __repr__(self) -> str:
        return f"RowField({self.name}, {self.data_type!r}, {self.description})"

    def __str__(self) -> str:
        return f"RowField({self.name}, {self.data_type})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, self.__class__) and self.__dict__ == other.__dict__

    __hash__ = None  # type: ignore[assignment]

    def need_conversion(self) -> bool:
        """Return whether ``to_sql_type`` changes values."""
        return self.data_type.need_conversion()

    def to_sql_type(self, obj: Any) -> Any:
        """Return a Python value as PyFlink stores it."""
        return self.data_type.to_sql_type(obj)

    def from_sql_type(self, obj: Any) -> Any:
        """Return the Python value of a stored one."""
        return self.data_type.from_sql_type(obj)


class RowType(DataType):
    """Named fields; iterate over it, or take one by its name or place."""

    def __init__(self, fields: list[RowField] | None = None, nullable: bool = True) -> None:
        super().__init__(nullable)
        self.fields = fields or []
        if not all(isinstance(each, RowField) for each in self.fields):
            raise AssertionError("fields should be a list of RowField")
        self.names = [each.name for each in self.fields]

    def add(self, field: RowField | str, data_type: DataType | None = None) -> RowType:
        """Add a field, and return this type."""
        if isinstance(field, str):
            if data_type is None:
                raise ValueError(f"the field {field!r} needs a DataType")
            field = RowField(field, data_type)
        self.fields.append(field)
        self.names.append(field.name)
        return self

    def __iter__(self) -> Iterator[RowField]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def __getitem__(self, key: str | int | slice) -> Any:
        if isinstance(key, str):
            for field in self:
                if field.name == key:
                    return field
            raise KeyError(f"No RowField named {key}")
        if isinstance(key, int):
            if not -len(self) <= key < len(self):
                raise IndexError("RowType index out of range")
            return self.fields[key]
        if isinstance(key, slice):
            return RowType(self.fields[key])
        raise TypeError("RowType keys should be strings, integers or slices")

    def __repr__(self) -> str:
        return f"RowType({','.join(map(repr, self))})"

    def field_names(self) -> list[str]:
        """Return the names of the fields."""
        return [*self.names]

    def field_types(self) -> list[DataType]:
        """Return the types of the fields."""
        return [each.data_type for each in self.fields]

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        """Return a tuple: the number of the row kind, then the values of the fields."""
        if obj is None:
            return None
        kind = obj.get_row_kind() if isinstance(obj, Row) else RowKind.INSERT
        values = values_of(obj, self.names)
        stored = (field.to_sql_type(each) for field, each in zip(self.fields, values, strict=False))
        return (kind.value, *stored)

    def from_sql_type(self, obj: Any) -> Any:
        """Return a row with names of stored values."""
        if obj is None or isinstance(obj, Row):
            return obj
        made = Row(*(field.from_sql_type(each) for field, each in zip(self, obj, strict=False)))
        made.set_field_names(self.names)
        return made


def values_of(obj: Any, names: list[str]) -> list[Any]:
    """Return the values of a dict, a row, a sequence or an object, in the order of names."""
    if isinstance(obj, dict):
        return [obj.get(name) for name in names]
    if isinstance(obj, Row):
        return [obj[name] for name in names] if hasattr(obj, "_fields") else [*obj]
    if isinstance(obj, tuple | list):
        return [*obj]
    if hasattr(obj, "__dict__"):
        return [vars(obj).get(name) for name in names]
    raise ValueError(f"Unexpected tuple {obj!r} with RowType")


class UserDefinedType(DataType):
    """A type that a program defines for its own class; subclasses say how it is stored."""

    _cached: ClassVar[DataType | None] = None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))

    @classmethod
    def type_name(cls) -> str:
        """Return the name of the class."""
        return cls.__name__.lower()

    @classmethod
    def sql_type(cls) -> DataType:
        """Return the type that values are stored as."""
        raise NotImplementedError("UDT must implement sql_type().")

    @classmethod
    def module(cls) -> str:
        """Return the module of the type."""
        raise NotImplementedError("UDT must implement module().")

    @classmethod
    def java_udt(cls) -> str:
        """Return the class of Java; there is none."""
        return ""

    def need_conversion(self) -> bool:
        return True

    def to_sql_type(self, obj: Any) -> Any:
        return None if obj is None else self.sql_type().to_sql_type(self.serialize(obj))

    def from_sql_type(self, obj: Any) -> Any:
        value = self.sql_type().from_sql_type(obj)
        return None if value is None else self.deserialize(value)

    def serialize(self, obj: Any) -> Any:
        """Return the stored form of a value."""
        raise NotImplementedError("UDT must implement serialize().")

    def deserialize(self, datum: Any) -> Any:
        """Return the value of a stored form."""
        raise NotImplementedError("UDT must implement deserialize().")
