"""Types of strings, booleans, numbers and instants, and the type of any pickled value."""

from __future__ import annotations

import operator
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any

from headrace.common._types.data import ANY, TypeData, type_data
from headrace.common._types.information import Coercer, TypeInformation, mismatch
from headrace.common._types.java_text import double_text, float_text, instant_text, round_to_float32
from headrace.common.time import Instant


class BasicType(Enum):
    """The types of ``BasicTypeInfo``; the values are Java's class names."""

    STRING = "String"
    BYTE = "Byte"
    BOOLEAN = "Boolean"
    SHORT = "Short"
    INT = "Integer"
    LONG = "Long"
    FLOAT = "Float"
    DOUBLE = "Double"
    CHAR = "Char"
    BIG_INT = "BigInteger"
    BIG_DEC = "BigDecimal"
    INSTANT = "Instant"


class BasicTypeInfo(TypeInformation):
    """The type of a string, a boolean, a number, a character or an instant."""

    def __init__(self, basic_type: BasicType) -> None:
        self._basic_type = basic_type

    def _arguments(self) -> tuple[Any, ...]:
        return (self._basic_type.name,)

    def to_data(self) -> TypeData:
        return type_data(self._basic_type.name)

    def coercer(self) -> Coercer | None:
        """Return a function that checks and converts values of this type."""
        return _COERCERS[self._basic_type](self)

    def _format(self, value: Any) -> str:
        show = _FORMATS.get(self._basic_type, str)
        return show(value)

    @staticmethod
    def STRING_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of str."""
        return BasicTypeInfo(BasicType.STRING)

    @staticmethod
    def BOOLEAN_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of bool."""
        return BasicTypeInfo(BasicType.BOOLEAN)

    @staticmethod
    def BYTE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of a signed 8-bit int: -128 to 127."""
        return BasicTypeInfo(BasicType.BYTE)

    @staticmethod
    def SHORT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of a signed 16-bit int."""
        return BasicTypeInfo(BasicType.SHORT)

    @staticmethod
    def INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of a signed 32-bit int."""
        return BasicTypeInfo(BasicType.INT)

    @staticmethod
    def LONG_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of a signed 64-bit int."""
        return BasicTypeInfo(BasicType.LONG)

    @staticmethod
    def FLOAT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of a 32-bit float; values are rounded."""
        return BasicTypeInfo(BasicType.FLOAT)

    @staticmethod
    def DOUBLE_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of a 64-bit float, which is Python's float."""
        return BasicTypeInfo(BasicType.DOUBLE)

    @staticmethod
    def CHAR_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of a str of one character."""
        return BasicTypeInfo(BasicType.CHAR)

    @staticmethod
    def BIG_INT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of an int of any size."""
        return BasicTypeInfo(BasicType.BIG_INT)

    @staticmethod
    def BIG_DEC_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of Decimal."""
        return BasicTypeInfo(BasicType.BIG_DEC)

    @staticmethod
    def INSTANT_TYPE_INFO() -> BasicTypeInfo:
        """Return the type of Instant."""
        return InstantTypeInfo(BasicType.INSTANT)


class InstantTypeInfo(BasicTypeInfo):
    """The type of Instant; its internal form is microseconds since the epoch."""

    def __init__(self, basic_type: BasicType = BasicType.INSTANT) -> None:
        super().__init__(basic_type)

    def need_conversion(self) -> bool:
        """Return True: the internal form is an int."""
        return True

    def to_internal_type(self, obj: Instant | None) -> int | None:
        """Convert to microseconds since the epoch, rounded down to ms as in PyFlink."""
        return None if obj is None else obj.to_epoch_milli() * 1000

    def from_internal_type(self, obj: int | None) -> Instant | None:
        """Return the instant that is ``obj`` microseconds after the epoch."""
        return None if obj is None else Instant.of_epoch_milli(obj // 1000)


class UnroundedFloatTypeInfo(BasicTypeInfo):
    """FLOAT without rounding to 32 bits, for values that stay in the process."""

    def __init__(self) -> None:
        super().__init__(BasicType.FLOAT)

    def coercer(self) -> Coercer | None:
        """Return a function that converts numbers to floats of 64 bits."""
        return _make_float_coercer(self)


class PickledBytesTypeInfo(TypeInformation):
    """The type of any value that pickles; the type of a stream without a declared type."""

    def _arguments(self) -> tuple[Any, ...]:
        return ()

    def to_data(self) -> TypeData:
        return type_data(ANY)

    def coercer(self) -> Coercer | None:
        """Return None: values are not checked."""
        return None


def _instances_of(kind: type) -> Callable[[TypeInformation], Coercer]:
    def build(declared: TypeInformation) -> Coercer:
        def coerce(value: Any) -> Any:
            if type(value) is kind or value is None or isinstance(value, kind):
                return value
            raise mismatch(value, declared)

        return coerce

    return build


def _make_int_coercer(bits: int | None) -> Callable[[TypeInformation], Coercer]:
    def build(declared: TypeInformation) -> Coercer:
        def as_int(value: Any) -> int:
            try:
                return operator.index(value)  # numpy's integers, and bool as in PyFlink
            except TypeError:
                raise mismatch(value, declared) from None

        def coerce_any(value: Any) -> Any:
            return value if type(value) is int or value is None else as_int(value)

        if bits is None:
            return coerce_any
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

        def coerce(value: Any) -> Any:
            if type(value) is not int:
                if value is None:
                    return None
                value = as_int(value)
            if low <= value <= high:
                return value
            raise mismatch(value, declared, f"it is not within {low} … {high}")

        return coerce

    return build


def _make_float_coercer(declared: TypeInformation) -> Coercer:
    def coerce(value: Any) -> Any:
        if type(value) is float or value is None:
            return value
        if not hasattr(value, "__float__") and not hasattr(value, "__index__"):
            raise mismatch(value, declared)
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError) as error:
            raise mismatch(value, declared, str(error)) from None

    return coerce


def _make_float32_coercer(declared: TypeInformation) -> Coercer:
    to_float = _make_float_coercer(declared)

    def coerce(value: Any) -> Any:
        number = to_float(value)
        if number is None:
            return None
        try:
            return round_to_float32(number)
        except OverflowError:
            raise mismatch(value, declared, "it is too large for 32 bits") from None

    return coerce


def _make_bool_coercer(declared: TypeInformation) -> Coercer:
    def coerce(value: Any) -> Any:
        if value is None or value is True or value is False:
            return value
        # numpy.bool_ is not a bool, but its item() is
        item = getattr(value, "item", None)
        if callable(item) and isinstance(plain := item(), bool):
            return plain
        raise mismatch(value, declared)

    return coerce


def _make_char_coercer(declared: TypeInformation) -> Coercer:
    def coerce(value: Any) -> Any:
        if value is None or (isinstance(value, str) and len(value) == 1):
            return value
        why = "it is not one character" if isinstance(value, str) else ""
        raise mismatch(value, declared, why)

    return coerce


def _make_decimal_coercer(declared: TypeInformation) -> Coercer:
    def coerce(value: Any) -> Any:
        if value is None or isinstance(value, Decimal):
            return value
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            try:
                return Decimal(str(value))  # by its text, as PyFlink sends it: 0.1 stays 0.1
            except InvalidOperation:
                raise mismatch(value, declared, "it is no decimal number") from None
        raise mismatch(value, declared)

    return coerce


_COERCERS: dict[BasicType, Callable[[TypeInformation], Coercer]] = {
    BasicType.STRING: _instances_of(str),
    BasicType.BOOLEAN: _make_bool_coercer,
    BasicType.BYTE: _make_int_coercer(8),
    BasicType.SHORT: _make_int_coercer(16),
    BasicType.INT: _make_int_coercer(32),
    BasicType.LONG: _make_int_coercer(64),
    BasicType.FLOAT: _make_float32_coercer,
    BasicType.DOUBLE: _make_float_coercer,
    BasicType.CHAR: _make_char_coercer,
    BasicType.BIG_INT: _make_int_coercer(None),
    BasicType.BIG_DEC: _make_decimal_coercer,
    BasicType.INSTANT: _instances_of(Instant),
}


def _boolean_text(value: Any) -> str:
    return "true" if value else "false"


_FORMATS: dict[BasicType, Callable[[Any], str]] = {
    BasicType.BOOLEAN: _boolean_text,
    BasicType.FLOAT: float_text,
    BasicType.DOUBLE: double_text,
    BasicType.INSTANT: instant_text,
}
