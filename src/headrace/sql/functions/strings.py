"""Functions of texts: parts, case, positions, padding. Regular expressions are in ``patterns``."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from headrace.errors import SqlError
from headrace.sql.expressions import Call, Expression
from headrace.sql.functions.collections import element_at
from headrace.sql.functions.function import Function, Kernel, Session, Signature
from headrace.sql.functions.kernels import arrow, is_scalar, map_values, python
from headrace.sql.functions.rules import (
    NULLABLE,
    a_bigint,
    a_text,
    an_int,
    first_of,
    same_as,
    some_bytes,
    takes,
)
from headrace.sql.types import (
    BOOLEAN,
    INT,
    MAX_LENGTH,
    STRING,
    BytesType,
    CharacterType,
    CharType,
    SqlType,
    VarBinaryType,
    VarCharType,
    to_arrow,
)


def _joined(types: Sequence[SqlType]) -> SqlType | None:
    """Return the type of ||: as long as both parts."""
    length = 0
    for each in types:
        assert isinstance(each, CharacterType | BytesType)
        length = min(length + each.length, MAX_LENGTH)
    if all(isinstance(each, CharType) for each in types):
        return CharType(length)
    if isinstance(types[0], BytesType):
        return VarBinaryType(length)
    return VarCharType(length)


def _overlaid(types: Sequence[SqlType]) -> SqlType | None:
    """Return the type of OVERLAY: as long as both texts, and not fixed."""
    joined = _joined(types[:2])
    return _varying([joined]) if joined is not None else None


def _varying(types: Sequence[SqlType]) -> SqlType:
    """Return the text's type without a fixed length."""
    (first, *_) = types
    assert isinstance(first, CharacterType)
    return VarCharType(first.length)


def _join(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = arguments[0].type
    separator = pa.scalar(b"" if pa.types.is_binary(kind) else "", kind)
    return pc.binary_join_element_wise(*arguments, separator)


def _length(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    return pc.utf8_length(arguments[0])


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


def _cased(of_ascii: str, convert: Callable[[str], str]) -> Kernel:
    """Return a kernel that may turn one character into several, as in Java: ß into SS, ﬁ into
    FI."""
    plain, full = arrow(of_ascii), python(convert)

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow.compute as pc

        (texts,) = arguments
        found = pc.string_is_ascii(texts)
        is_ascii = found.as_py() if is_scalar(texts) else pc.all(found).as_py()
        if is_ascii is False:
            return full(call, arguments, session)
        return plain(call, arguments, session)

    return kernel


def initcap(text: str) -> str:
    """Return a text whose words of ASCII letters and digits begin with a capital."""
    result, inside = [], False
    for each in text:
        if each.isascii() and each.isalnum():
            result.append(each.lower() if inside else each.upper())
            inside = True
        else:
            result.append(each)
            inside = False
    return "".join(result)


def _position(part: str, text: str, start: int = 1) -> int:
    return text.find(part, max(start, 1) - 1) + 1


def _trim(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    side = call.options[0]
    return _trimmed({"BOTH": 3, "LEADING": 1, "TRAILING": 2}[side])(call, arguments, session)


def _trimmed(sides: int) -> Kernel:
    """Return the kernel that strips characters; 1: at the start, 2: at the end, 3: both."""
    names = {1: "utf8_ltrim", 2: "utf8_rtrim", 3: "utf8_trim"}
    methods: dict[int, Callable[[str, str], str]] = {1: str.lstrip, 2: str.rstrip, 3: str.strip}

    def kernel(call: Call, arguments: Sequence[Any], session: Session) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        text, *rest = arguments
        characters = rest[0] if rest else pa.scalar(" ")
        if is_scalar(characters) and characters.is_valid:
            return getattr(pc, names[sides])(text, characters=characters.as_py())
        return map_values(methods[sides], [text, characters], pa.string())

    return kernel


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
    if start - 1 + removed > len(text) or removed < 0:
        return text[: start - 1] + part
    return text[: start - 1] + part + text[start - 1 + removed :]


def pad(text: str, length: int, fill: str, at_start: bool) -> str | None:
    """Return a text of exactly ``length`` characters; None: it is not possible."""
    if length < 0 or (fill == "" and length > len(text)):
        return None
    missing = length - len(text)
    if missing <= 0:
        return text[:length]
    added = (fill * (missing // len(fill) + 1))[:missing]
    return added + text if at_start else text + added


def _replace(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    text, old, new = arguments
    if is_scalar(old) and is_scalar(new) and old.is_valid and new.is_valid and old.as_py():
        return pc.replace_substring(text, old.as_py(), new.as_py())
    return map_values(str.replace, arguments, to_arrow(call.type))


def translate(text: str, characters: str, replacements: str) -> str:
    """Return a text with characters replaced by those at the same position, or removed."""
    table: dict[int, str | None] = {}
    for n, each in enumerate(characters):
        table.setdefault(ord(each), replacements[n] if n < len(replacements) else None)
    return text.translate(table)


def _join_with(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    separator, *parts = arguments
    return pc.binary_join_element_wise(*parts, separator, null_handling="skip")


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


def _ascii(text: str) -> int:
    if not text:
        return 0
    first = text.encode()[0]
    return first - 256 if first > 127 else first


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


def _chr(number: int) -> str:
    return "" if number < 0 else chr(number % 256)


def _elt_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    rule = takes(an_int, a_text, gives=_longest, nulls=NULLABLE, repeated=True)
    return rule(arguments, options)


def _longest(types: Sequence[SqlType]) -> SqlType | None:
    from headrace.sql.coercion import common_type

    return common_type(types[1:])


def _elt(index: int | None, *values: str | None) -> str | None:
    return values[index - 1] if index is not None and 0 < index <= len(values) else None


def _starts(method: Callable[[Any, Any], bool]) -> Kernel:
    return python(lambda value, part: method(value, part))


_TEXT_TO_TEXT = takes(a_text, gives=same_as(0))
_STRING_OF_TEXT = takes(a_text, gives=STRING, nulls=NULLABLE)
_TWO_TEXTS = takes(a_text, a_text, gives=BOOLEAN)


def _row(
    name: str,
    types: Any,
    kernel: Kernel,
    form: str,
    about: str,
    *examples: tuple[str, str | None],
) -> Function:
    return Function(name, types, kernel, tuple(form.split(" | ")), about, examples)


FUNCTIONS = (
    _row(
        "||",
        first_of(
            takes(a_text, a_text, gives=_joined), takes(some_bytes, some_bytes, gives=_joined)
        ),
        _join,
        "string1 || string2",
        "The second text after the first.",
        ("'a' || 'bc'", "abc"),
    ),
    _row(
        "CHAR_LENGTH",
        takes(a_text, gives=INT),
        _length,
        "CHAR_LENGTH(string) | CHARACTER_LENGTH(string)",
        "The number of characters (code points).",
        ("CHAR_LENGTH('abc')", "3"),
    ),
    _row(
        "UPPER",
        _TEXT_TO_TEXT,
        _cased("ascii_upper", str.upper),
        "UPPER(string)",
        "The text in capitals.",
        ("UPPER('abc')", "ABC"),
    ),
    _row(
        "LOWER",
        _TEXT_TO_TEXT,
        _cased("ascii_lower", str.lower),
        "LOWER(string)",
        "The text in small letters.",
        ("LOWER('ABC')", "abc"),
    ),
    _row(
        "INITCAP",
        _TEXT_TO_TEXT,
        python(initcap),
        "INITCAP(string)",
        "The text with a capital at the start of each word.",
        ("INITCAP('hello world')", "Hello World"),
    ),
    _row(
        "POSITION",
        takes(a_text, a_text, gives=INT),
        python(_position),
        "POSITION(string1 IN string2)",
        "The first position of string1 in string2, from 1; 0: not found.",
        ("POSITION('b' IN 'abc')", "2"),
    ),
    _row(
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
    _row(
        "TRIM",
        takes(a_text, a_text, gives=_varying, optional=1),
        _trim,
        "TRIM(string) | TRIM([BOTH | LEADING | TRAILING] characters FROM string)",
        "The text without the characters (default: blanks) at its start and end.",
        ("TRIM('  a ')", "a"),
        ("TRIM(LEADING 'x' FROM 'xxa')", "a"),
    ),
    _row(
        "LTRIM",
        takes(a_text, a_text, gives=_varying, optional=1),
        _trimmed(1),
        "LTRIM(string) | LTRIM(string, characters)",
        "The text without the characters (default: blanks) at its start.",
        ("LTRIM('  a')", "a"),
    ),
    _row(
        "RTRIM",
        takes(a_text, a_text, gives=_varying, optional=1),
        _trimmed(2),
        "RTRIM(string) | RTRIM(string, characters)",
        "The text without the characters (default: blanks) at its end.",
        ("RTRIM('a  ')", "a"),
    ),
    _row(
        "BTRIM",
        takes(a_text, a_text, gives=STRING, optional=1),
        _trimmed(3),
        "BTRIM(string) | BTRIM(string, characters)",
        "The text without the characters (default: blanks) at its start and end.",
        ("BTRIM('xxax', 'x')", "a"),
    ),
    _row(
        "SUBSTRING",
        takes(a_text, an_int, an_int, gives=_varying, nulls=NULLABLE, optional=1),
        _substring,
        "SUBSTRING(string FROM start [FOR length]) | SUBSTRING(string, start [, length])",
        "The characters from a position, from 1; a negative position counts from the end.",
        ("SUBSTRING('hello', 2, 3)", "ell"),
        ("SUBSTRING('hello' FROM -3)", "llo"),
    ),
    _row(
        "SUBSTR",
        takes(a_text, an_int, an_int, gives=_varying, nulls=NULLABLE, optional=1),
        _substring,
        "SUBSTR(string, start [, length])",
        "The same as SUBSTRING.",
        ("SUBSTR('hello', 2, 3)", "ell"),
    ),
    _row(
        "LEFT",
        takes(a_text, an_int, gives=_varying, nulls=NULLABLE),
        python(left),
        "LEFT(string, count)",
        "The first characters.",
        ("LEFT('hello', 2)", "he"),
    ),
    _row(
        "RIGHT",
        takes(a_text, an_int, gives=_varying, nulls=NULLABLE),
        python(right),
        "RIGHT(string, count)",
        "The last characters.",
        ("RIGHT('hello', 2)", "lo"),
    ),
    _row(
        "OVERLAY",
        takes(a_text, a_text, an_int, an_int, gives=_overlaid, optional=1),
        python(overlay),
        "OVERLAY(string1 PLACING string2 FROM start [FOR length])",
        "string1 with characters from a position replaced by string2.",
        ("OVERLAY('abcdef' PLACING 'XX' FROM 3)", "abXXef"),
    ),
    _row(
        "REPLACE",
        takes(a_text, a_text, a_text, gives=STRING),
        _replace,
        "REPLACE(string, old, new)",
        "The text with every occurrence of a text replaced by another.",
        ("REPLACE('hello', 'l', 'L')", "heLLo"),
    ),
    _row(
        "TRANSLATE",
        takes(a_text, a_text, a_text, gives=STRING),
        python(translate),
        "TRANSLATE(string, characters, replacements)",
        "The text with each of the characters replaced by the one at the same position.",
        ("TRANSLATE('hello', 'el', 'ip')", "hippo"),
    ),
    _row(
        "REPEAT",
        takes(a_text, an_int, gives=STRING),
        python(lambda text, count: text * max(count, 0)),
        "REPEAT(string, count)",
        "The text, repeated a number of times.",
        ("REPEAT('ab', 2)", "abab"),
    ),
    _row(
        "REVERSE",
        _STRING_OF_TEXT,
        python(lambda text: text[::-1]),
        "REVERSE(string)",
        "The characters in the opposite order.",
        ("REVERSE('abc')", "cba"),
    ),
    _row(
        "LPAD",
        takes(a_text, an_int, a_text, gives=STRING),
        python(lambda text, length, fill: pad(text, length, fill, True)),
        "LPAD(string, length, fill)",
        "The text filled at its start, or cut, to a length.",
        ("LPAD('hi', 4, '?')", "??hi"),
    ),
    _row(
        "RPAD",
        takes(a_text, an_int, a_text, gives=STRING),
        python(lambda text, length, fill: pad(text, length, fill, False)),
        "RPAD(string, length, fill)",
        "The text filled at its end, or cut, to a length.",
        ("RPAD('hi', 4, '?')", "hi??"),
    ),
    _row(
        "CONCAT",
        takes(a_text, gives=STRING, repeated=True),
        _join,
        "CONCAT(string1, ...)",
        "The texts one after the other; NULL if one of them is NULL.",
        ("CONCAT('a', 'b', 'c')", "abc"),
    ),
    _row(
        "CONCAT_WS",
        takes(a_text, a_text, gives=STRING, repeated=True),
        _join_with,
        "CONCAT_WS(separator, string1, ...)",
        "The texts that are not NULL, with a separator between them.",
        ("CONCAT_WS('-', 'a', 'b')", "a-b"),
    ),
    _row(
        "SPLIT_INDEX",
        _split_index_rule,
        _split_at,
        "SPLIT_INDEX(string, separator, index)",
        "The part at a position, from 0, of a text that is split at a separator.",
        ("SPLIT_INDEX('a,b,c', ',', 1)", "b"),
    ),
    _row(
        "ASCII",
        takes(a_text, gives=INT),
        python(_ascii),
        "ASCII(string)",
        "The first byte of the text in UTF-8, as a signed number.",
        ("ASCII('a')", "97"),
    ),
    _row(
        "CHR",
        takes(a_bigint, gives=STRING, nulls=NULLABLE),
        python(_chr),
        "CHR(number)",
        "The character with a number, modulo 256.",
        ("CHR(97)", "a"),
    ),
    _row(
        "ELT",
        _elt_rule,
        python(_elt, nulls=True),
        "ELT(index, string1, ...)",
        "The text at a position, from 1.",
        ("ELT(2, 'a', 'b')", "b"),
    ),
    _row(
        "STARTSWITH",
        _TWO_TEXTS,
        _starts(str.startswith),
        "STARTSWITH(string, start)",
        "Whether the text begins with another.",
        ("STARTSWITH('hello', 'he')", "true"),
    ),
    _row(
        "ENDSWITH",
        _TWO_TEXTS,
        _starts(str.endswith),
        "ENDSWITH(string, end)",
        "Whether the text ends with another.",
        ("ENDSWITH('hello', 'lo')", "true"),
    ),
)
