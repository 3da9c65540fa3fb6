"""``DataTypes``: the types of the columns of tables."""

from __future__ import annotations

from headrace.common._unsupported import unsupported
from headrace.common.types import Row, RowKind
from headrace.table._types import in_streams as in_streams
from headrace.table._types.arrow import create_arrow_schema, from_arrow_type, to_arrow_type
from headrace.table._types.data_types import (
    ArrayType,
    AtomicType,
    BigIntType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    FractionalType,
    IntegralType,
    IntType,
    ListViewType,
    LocalZonedTimestampType,
    MapType,
    MapViewType,
    MultisetType,
    NullType,
    NumericType,
    RawType,
    SmallIntType,
    TimestampType,
    TimeType,
    TinyIntType,
    VarBinaryType,
    VarCharType,
    ZonedTimestampType,
)
from headrace.table._types.inference import ARRAY_TYPES as _array_type_mappings
from headrace.table._types.inference import MAX_LENGTH
from headrace.table._types.inference import (
    SIGNED_TYPECODES as _array_signed_int_typecode_ctype_mappings,
)
from headrace.table._types.inference import (
    UNSIGNED_TYPECODES as _array_unsigned_int_typecode_ctype_mappings,
)
from headrace.table._types.inference import infer_row as _infer_schema
from headrace.table._types.inference import infer_rows as _infer_schema_from_data
from headrace.table._types.inference import infer_type as _infer_type
from headrace.table._types.inference import merge_types as _merge_type
from headrace.table._types.intervals import (
    DayTimeIntervalType,
    IntervalType,
    Resolution,
    YearMonthIntervalType,
    interval_of,
)
from headrace.table._types.rows import RowField, RowType, UserDefinedType
from headrace.table._types.verification import verifier_of as _create_type_verifier

__all__ = [
    "ArrayType", "AtomicType", "BigIntType", "BinaryType", "BooleanType", "CharType", "DataType",
    "DataTypes", "DateType", "DayTimeIntervalType", "DecimalType", "DoubleType", "FloatType",
    "FractionalType", "IntType", "IntegralType", "ListViewType", "LocalZonedTimestampType",
    "MapType", "MapViewType", "MultisetType", "NullType", "NumericType", "RawType", "Resolution",
    "Row", "RowField", "RowKind", "RowType", "SmallIntType", "TimeType", "TimestampType",
    "TinyIntType", "UserDefinedType", "VarBinaryType", "VarCharType", "YearMonthIntervalType",
    "ZonedTimestampType", "_array_signed_int_typecode_ctype_mappings", "_array_type_mappings",
    "_array_unsigned_int_typecode_ctype_mappings", "_create_type_verifier", "_infer_schema",
    "_infer_schema_from_data", "_infer_type", "_merge_type", "create_arrow_schema",
    "from_arrow_type", "to_arrow_type",
]  # fmt: skip

_JAVA = "there is no JVM that has the type"
_from_java_data_type = unsupported("headrace.table.types._from_java_data_type", _JAVA)
_to_java_data_type = unsupported("headrace.table.types._to_java_data_type", _JAVA)


class DataTypes:
    """Makes the types of columns."""

    @staticmethod
    def NULL() -> NullType:
        """Return the type of NULL."""
        return NullType()

    @staticmethod
    def CHAR(length: int, nullable: bool = True) -> CharType:
        """Return the type of texts of exactly ``length`` code points."""
        return CharType(length, nullable)

    @staticmethod
    def VARCHAR(length: int, nullable: bool = True) -> VarCharType:
        """Return the type of texts of at most ``length`` code points."""
        return VarCharType(length, nullable)

    @staticmethod
    def STRING(nullable: bool = True) -> VarCharType:
        """Return the type of texts."""
        return VarCharType(MAX_LENGTH, nullable)

    @staticmethod
    def BOOLEAN(nullable: bool = True) -> BooleanType:
        """Return the type of TRUE and FALSE."""
        return BooleanType(nullable)

    @staticmethod
    def BINARY(length: int, nullable: bool = True) -> BinaryType:
        """Return the type of exactly ``length`` bytes."""
        return BinaryType(length, nullable)

    @staticmethod
    def VARBINARY(length: int, nullable: bool = True) -> VarBinaryType:
        """Return the type of at most ``length`` bytes."""
        return VarBinaryType(length, nullable)

    @staticmethod
    def BYTES(nullable: bool = True) -> VarBinaryType:
        """Return the type of bytes."""
        return VarBinaryType(MAX_LENGTH, nullable)

    @staticmethod
    def DECIMAL(precision: int, scale: int, nullable: bool = True) -> DecimalType:
        """Return the type of decimal numbers."""
        return DecimalType(precision, scale, nullable)

    @staticmethod
    def TINYINT(nullable: bool = True) -> TinyIntType:
        """Return the type of integers of 8 bits."""
        return TinyIntType(nullable)

    @staticmethod
    def SMALLINT(nullable: bool = True) -> SmallIntType:
        """Return the type of integers of 16 bits."""
        return SmallIntType(nullable)

    @staticmethod
    def INT(nullable: bool = True) -> IntType:
        """Return the type of integers of 32 bits."""
        return IntType(nullable)

    @staticmethod
    def BIGINT(nullable: bool = True) -> BigIntType:
        """Return the type of integers of 64 bits."""
        return BigIntType(nullable)

    @staticmethod
    def FLOAT(nullable: bool = True) -> FloatType:
        """Return the type of floating-point numbers of 32 bits."""
        return FloatType(nullable)

    @staticmethod
    def DOUBLE(nullable: bool = True) -> DoubleType:
        """Return the type of floating-point numbers of 64 bits."""
        return DoubleType(nullable)

    @staticmethod
    def DATE(nullable: bool = True) -> DateType:
        """Return the type of days."""
        return DateType(nullable)

    @staticmethod
    def TIME(precision: int = 0, nullable: bool = True) -> TimeType:
        """Return the type of times of day."""
        return TimeType(precision, nullable)

    @staticmethod
    def TIMESTAMP(precision: int = 6, nullable: bool = True) -> TimestampType:
        """Return the type of dates with a time of day."""
        return TimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_WITH_LOCAL_TIME_ZONE(
        precision: int = 6, nullable: bool = True
    ) -> LocalZonedTimestampType:
        """Return the type of moments."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def TIMESTAMP_LTZ(precision: int = 6, nullable: bool = True) -> LocalZonedTimestampType:
        """Return the type of moments."""
        return LocalZonedTimestampType(precision, nullable)

    @staticmethod
    def ARRAY(element_type: DataType, nullable: bool = True) -> ArrayType:
        """Return the type of lists."""
        return ArrayType(element_type, nullable)

    @staticmethod
    def LIST_VIEW(element_type: DataType) -> ListViewType:
        """Return the type of a list in an accumulator."""
        return ListViewType(element_type)

    @staticmethod
    def MAP(key_type: DataType, value_type: DataType, nullable: bool = True) -> MapType:
        """Return the type of maps."""
        return MapType(key_type, value_type, nullable)

    @staticmethod
    def MAP_VIEW(key_type: DataType, value_type: DataType) -> MapViewType:
        """Return the type of a map in an accumulator."""
        return MapViewType(key_type, value_type)

    @staticmethod
    def MULTISET(element_type: DataType, nullable: bool = True) -> MultisetType:
        """Return the type of multisets."""
        return MultisetType(element_type, nullable)

    @staticmethod
    def ROW(row_fields: list[RowField] | None = None, nullable: bool = True) -> RowType:
        """Return the type of rows."""
        return RowType([*(row_fields or ())], nullable)

    @staticmethod
    def FIELD(name: str, data_type: DataType, description: str | None = None) -> RowField:
        """Return a field of a row."""
        return RowField(name, data_type, description)

    @staticmethod
    def SECOND(precision: int = DayTimeIntervalType.DEFAULT_FRACTIONAL_PRECISION) -> Resolution:
        """Return the unit of seconds, with digits of their fractions."""
        return Resolution(Resolution.IntervalUnit.SECOND, precision)

    @staticmethod
    def MINUTE() -> Resolution:
        """Return the unit of minutes."""
        return Resolution(Resolution.IntervalUnit.MINUTE)

    @staticmethod
    def HOUR() -> Resolution:
        """Return the unit of hours."""
        return Resolution(Resolution.IntervalUnit.HOUR)

    @staticmethod
    def DAY(precision: int = DayTimeIntervalType.DEFAULT_DAY_PRECISION) -> Resolution:
        """Return the unit of days."""
        return Resolution(Resolution.IntervalUnit.DAY, precision)

    @staticmethod
    def MONTH() -> Resolution:
        """Return the unit of months."""
        return Resolution(Resolution.IntervalUnit.MONTH)

    @staticmethod
    def YEAR(precision: int = YearMonthIntervalType.DEFAULT_PRECISION) -> Resolution:
        """Return the unit of years."""
        return Resolution(Resolution.IntervalUnit.YEAR, precision)

    @staticmethod
    def INTERVAL(
        upper_resolution: Resolution, lower_resolution: Resolution | None = None
    ) -> IntervalType:
        """Return the type of intervals from one unit to another."""
        return interval_of(upper_resolution, lower_resolution)
