"""The table of functions: all of them by name, and those of Flink that are refused."""

from __future__ import annotations

from difflib import get_close_matches

from headrace.sql.functions import (
    arithmetic,
    array_functions,
    casts,
    collections,
    comparison,
    conditional,
    encodings,
    json,
    logic,
    math,
    patterns,
    random_numbers,
    strings,
    temporal,
    time_units,
)
from headrace.sql.functions.function import Function

_AREAS = (
    comparison,
    logic,
    arithmetic,
    conditional,
    casts,
    math,
    strings,
    patterns,
    time_units,
    temporal,
    collections,
    array_functions,
    json,
    encodings,
    random_numbers,
)

FUNCTIONS: dict[str, Function] = {each.name: each for area in _AREAS for each in area.FUNCTIONS}

_VARIANT = "there is no type VARIANT; STRING holds JSON"
_BITMAP = "there is no type BITMAP"
_STRUCTURED = "there are no structured types; ROW has named fields"

REFUSED: dict[str, str] = {
    "PARSE_JSON": _VARIANT,
    "TRY_PARSE_JSON": _VARIANT,
    "OBJECT_OF": _STRUCTURED,
    "OBJECT_UPDATE": _STRUCTURED,
    "SOURCE_WATERMARK": "it is only in WATERMARK FOR of a table",
    "CURRENT_DATABASE": "the name of a table says its database",
    "GROUP_ID": "GROUPING tells which keys are grouped",
    "FLATTEN": "a star after a row is not supported; select its fields",
    "ML_PREDICT": "models are not supported",
    **dict.fromkeys(
        (
            *("BITMAP_AND", "BITMAP_ANDNOT", "BITMAP_BUILD", "BITMAP_CARDINALITY"),
            *("BITMAP_FROM_BYTES", "BITMAP_OR", "BITMAP_TO_ARRAY", "BITMAP_TO_BYTES"),
            *("BITMAP_TO_STRING", "BITMAP_XOR"),
        ),
        _BITMAP,
    ),
}
"""Functions of Flink that are not supported, each with the reason."""

ELSEWHERE: dict[str, str] = {
    "LENGTH": "CHAR_LENGTH",
    "LEN": "CHAR_LENGTH",
    "OCTET_LENGTH": "CHAR_LENGTH",
    "UCASE": "UPPER",
    "LCASE": "LOWER",
    "NVL": "IFNULL",
    "POW": "POWER",
    "RLIKE": "REGEXP",
    "TO_CHAR": "DATE_FORMAT",
    "DATE_ADD": "TIMESTAMPADD",
    "DATEADD": "TIMESTAMPADD",
    "DATE_DIFF": "TIMESTAMPDIFF",
    "DATEDIFF": "TIMESTAMPDIFF",
    "DATE_TRUNC": "FLOOR(time TO unit)",
    "RANDOM": "RAND",
    "SHA": "SHA1",
    "SIZE": "CARDINALITY",
    "STRPOS": "POSITION",
    "GETDATE": "CURRENT_TIMESTAMP",
    "TRUNC": "TRUNCATE",
    "ISNULL": "IS NULL",
    "GET_JSON_OBJECT": "JSON_VALUE",
}
"""Functions of other dialects, which Flink has not, with what it has for them."""


def names() -> tuple[str, ...]:
    """Return the names of all functions, in order."""
    return tuple(sorted(FUNCTIONS))


def near(name: str) -> list[str]:
    """Return names that a misspelled one, or one of another dialect, may stand for."""
    if name in ELSEWHERE:
        return [ELSEWHERE[name]]
    return get_close_matches(name, [each for each in FUNCTIONS if each.isidentifier()], 2, 0.75)
