"""The Avro schema of a table's columns, as Flink makes it."""

from __future__ import annotations

from typing import Any

from headrace.errors import SqlValidationError
from headrace.sql.rel import Columns
from headrace.sql.types import (
    ArrayType,
    BooleanType,
    BytesType,
    CharacterType,
    DateType,
    DecimalType,
    DoubleType,
    Field,
    FloatType,
    IntegerType,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
)

_NAME = "org.apache.flink.avro.generated.record"


def schema_of_columns(table: str, columns: Columns, *, legacy: bool) -> dict[str, Any]:
    """Return the schema of a record with the columns.

    ``legacy``: a TIMESTAMP is written as Avro's moment in UTC, and TIMESTAMP_LTZ is not supported,
    as with ``avro.timestamp_mapping.legacy``.

    Raises:
        SqlValidationError: Avro does not have the type of a column.
    """
    row = RowType(tuple(Field(column.name, column.type) for column in columns), nullable=False)
    found: dict[str, Any] = _schema_of(row, _NAME, table, legacy)
    return found


def _schema_of(kind: SqlType, name: str, table: str, legacy: bool) -> Any:
    found = _schema_without_null(kind, name, table, legacy)
    return ["null", found] if kind.nullable else found


def _schema_without_null(kind: SqlType, name: str, table: str, legacy: bool) -> Any:
    match kind:
        case BooleanType():
            return "boolean"
        case IntegerType():
            return "long" if kind.bits == 64 else "int"
        case FloatType():
            return "float"
        case DoubleType():
            return "double"
        case CharacterType():
            return "string"
        case BytesType():
            return "bytes"
        case DecimalType():
            decimal = {"precision": kind.precision, "scale": kind.scale}
            return {"type": "bytes", "logicalType": "decimal", **decimal}
        case DateType():
            return {"type": "int", "logicalType": "date"}
        case TimeType() if kind.precision <= 3:
            return {"type": "int", "logicalType": "time-millis"}
        case TimestampType() | TimestampLtzType():
            return _timestamp(kind, table, legacy)
        case ArrayType():
            return {"type": "array", "items": _schema_of(kind.element, name, table, legacy)}
        case MapType() if isinstance(kind.key, CharacterType):
            return {"type": "map", "values": _schema_of(kind.value, name, table, legacy)}
        case MultisetType() if isinstance(kind.element, CharacterType):
            return {"type": "map", "values": "int"}
        case RowType():
            return {"type": "record", "name": name, "fields": _fields(kind, name, table, legacy)}
    raise _unsupported(table, kind)


def _timestamp(kind: TimestampType | TimestampLtzType, table: str, legacy: bool) -> Any:
    local = isinstance(kind, TimestampType)
    if kind.precision > (3 if legacy else 6) or (legacy and not local):
        raise _unsupported(
            table,
            kind,
            "TIMESTAMP(3) is supported; further types with 'avro.timestamp_mapping.legacy' ="
            " 'false'",
        )
    unit = "millis" if kind.precision <= 3 else "micros"
    prefix = "local-" if local and not legacy else ""
    return {"type": "long", "logicalType": f"{prefix}timestamp-{unit}"}


def _fields(kind: RowType, name: str, table: str, legacy: bool) -> list[dict[str, Any]]:
    return [
        {
            "name": each.name,
            "type": _schema_of(each.type, f"{name}_{each.name}", table, legacy),
            **({"default": None} if each.type.nullable else {}),
        }
        for each in kind.fields
    ]


def _unsupported(table: str, kind: SqlType, hint: str | None = None) -> SqlValidationError:
    return SqlValidationError(f"table {table!r}: Avro does not support {kind.summary}", hint=hint)
