"""Functions of whole texts; parts of texts are in ``substrings``, patterns in ``patterns``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression
from headrace.sql.functions.function import Kernel, Session, Signature, table_row
from headrace.sql.functions.kernels import arrow, is_scalar, map_values, python
from headrace.sql.functions.rules import (
    NULLABLE,
    a_bigint,
    a_text,
    an_int,
    joined,
    same_as,
    takes,
    varying,
)
from headrace.sql.types import (
    INT,
    STRING,
    SqlType,
    to_arrow,
)


def _join(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(*arguments, "")


def _length(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    return pc.utf8_length(arguments[0])


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


def translate(text: str | None, characters: str | None, replacements: str | None) -> str | None:
    """Return a text with characters replaced by those at the same position, or removed.

    As in Flink, NULL for the characters or the replacements counts as an empty text.
    """
    if text is None or characters is None:
        return text
    replacements = replacements or ""
    table: dict[int, str | None] = {}
    for n, each in enumerate(characters):
        table.setdefault(ord(each), replacements[n] if n < len(replacements) else None)
    return text.translate(table)


def _join_with(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow.compute as pc

    separator, *parts = arguments
    return pc.binary_join_element_wise(*parts, separator, null_handling="skip")


def _ascii(text: str) -> int:
    if not text:
        return 0
    first = text.encode()[0]
    return first - 256 if first > 127 else first


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


_TEXT_TO_TEXT = takes(a_text, gives=same_as(0))


_STRING_OF_TEXT = takes(a_text, gives=STRING, nulls=NULLABLE)


FUNCTIONS = (
    table_row(
        "||",
        takes(a_text, a_text, gives=joined),
        _join,
        "string1 || string2",
        "The second text after the first.",
        ("'a' || 'bc'", "abc"),
    ),
    table_row(
        "CHAR_LENGTH",
        takes(a_text, gives=INT),
        _length,
        "CHAR_LENGTH(string) | CHARACTER_LENGTH(string)",
        "The number of characters (code points).",
        ("CHAR_LENGTH('abc')", "3"),
    ),
    table_row(
        "UPPER",
        _TEXT_TO_TEXT,
        _cased("ascii_upper", str.upper),
        "UPPER(string)",
        "The text in capitals.",
        ("UPPER('abc')", "ABC"),
    ),
    table_row(
        "LOWER",
        _TEXT_TO_TEXT,
        _cased("ascii_lower", str.lower),
        "LOWER(string)",
        "The text in small letters.",
        ("LOWER('ABC')", "abc"),
    ),
    table_row(
        "INITCAP",
        _TEXT_TO_TEXT,
        python(initcap),
        "INITCAP(string)",
        "The text with a capital at the start of each word.",
        ("INITCAP('hello world')", "Hello World"),
    ),
    table_row(
        "TRIM",
        takes(a_text, a_text, gives=varying, optional=1),
        _trim,
        "TRIM(string) | TRIM([BOTH | LEADING | TRAILING] characters FROM string)",
        "The text without the characters (default: blanks) at its start and end.",
        ("TRIM('  a ')", "a"),
        ("TRIM(LEADING 'x' FROM 'xxa')", "a"),
    ),
    table_row(
        "LTRIM",
        takes(a_text, a_text, gives=varying, optional=1),
        _trimmed(1),
        "LTRIM(string) | LTRIM(string, characters)",
        "The text without the characters (default: blanks) at its start.",
        ("LTRIM('  a')", "a"),
    ),
    table_row(
        "RTRIM",
        takes(a_text, a_text, gives=varying, optional=1),
        _trimmed(2),
        "RTRIM(string) | RTRIM(string, characters)",
        "The text without the characters (default: blanks) at its end.",
        ("RTRIM('a  ')", "a"),
    ),
    table_row(
        "BTRIM",
        takes(a_text, a_text, gives=STRING, optional=1),
        _trimmed(3),
        "BTRIM(string) | BTRIM(string, characters)",
        "The text without the characters (default: blanks) at its start and end.",
        ("BTRIM('xxax', 'x')", "a"),
    ),
    table_row(
        "REPLACE",
        takes(a_text, a_text, a_text, gives=STRING),
        _replace,
        "REPLACE(string, old, new)",
        "The text with every occurrence of a text replaced by another.",
        ("REPLACE('hello', 'l', 'L')", "heLLo"),
    ),
    table_row(
        "TRANSLATE",
        takes(a_text, a_text, a_text, gives=STRING),
        python(translate, nulls=True),
        "TRANSLATE(string, characters, replacements)",
        "The text with each of the characters replaced by the one at the same position.",
        ("TRANSLATE('hello', 'el', 'ip')", "hippo"),
    ),
    table_row(
        "REPEAT",
        takes(a_text, an_int, gives=STRING),
        python(lambda text, count: text * max(count, 0)),
        "REPEAT(string, count)",
        "The text, repeated a number of times.",
        ("REPEAT('ab', 2)", "abab"),
    ),
    table_row(
        "REVERSE",
        _STRING_OF_TEXT,
        python(lambda text: text[::-1]),
        "REVERSE(string)",
        "The characters in the opposite order.",
        ("REVERSE('abc')", "cba"),
    ),
    table_row(
        "LPAD",
        takes(a_text, an_int, a_text, gives=STRING),
        python(lambda text, length, fill: pad(text, length, fill, True)),
        "LPAD(string, length, fill)",
        "The text filled at its start, or cut, to a length.",
        ("LPAD('hi', 4, '?')", "??hi"),
    ),
    table_row(
        "RPAD",
        takes(a_text, an_int, a_text, gives=STRING),
        python(lambda text, length, fill: pad(text, length, fill, False)),
        "RPAD(string, length, fill)",
        "The text filled at its end, or cut, to a length.",
        ("RPAD('hi', 4, '?')", "hi??"),
    ),
    table_row(
        "CONCAT",
        takes(a_text, gives=STRING, repeated=True),
        _join,
        "CONCAT(string1, ...)",
        "The texts one after the other; NULL if one of them is NULL.",
        ("CONCAT('a', 'b', 'c')", "abc"),
    ),
    table_row(
        "CONCAT_WS",
        takes(a_text, a_text, gives=STRING, repeated=True),
        _join_with,
        "CONCAT_WS(separator, string1, ...)",
        "The texts that are not NULL, with a separator between them.",
        ("CONCAT_WS('-', 'a', 'b')", "a-b"),
    ),
    table_row(
        "ASCII",
        takes(a_text, gives=INT),
        python(_ascii),
        "ASCII(string)",
        "The first byte of the text in UTF-8, as a signed number.",
        ("ASCII('a')", "97"),
    ),
    table_row(
        "CHR",
        takes(a_bigint, gives=STRING, nulls=NULLABLE),
        python(_chr),
        "CHR(number)",
        "The character with a number, modulo 256.",
        ("CHR(97)", "a"),
    ),
    table_row(
        "ELT",
        _elt_rule,
        python(_elt, nulls=True),
        "ELT(index, string1, ...)",
        "The text at a position, from 1.",
        ("ELT(2, 'a', 'b')", "b"),
    ),
)
