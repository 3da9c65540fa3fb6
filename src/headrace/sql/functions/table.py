"""The table of functions: all of them by name, and those of Flink that are refused."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from headrace.sql.functions import (
    arithmetic,
    array_functions,
    casts,
    collections,
    comparison,
    conditional,
    encodings,
    hash_codes,
    json_making,
    json_quoting,
    json_reading,
    logic,
    math,
    patterns,
    periods,
    present_time,
    printf,
    random_numbers,
    strings,
    substrings,
    temporal,
    time_differences,
    time_parts,
    time_rounding,
    web_addresses,
)
from headrace.sql.functions.function import Function
from headrace.sql.functions.kernels import python
from headrace.sql.functions.rules import anything, takes
from headrace.sql.types import STRING

AREAS: dict[str, tuple[Function, ...]] = {
    "Comparisons": comparison.FUNCTIONS,
    "Logic": logic.FUNCTIONS,
    "Arithmetic": arithmetic.FUNCTIONS,
    "Conditions": conditional.FUNCTIONS,
    "Conversions": casts.FUNCTIONS,
    "Numbers": math.FUNCTIONS,
    "Texts": (*strings.FUNCTIONS, *substrings.FUNCTIONS),
    "Patterns": patterns.FUNCTIONS,
    "Units of time": (
        *time_parts.FUNCTIONS,
        *time_rounding.FUNCTIONS,
        *time_differences.FUNCTIONS,
    ),
    "Times": (*temporal.FUNCTIONS, *periods.FUNCTIONS, *present_time.FUNCTIONS),
    "Arrays, maps and rows": (*collections.FUNCTIONS, *array_functions.FUNCTIONS),
    "JSON": (*json_reading.FUNCTIONS, *json_making.FUNCTIONS, *json_quoting.FUNCTIONS),
    "Encodings and digests": (
        *encodings.FUNCTIONS,
        *web_addresses.FUNCTIONS,
        *printf.FUNCTIONS,
        *hash_codes.FUNCTIONS,
    ),
    "Random values, types and the current database": random_numbers.FUNCTIONS,
}
"""The functions by area, each area with its title."""

KEY_OF = Function(
    "KEY OF",
    takes(anything, gives=STRING),
    python(repr),
    ("KEY OF value",),
    "A text that is equal for equal values with parts; no query names this function.",
)

FUNCTIONS: dict[str, Function] = {
    each.name: each for area in (*AREAS.values(), (KEY_OF,)) for each in area
}

_VARIANT = "there is no type VARIANT; use STRING for JSON"
_BITMAP = "there is no type BITMAP"
_STRUCTURED = "there are no structured types; ROW has named fields"

REFUSED: dict[str, str] = {
    "PARSE_JSON": _VARIANT,
    "TRY_PARSE_JSON": _VARIANT,
    "OBJECT_OF": _STRUCTURED,
    "OBJECT_UPDATE": _STRUCTURED,
    "SOURCE_WATERMARK": "it is allowed only in WATERMARK FOR of a table",
    "GROUP_ID": "GROUPING shows which keys are grouped",
    "FLATTEN": "a star after a row is not supported; select its fields",
    "ML_PREDICT": "models are not supported; a Python function can call a model",
    "ML_EVALUATE": "models are not supported",
    "VECTOR_SEARCH": "no connector searches vectors",
    "TO_CHANGELOG": "formats such as debezium-json and to_changelog_stream() give row kinds",
    "FROM_CHANGELOG": "formats such as debezium-json and from_changelog_stream() read row kinds",
    **dict.fromkeys(
        (
            *("LAG", "LEAD", "NTILE", "ROW_NUMBER", "RANK", "DENSE_RANK"),
            *("PERCENT_RANK", "CUME_DIST"),
        ),
        "it needs an OVER window, which is not supported",
    ),
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
"""Functions of other dialects that Flink does not have, with Flink's function."""


def names() -> tuple[str, ...]:
    """Return the names of all functions, in order."""
    return tuple(sorted(FUNCTIONS))


def near(name: str, others: Iterable[str] = ()) -> list[str]:
    """Return names that a misspelled one, or one of another dialect, may stand for.

    ``others``: names beside those of the table.
    """
    if name in ELSEWHERE:
        return [ELSEWHERE[name]]
    known = [*(each for each in FUNCTIONS if each.isidentifier()), *others]
    return get_close_matches(name, known, 2, 0.75)
