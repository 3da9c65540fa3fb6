"""Types of Spark as types of SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headrace.sql.refusals import refuse
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
)

_PLAIN: Mapping[str, SqlType] = {
    "binary": BYTES,
    "boolean": BOOLEAN,
    "byte": TINYINT,
    "date": DATE,
    "double": DOUBLE,
    "float": FLOAT,
    "integer": INT,
    "long": BIGINT,
    "short": SMALLINT,
    "string": STRING,
    "timestamp": TimestampLtzType(6),
    "timestamp_ntz": TimestampType(6),
}
_DECIMAL = re.compile(r"decimal\((\d+),(-?\d+)\)")


def sql_type(given: Any, nullable: bool, where: str) -> SqlType:
    """Return the type of Spark's JSON of a type.

    Raises:
        UnsupportedError: SQL has no such type.
    """
    if isinstance(given, str):
        decimal = _DECIMAL.fullmatch(given)
        if decimal is not None and int(decimal[2]) >= 0:
            return DecimalType(int(decimal[1]), int(decimal[2])).with_nullable(nullable)
        if given in _PLAIN:
            return _PLAIN[given].with_nullable(nullable)
        refuse(f"Spark's type {given}", where)
    match given["type"]:
        case "array":
            element = sql_type(given["elementType"], given["containsNull"], where)
            return ArrayType(element).with_nullable(nullable)
        case "map":
            key = sql_type(given["keyType"], False, where)
            value = sql_type(given["valueType"], given["valueContainsNull"], where)
            return MapType(key, value).with_nullable(nullable)
        case "struct":
            fields = tuple(
                Field(each["name"], sql_type(each["type"], each["nullable"], where))
                for each in given["fields"]
            )
            return RowType(fields).with_nullable(nullable)
    refuse(f"Spark's type {given['type']}", where)
