"""The types of SQL values, as Flink has them, and the Arrow types that hold their columns.

A type is a value: types with equal fields are equal. ``nullable`` is part of it, as in Flink.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Literal, Self

if TYPE_CHECKING:
    import pyarrow as pa

MAX_LENGTH = 0x7FFFFFFF
"""The length of a STRING and of BYTES."""

MAX_PRECISION = 38
"""The most digits of a DECIMAL."""

TimeAttribute = Literal["rowtime", "proctime"]
"""What makes a timestamp column the time of its rows: event time, or processing time."""


@dataclass(frozen=True, kw_only=True)
class SqlType:
    """A type; subclasses are frozen dataclasses."""

    root: ClassVar[str]
    """The name of the type without its parameters."""

    nullable: bool = True

    def __str__(self) -> str:
        """Return the type as Flink writes it, with NOT NULL."""
        return f"{self.summary}{'' if self.nullable else ' NOT NULL'}"

    @property
    def summary(self) -> str:
        """The type as Flink writes it, without NOT NULL."""
        return self.root

    def with_nullable(self, nullable: bool) -> Self:
        """Return the same type with NULL, or NOT NULL."""
        return self if nullable is self.nullable else replace(self, nullable=nullable)


@dataclass(frozen=True, kw_only=True)
class NullType(SqlType):
    """The type of a NULL that has no other type."""

    root = "NULL"


@dataclass(frozen=True, kw_only=True)
class BooleanType(SqlType):
    """TRUE, FALSE or NULL."""

    root = "BOOLEAN"


@dataclass(frozen=True, kw_only=True)
class NumericType(SqlType):
    """A number."""


@dataclass(frozen=True, kw_only=True)
class IntegerType(NumericType):
    """A whole number of 8, 16, 32 or 64 bits."""

    bits: ClassVar[int]
    digits: ClassVar[int]
    """How many decimal digits the greatest value has; its precision beside decimals."""


@dataclass(frozen=True, kw_only=True)
class TinyIntType(IntegerType):
    """8 bits."""

    root, bits, digits = "TINYINT", 8, 3


@dataclass(frozen=True, kw_only=True)
class SmallIntType(IntegerType):
    """16 bits."""

    root, bits, digits = "SMALLINT", 16, 5


@dataclass(frozen=True, kw_only=True)
class IntType(IntegerType):
    """32 bits."""

    root, bits, digits = "INT", 32, 10


@dataclass(frozen=True, kw_only=True)
class BigIntType(IntegerType):
    """64 bits."""

    root, bits, digits = "BIGINT", 64, 19


@dataclass(frozen=True, kw_only=True)
class FloatType(NumericType):
    """A binary floating-point number of 32 bits."""

    root = "FLOAT"


@dataclass(frozen=True, kw_only=True)
class DoubleType(NumericType):
    """A binary floating-point number of 64 bits."""

    root = "DOUBLE"


@dataclass(frozen=True)
class DecimalType(NumericType):
    """A decimal number with ``precision`` digits, of which ``scale`` are after the point."""

    root = "DECIMAL"

    precision: int = 10
    scale: int = 0

    @property
    def summary(self) -> str:
        return f"DECIMAL({self.precision}, {self.scale})"


@dataclass(frozen=True)
class _SizedType(SqlType):
    length: int = 1

    @property
    def summary(self) -> str:
        return f"{self.root}({self.length})"


@dataclass(frozen=True)
class CharacterType(_SizedType):
    """A text."""


@dataclass(frozen=True)
class CharType(CharacterType):
    """A text of exactly ``length`` code points."""

    root = "CHAR"


@dataclass(frozen=True)
class VarCharType(CharacterType):
    """A text of at most ``length`` code points."""

    root = "VARCHAR"

    @property
    def summary(self) -> str:
        return "STRING" if self.length == MAX_LENGTH else super().summary


@dataclass(frozen=True)
class BytesType(_SizedType):
    """A sequence of bytes."""


@dataclass(frozen=True)
class BinaryType(BytesType):
    """Exactly ``length`` bytes."""

    root = "BINARY"


@dataclass(frozen=True)
class VarBinaryType(BytesType):
    """At most ``length`` bytes."""

    root = "VARBINARY"

    @property
    def summary(self) -> str:
        return "BYTES" if self.length == MAX_LENGTH else super().summary


@dataclass(frozen=True, kw_only=True)
class DateType(SqlType):
    """A day."""

    root = "DATE"


@dataclass(frozen=True)
class TimeType(SqlType):
    """A time of day; as in Flink, values have milliseconds at most."""

    root = "TIME"

    precision: int = 0

    @property
    def summary(self) -> str:
        return f"TIME({self.precision})"


@dataclass(frozen=True)
class _AnyTimestampType(SqlType):
    precision: int = 6
    attribute: TimeAttribute | None = None

    @property
    def summary(self) -> str:
        return f"{self.root}({self.precision})"

    def __str__(self) -> str:
        mark = "" if self.attribute is None else f" *{self.attribute.upper()}*"
        return f"{super().__str__()}{mark}"

    def without_attribute(self) -> Self:
        """Return the type of an ordinary column of such values."""
        return self if self.attribute is None else replace(self, attribute=None)


@dataclass(frozen=True)
class TimestampType(_AnyTimestampType):
    """A date and time of day without a time zone."""

    root = "TIMESTAMP"


@dataclass(frozen=True)
class TimestampLtzType(_AnyTimestampType):
    """A moment, which is read and printed in the session's time zone."""

    root = "TIMESTAMP_LTZ"


AnyTimestampType = TimestampType | TimestampLtzType


def attribute_of(kind: SqlType) -> TimeAttribute | None:
    """Return which time attribute a type marks; None: it marks none."""
    return kind.attribute if isinstance(kind, AnyTimestampType) else None


@dataclass(frozen=True, kw_only=True)
class MonthIntervalType(SqlType):
    """A number of months."""

    root = "INTERVAL YEAR TO MONTH"


@dataclass(frozen=True, kw_only=True)
class SecondIntervalType(SqlType):
    """A number of milliseconds."""

    root = "INTERVAL DAY TO SECOND"


@dataclass(frozen=True)
class ArrayType(SqlType):
    """A list of elements of one type."""

    root = "ARRAY"

    element: SqlType

    @property
    def summary(self) -> str:
        return f"ARRAY<{self.element}>"


@dataclass(frozen=True)
class MapType(SqlType):
    """Values by key."""

    root = "MAP"

    key: SqlType
    value: SqlType

    @property
    def summary(self) -> str:
        return f"MAP<{self.key}, {self.value}>"


@dataclass(frozen=True)
class MultisetType(SqlType):
    """Elements, each with the number of its occurrences."""

    root = "MULTISET"

    element: SqlType

    @property
    def summary(self) -> str:
        return f"MULTISET<{self.element}>"


@dataclass(frozen=True)
class Field:
    """A named part of a row."""

    name: str
    type: SqlType
    description: str = ""

    def __str__(self) -> str:
        comment = self.description.replace("'", "''")
        return f"{quote_name(self.name)} {self.type}" + (f" '{comment}'" if comment else "")


@dataclass(frozen=True)
class RowType(SqlType):
    """Named fields."""

    root = "ROW"

    fields: tuple[Field, ...]

    @property
    def summary(self) -> str:
        return f"ROW<{', '.join(map(str, self.fields))}>"


STRING = VarCharType(MAX_LENGTH)
BYTES = VarBinaryType(MAX_LENGTH)
BOOLEAN = BooleanType()
TINYINT, SMALLINT, INT, BIGINT = TinyIntType(), SmallIntType(), IntType(), BigIntType()
FLOAT, DOUBLE = FloatType(), DoubleType()
DATE = DateType()


def is_decimal_exact(kind: SqlType) -> bool:
    """Return whether numbers of the type are exact: integers and decimals."""
    return isinstance(kind, IntegerType | DecimalType)


def as_decimal(kind: SqlType) -> DecimalType:
    """Return the decimal type that holds every value of an exact type."""
    if isinstance(kind, DecimalType):
        return kind
    assert isinstance(kind, IntegerType), kind
    return DecimalType(kind.digits, 0, nullable=kind.nullable)


def quote_name(name: str) -> str:
    """Return a name in backticks."""
    return "`" + name.replace("`", "``") + "`"


def needs_quotes(name: str) -> bool:
    """Return whether a name is not written as it is in a statement."""
    return re.fullmatch(r"[A-Za-z_]\w*", name) is None


# Arrow


def to_arrow(kind: SqlType) -> pa.DataType:
    """Return the Arrow type of a column of a type.

    Intervals are int32 (months) and int64 (ms); a MULTISET is a map to the number of occurrences.
    """
    import pyarrow as pa

    match kind:
        case NullType():
            return pa.null()
        case BooleanType():
            return pa.bool_()
        case IntegerType():
            return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[kind.bits]
        case FloatType():
            return pa.float32()
        case DoubleType():
            return pa.float64()
        case DecimalType():
            return pa.decimal128(kind.precision, kind.scale)
        case CharacterType():
            return pa.string()
        case BytesType():
            return pa.binary()
        case DateType():
            return pa.date32()
        case TimeType():
            return pa.time32("ms")
        case TimestampType():
            return pa.timestamp(_unit(kind.precision))
        case TimestampLtzType():
            return pa.timestamp(_unit(kind.precision), "UTC")
        case MonthIntervalType():
            return pa.int32()
        case SecondIntervalType():
            return pa.int64()
        case ArrayType():
            return pa.list_(to_arrow(kind.element))
        case MapType():
            return pa.map_(to_arrow(kind.key), to_arrow(kind.value))
        case MultisetType():
            return pa.map_(to_arrow(kind.element), pa.int32())
        case RowType():
            return pa.struct([pa.field(each.name, to_arrow(each.type)) for each in kind.fields])
    raise AssertionError(f"no Arrow type for {kind!r}")


def _unit(precision: int) -> Literal["ms", "us", "ns"]:
    return "ms" if precision <= 3 else "us" if precision <= 6 else "ns"


def to_arrow_schema(names: Iterable[str], kinds: Iterable[SqlType]) -> pa.Schema:
    """Return the Arrow schema of columns."""
    import pyarrow as pa

    fields = zip(names, kinds, strict=True)
    return pa.schema([pa.field(name, to_arrow(kind)) for name, kind in fields])
