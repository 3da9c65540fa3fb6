"""Calls that need a type for each NULL, as in Flink."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import SqlValidationError
from headrace.sql.expressions import Expression
from headrace.sql.types import NullType

_REFUSING = frozenset(
    (
        *("+", "-", "*", "/", "%", "||", "NEGATE", "PLUS", "AND", "OR", "NOT", "IF"),
        *("IS TRUE", "IS NOT TRUE", "IS FALSE", "IS NOT FALSE", "IS JSON", "ITEM"),
        *("IS_ALPHA", "IS_DECIMAL", "IS_DIGIT", "LIKE", "SIMILAR TO", "REGEXP"),
        *("ABS", "SIGN", "ROUND", "TRUNCATE", "CEIL", "FLOOR", "MOD", "POWER", "SQRT", "EXP"),
        *("LN", "LOG", "LOG2", "LOG10", "SIN", "COS", "TAN", "COT", "ASIN", "ACOS", "ATAN"),
        *("ATAN2", "SINH", "COSH", "TANH", "DEGREES", "RADIANS", "BIN", "HEX"),
        *("ASCII", "CHAR_LENGTH", "CHR", "CONCAT", "CONCAT_WS", "INITCAP", "INSTR", "LEFT"),
        *("LOCATE", "LOWER", "LPAD", "LTRIM", "OVERLAY", "POSITION", "REGEXP_EXTRACT"),
        *("REGEXP_REPLACE", "REPEAT", "REPLACE", "REVERSE", "RIGHT", "RPAD", "RTRIM"),
        *("SPLIT_INDEX", "STR_TO_MAP", "SUBSTR", "SUBSTRING", "TRANSLATE", "TRIM", "UPPER"),
        *("MD5", "SHA1", "SHA2", "SHA224", "SHA256", "SHA384", "SHA512"),
        *("ENCODE", "DECODE", "FROM_BASE64", "TO_BASE64", "PARSE_URL"),
        *("JSON_EXISTS", "JSON_QUERY", "JSON_VALUE"),
        *("DATE_FORMAT", "FROM_UNIXTIME", "TIMESTAMPADD", "TO_DATE", "TO_TIMESTAMP"),
        "UNIX_TIMESTAMP",
        *("ARRAY_CONCAT", "ARRAY_EXCEPT", "ARRAY_INTERSECT", "ARRAY_UNION"),
    )
)
"""Functions that refuse a NULL without a type as any argument."""


def check_nulls(name: str, arguments: Sequence[Expression]) -> None:
    """Check that a call has no NULL without a type where a type is needed.

    Raises:
        SqlValidationError: it has one.
    """
    untyped = [isinstance(each.type, NullType) for each in arguments]
    if name == "CASE":
        is_refused = all([*untyped[1::2], untyped[-1]])
    elif name == "NULLIF":
        is_refused = untyped[:1] == [True]
    else:
        is_refused = name in _REFUSING and any(untyped)
    if is_refused:
        raise SqlValidationError(
            f"{name} does not take a NULL without a type",
            hint="give NULL a type, such as CAST(NULL AS INT)",
        )
