"""Types of arrays, lists and maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.common._types.basic import BasicType, BasicTypeInfo
from headrace.common._types.data import TypeData, type_data
from headrace.common._types.information import (
    Coercer,
    TypeInformation,
    coerce_all,
    mismatch,
    require_types,
    with_path_step,
)
from headrace.errors import PlanError, TypeMismatchError

_PRIMITIVES = frozenset(
    {
        BasicType.BOOLEAN,
        BasicType.BYTE,
        BasicType.SHORT,
        BasicType.INT,
        BasicType.LONG,
        BasicType.FLOAT,
        BasicType.DOUBLE,
        BasicType.CHAR,
    }
)


class _SequenceTypeInfo(TypeInformation):
    """The type of a sequence of values of one type; operators receive a list."""

    _type_name: str
    _allowed_elements: frozenset[BasicType] | None = None

    def __init__(self, element_type: TypeInformation) -> None:
        (self._element_type,) = require_types([element_type], self._type_name)
        allowed = self._allowed_elements
        if allowed is not None and not (
            isinstance(element_type, BasicTypeInfo) and element_type._basic_type in allowed
        ):
            raise PlanError(
                f"{self._type_name} cannot hold {element_type}",
                hint="use Types.OBJECT_ARRAY or Types.LIST",
            )

    def _arguments(self) -> tuple[Any, ...]:
        return (self._element_type,)

    def to_data(self) -> TypeData:
        return type_data(self._type_name, self._element_type.to_data())

    def coercer(self) -> Coercer | None:
        """Return a function that converts a sequence to a list, including its elements."""
        element = self._element_type.coercer()

        def coerce(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, list):
                value = self._as_list(value)
            return coerce_all(value, element)

        return coerce

    def _as_list(self, value: Any) -> list[Any]:
        if hasattr(value, "tolist"):  # numpy arrays and array.array
            values = value.tolist()
            if isinstance(values, list):
                return values
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
            return list(value)
        raise mismatch(value, self)

    def _format(self, value: Any) -> str:
        return f"[{', '.join(map(self._element_type.format, value))}]"

    def need_conversion(self) -> bool:
        """Return whether the elements need conversion."""
        return self._element_type.need_conversion()

    def to_internal_type(self, obj: Any) -> Any:
        """Convert to a list of the elements in internal form."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.to_internal_type(element) for element in obj]

    def from_internal_type(self, obj: Any) -> Any:
        """Convert back to a list of the elements."""
        if obj is None or not self.need_conversion():
            return obj
        return [self._element_type.from_internal_type(element) for element in obj]


class PrimitiveArrayTypeInfo(_SequenceTypeInfo):
    """The type of a list of numbers, booleans or characters; for BYTE, the type of bytes."""

    _type_name = "PRIMITIVE_ARRAY"
    _allowed_elements = _PRIMITIVES

    def coercer(self) -> Coercer | None:
        """Return a function as for other sequences; for BYTE, one that converts to bytes.

        It accepts bytes-like objects and lists of ints from -128 to 255.
        """
        if not self._is_byte_array():
            return super().coercer()

        def coerce(value: Any) -> Any:
            if value is None or type(value) is bytes:
                return value
            try:
                if isinstance(value, bytes | bytearray | memoryview):
                    return bytes(value)
                if isinstance(value, list | tuple):
                    return bytes(byte & 0xFF if -128 <= byte < 0 else byte for byte in value)
            except (TypeError, ValueError) as error:
                raise mismatch(value, self, str(error)) from None
            raise mismatch(value, self)

        return coerce

    def _is_byte_array(self) -> bool:
        return self._element_type == BasicTypeInfo.BYTE_TYPE_INFO()

    def _format(self, value: Any) -> str:
        if isinstance(value, bytes):  # Java's bytes are signed
            return str([byte - 256 if byte > 127 else byte for byte in value])
        return super()._format(value)


class BasicArrayTypeInfo(_SequenceTypeInfo):
    """The type of a list of numbers, booleans, characters or strings."""

    _type_name = "BASIC_ARRAY"
    _allowed_elements = _PRIMITIVES | {BasicType.STRING}


class ObjectArrayTypeInfo(_SequenceTypeInfo):
    """The type of a list of values of the given type."""

    _type_name = "OBJECT_ARRAY"


class ListTypeInfo(_SequenceTypeInfo):
    """The type of a list of values of the given type."""

    _type_name = "LIST"

    @property
    def elem_type(self) -> TypeInformation:
        """The type of the elements."""
        return self._element_type


class MapTypeInfo(TypeInformation):
    """The type of a dict."""

    def __init__(self, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        self._key_type_info, self._value_type_info = require_types(
            [key_type_info, value_type_info], "MAP"
        )

    def _arguments(self) -> tuple[Any, ...]:
        return (self._key_type_info, self._value_type_info)

    def to_data(self) -> TypeData:
        return type_data("MAP", self._key_type_info.to_data(), self._value_type_info.to_data())

    def coercer(self) -> Coercer | None:
        """Return a function that converts a mapping to a dict, including keys and values."""
        of_key, of_value = self._key_type_info.coercer(), self._value_type_info.coercer()

        def coerce(value: Any) -> Any:
            if value is None:
                return None
            if not isinstance(value, Mapping):
                raise mismatch(value, self)
            keys = list(value)
            if of_key is not None:
                try:
                    keys = [of_key(key) for key in keys]
                except TypeMismatchError as error:
                    raise with_path_step(error, "(key)") from None
            try:
                values = coerce_all(list(value.values()), of_value)
            except TypeMismatchError as error:
                raise _at_key(error, list(value)) from None
            return dict(zip(keys, values, strict=True))

        return coerce

    def _format(self, value: Any) -> str:
        show_key, show_value = self._key_type_info.format, self._value_type_info.format
        entries = (f"{show_key(key)}={show_value(item)}" for key, item in value.items())
        return f"{{{', '.join(entries)}}}"

    def need_conversion(self) -> bool:
        """Return whether keys or values need conversion."""
        return any(part.need_conversion() for part in self._arguments())

    def to_internal_type(self, obj: Any) -> Any:
        """Convert to a dict with keys and values in internal form."""
        if obj is None or not self.need_conversion():
            return obj
        to_key, to_value = self._key_type_info, self._value_type_info
        return {
            to_key.to_internal_type(key): to_value.to_internal_type(item)
            for key, item in obj.items()
        }

    def from_internal_type(self, obj: Any) -> Any:
        """Convert back to a dict of keys and values."""
        if obj is None or not self.need_conversion():
            return obj
        of_key, of_value = self._key_type_info, self._value_type_info
        return {
            of_key.from_internal_type(key): of_value.from_internal_type(item)
            for key, item in obj.items()
        }


def _at_key(error: TypeMismatchError, keys: list[Any]) -> TypeMismatchError:
    """Return the error with the key in its path instead of the index."""
    index, _, rest = error.where["field"].removeprefix("[").partition("]")
    where = {**error.where, "field": f"[{keys[int(index)]!r}]{rest}"}
    return TypeMismatchError(error.message, where=where, hint=error.hint)
