"""Functions of the parts of texts: where they are, and what stands there."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.errors import SqlError
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions.collections import element_at
from headrace.sql.functions.function import Function, Kernel, Session, Signature, table_row
from headrace.sql.functions.kernels import is_scalar, map_values, python
from headrace.sql.functions.rules import (
    NULLABLE,
    a_text,
    an_int,
    first_of,
    joined,
    takes,
    varying,
)
from headrace.sql.types import (
    BOOLEAN,
    INT,
    STRING,
    SqlType,
    to_arrow,
)


def _overlaid(types: Sequence[SqlType]) -> SqlType:
    """Return the type of OVERLAY: as long as both texts, and not fixed."""
    return varying([joined(types[:2])])


def substring(text: str, start: int, length: int | None = None) -> str | None:
    """Return a part of a text: positions begin at 1, negative ones count from the end."""
    if length is not None and length < 0:
        return None
    size = len(text)
    first = start - 1 if start > 0 else size + start if start < 0 else 0
    if first < 0 or first >= size:
        return ""
    return text[first:] if length is None else text[first : first + length]


def _substring(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    text, *numbers = arguments
    if all(is_scalar(each) and each.is_valid for each in numbers) and not is_scalar(text):
        start, *lengths = (each.as_py() for each in numbers)
        if start >= 0 and all(each >= 0 for each in lengths):
            first = max(start - 1, 0)
            stop = first + lengths[0] if lengths else None
            return pc.utf8_slice_codeunits(text, first, stop)
    return map_values(substring, arguments, to_arrow(call.type))


def _position(part: str, text: str, start: int = 1) -> int:
    return text.find(part, max(start, 1) - 1) + 1


def left(text: str, count: int) -> str:
    """Return the first characters of a text."""
    return text[: max(count, 0)]


def right(text: str, count: int) -> str:
    """Return the last characters of a text."""
    return text[-count:] if count > 0 else ""


def overlay(text: str, part: str, start: int, length: int | None = None) -> str:
    """Return a text with characters from ``start`` replaced by another text."""
    if start <= 0 or start > len(text):
        return text
    removed = len(part) if length is None else length
    if start - 1 + removed > len(text) or removed <= 0:
        return text[: start - 1] + part
    return text[: start - 1] + part + text[start - 1 + removed :]


def split_index(text: str, separator: str, index: int) -> str | None:
    """Return the part at a position, from 0, of a text split at a separator."""
    if not text or index < 0:
        return None
    parts = text.split(separator) if separator else re.split(r"\s", text)
    return parts[index] if index < len(parts) else None


def _split_index_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    return first_of(
        takes(a_text, a_text, an_int, gives=STRING, nulls=NULLABLE),
        takes(a_text, an_int, an_int, gives=STRING, nulls=NULLABLE),
    )(arguments, options)


def _split_index(text: str, separator: str | int, index: int) -> str | None:
    if isinstance(separator, int):
        if not 0 < separator < 256:
            return None
        separator = chr(separator)
    return split_index(text, separator, index)


def _split_at(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    text, separator, index = arguments
    quick = is_scalar(separator) and separator.is_valid and is_scalar(index) and index.is_valid
    if quick and not is_scalar(text) and isinstance(separator.as_py(), str) and separator.as_py():
        if index.as_py() < 0:
            return pa.nulls(len(text), text.type)
        parts = pc.split_pattern(text, separator.as_py())
        found = element_at(parts, pa.scalar(index.as_py() + 1, pa.int32()))
        return pc.if_else(pc.equal(text, ""), pa.scalar(None, text.type), found)
    return map_values(_split_index, arguments, to_arrow(call.type))


def _instr(text: str, part: str, start: int = 1, occurrence: int = 1) -> int | None:
    if occurrence < 1:
        raise SqlError(f"INSTR needs an occurrence of at least 1, not {occurrence}")
    if start == 0:
        return 0
    if not part:
        return 1 if start > 0 else max(len(text) + start + 2, 0)
    place, end = start - 2, len(text) + start + 1
    for _ in range(occurrence):
        if start > 0:
            place = text.find(part, place + 1)
        else:
            place = text.rfind(part, 0, max(end, 0))
            end = place + len(part) - 1
        if place < 0:
            return 0
    return place + 1


def _starts(method: Callable[[Any, Any], bool]) -> Kernel:
    return python(lambda value, part: method(value, part))


_TWO_TEXTS = takes(a_text, a_text, gives=BOOLEAN)


FUNCTIONS = (
    table_row(
        "POSITION",
        takes(a_text, a_text, gives=INT),
        python(_position),
        "POSITION(string1 IN string2)",
        "The first position of string1 in string2, from 1; 0: not found.",
        ("POSITION('b' IN 'abc')", "2"),
    ),
    table_row(
        "LOCATE",
        takes(a_text, a_text, an_int, gives=INT, optional=1),
        python(_position),
        "LOCATE(string1, string2) | LOCATE(string1, string2, start)",
        "The first position of string1 in string2, at or after start; 0: not found.",
        ("LOCATE('b', 'abcb', 3)", "4"),
    ),
    Function(
        "INSTR",
        takes(a_text, a_text, an_int, an_int, gives=INT, optional=2),
        python(_instr),
        ("INSTR(string1, string2 [, start [, occurrence]])",),
        "Where string2 is in string1, from 1; 0: nowhere. A negative start counts from the end, "
        "and seeks to the left.",
        (
            ("INSTR('abc', 'c')", "3"),
            ("INSTR('a-b-c', '-', 1, 2)", "4"),
            ("INSTR('a-b-c', '-', -1)", "4"),
        ),
        can_fail=lambda call: len(call.arguments) == 4,
    ),
    table_row(
        "SUBSTRING",
        takes(a_text, an_int, an_int, gives=varying, nulls=NULLABLE, optional=1),
        _substring,
        "SUBSTRING(string FROM start [FOR length]) | SUBSTRING(string, start [, length])",
        "The characters from a position, from 1; a negative position counts from the end.",
        ("SUBSTRING('hello', 2, 3)", "ell"),
        ("SUBSTRING('hello' FROM -3)", "llo"),
    ),
    table_row(
        "SUBSTR",
        takes(a_text, an_int, an_int, gives=varying, nulls=NULLABLE, optional=1),
        _substring,
        "SUBSTR(string, start [, length])",
        "The same as SUBSTRING.",
        ("SUBSTR('hello', 2, 3)", "ell"),
    ),
    table_row(
        "LEFT",
        takes(a_text, an_int, gives=varying, nulls=NULLABLE),
        python(left),
        "LEFT(string, count)",
        "The first characters.",
        ("LEFT('hello', 2)", "he"),
    ),
    table_row(
        "RIGHT",
        takes(a_text, an_int, gives=varying, nulls=NULLABLE),
        python(right),
        "RIGHT(string, count)",
        "The last characters.",
        ("RIGHT('hello', 2)", "lo"),
    ),
    table_row(
        "OVERLAY",
        takes(a_text, a_text, an_int, an_int, gives=_overlaid, optional=1),
        python(overlay),
        "OVERLAY(string1 PLACING string2 FROM start [FOR length])",
        "string1 with characters from a position replaced by string2.",
        ("OVERLAY('abcdef' PLACING 'XX' FROM 3)", "abXXef"),
    ),
    table_row(
        "SPLIT_INDEX",
        _split_index_rule,
        _split_at,
        "SPLIT_INDEX(string, separator, index)",
        "The part at a position, from 0, of a text that is split at a separator.",
        ("SPLIT_INDEX('a,b,c', ',', 1)", "b"),
    ),
    table_row(
        "STARTSWITH",
        _TWO_TEXTS,
        _starts(str.startswith),
        "STARTSWITH(string, start)",
        "Whether the text begins with another.",
        ("STARTSWITH('hello', 'he')", "true"),
    ),
    table_row(
        "ENDSWITH",
        _TWO_TEXTS,
        _starts(str.endswith),
        "ENDSWITH(string, end)",
        "Whether the text ends with another.",
        ("ENDSWITH('hello', 'lo')", "true"),
    ),
)
