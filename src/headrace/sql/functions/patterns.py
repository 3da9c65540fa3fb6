"""LIKE, SIMILAR TO and regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from headrace.errors import SqlError
from headrace.sql.expressions import Call
from headrace.sql.functions.function import Function, Session, options_vary
from headrace.sql.functions.kernels import is_scalar, map_values, python
from headrace.sql.functions.rules import NULLABLE, a_text, an_int, takes
from headrace.sql.types import BOOLEAN, INT, STRING, ArrayType


@lru_cache(maxsize=1000)
def like_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """Return the regular expression of a LIKE pattern."""
    parts, characters = [], iter(pattern)
    for each in characters:
        if escape is not None and each == escape:
            following = next(characters, None)
            if following not in ("%", "_", escape):
                raise SqlError(f"invalid escape sequence in the pattern {pattern!r}")
            parts.append(re.escape(following))
        else:
            parts.append({"%": ".*", "_": "."}.get(each) or re.escape(each))
    return re.compile("".join(parts), re.DOTALL)


@lru_cache(maxsize=1000)
def similar_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    """Return the regular expression of a SIMILAR TO pattern."""
    parts, position, bracket = [], 0, False
    while position < len(pattern):
        each = pattern[position]
        position += 1
        if escape is not None and each == escape:
            if position == len(pattern):
                raise SqlError(f"invalid escape sequence in the pattern {pattern!r}")
            parts.append(re.escape(pattern[position]))
            position += 1
        elif bracket:
            if each == "[" and (named := re.match(r"\[:(\w+):\]", pattern[position - 1 :])):
                parts.append(_CLASSES.get(named[1].upper(), re.escape(named[0])))
                position += len(named[0]) - 1
                continue
            parts.append("\\\\" if each == "\\" else each)
            bracket = each != "]"
        elif each == "[":
            parts.append(each)
            bracket = True
        else:
            parts.append({"%": ".*", "_": "."}.get(each) or _SIMILAR.get(each) or each)
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error as error:
        raise SqlError(f"invalid pattern {pattern!r}: {error}") from None


_SIMILAR = {"\\": r"\\", "$": r"\$"}
_CLASSES = {
    "ALPHA": "a-zA-Z",
    "UPPER": "A-Z",
    "LOWER": "a-z",
    "DIGIT": "0-9",
    "SPACE": " ",
    "WHITESPACE": r"\s",
    "ALNUM": "a-zA-Z0-9",
}


def _like(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    text, pattern, *rest = arguments
    if is_scalar(pattern) and pattern.is_valid and not rest and "\\" not in pattern.as_py():
        return pc.match_like(text, pattern.as_py())
    return map_values(_matches(like_pattern), arguments, pa.bool_())


def _matches(compile_pattern: Callable[[str, str | None], re.Pattern[str]]) -> Any:
    def matches(text: str, pattern: str, escape: str | None = None) -> bool:
        return compile_pattern(pattern, escape).fullmatch(text) is not None

    return matches


@lru_cache(maxsize=1000)
def java_regex(pattern: str) -> re.Pattern[str] | None:
    """Return a regular expression of Java's; None: it is not valid."""
    text = pattern
    for java, ours in _JAVA_CLASSES.items():
        text = text.replace(java, ours)
    text = re.sub(r"\(\?<([A-Za-z])", r"(?P<\1", text).replace(r"\z", r"\Z")
    try:
        # Java's \d, \w, \s and \b are those of ASCII.
        return re.compile(text, re.ASCII)
    except (re.error, OverflowError):
        if _ONLY_JAVA.search(text.replace(r"\\", "")):
            raise SqlError(
                f"the regular expression {pattern!r} has an escape of Java that is not supported",
                hint="write the characters in brackets, such as [A-Za-z]",
            ) from None
        return None


_ONLY_JAVA = re.compile(r"\\(?:[pPQRHvVXGeck]|x\{)")
"""Escapes that are valid in Java, and not in Python."""

_JAVA_CLASSES = {
    r"\p{Alpha}": "[a-zA-Z]",
    r"\p{Digit}": "[0-9]",
    r"\p{Alnum}": "[a-zA-Z0-9]",
    r"\p{Upper}": "[A-Z]",
    r"\p{Lower}": "[a-z]",
    r"\p{Punct}": r"""[!-/:-@\[-`{-~]""",
    r"\p{Space}": r"\s",
    r"\h": r"[ \t\xa0]",
}


def _regexp(text: str, pattern: str) -> bool | None:
    if not pattern:
        return False
    found = java_regex(pattern)
    return None if found is None else found.search(text) is not None


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    found = java_regex(pattern)
    match = None if found is None or group < 0 or group > found.groups else found.search(text)
    return None if match is None else match.group(group)


def _replace(text: str, pattern: str, replacement: str) -> str | None:
    found = java_regex(pattern)
    return None if found is None else found.sub(lambda _: replacement, text)


def _count(text: str, pattern: str) -> int | None:
    found = java_regex(pattern)
    return None if found is None else sum(1 for _ in found.finditer(text))


def _instr(text: str, pattern: str) -> int | None:
    found = java_regex(pattern)
    if found is None:
        return None
    match = found.search(text)
    return 0 if match is None else match.start() + 1


def _substr(text: str, pattern: str) -> str | None:
    return _extract(text, pattern)


def _extract_all(text: str, pattern: str, group: int = 1) -> list[str | None] | None:
    found = java_regex(pattern)
    if found is None or group < 0 or group > found.groups:
        return None
    return [match.group(group) for match in found.finditer(text)]


FUNCTIONS = (
    Function(
        "LIKE",
        takes(a_text, a_text, a_text, gives=BOOLEAN, optional=1),
        _like,
        ("string LIKE pattern [ESCAPE character]",),
        "Whether the text matches a pattern: % is any text, _ any character.",
        (("'hello' LIKE 'h%o'", "true"), ("'a_b' LIKE 'a!_b' ESCAPE '!'", "true")),
        can_fail=options_vary,
    ),
    Function(
        "SIMILAR TO",
        takes(a_text, a_text, a_text, gives=BOOLEAN, optional=1),
        python(_matches(similar_pattern)),
        ("string SIMILAR TO pattern [ESCAPE character]",),
        "Whether the text matches a regular expression of SQL.",
        (("'hello' SIMILAR TO '(h|x)%'", "true"), ("'hello' SIMILAR TO 'h.llo'", "true")),
        can_fail=options_vary,
    ),
    Function(
        "REGEXP",
        takes(a_text, a_text, gives=BOOLEAN),
        python(_regexp),
        ("REGEXP(string, regex)",),
        "Whether a part of the text matches a regular expression.",
        (("REGEXP('hello', 'l+')", "true"),),
        can_fail=options_vary,
    ),
    Function(
        "REGEXP_EXTRACT",
        takes(a_text, a_text, an_int, gives=STRING, nulls=NULLABLE, optional=1),
        python(_extract),
        ("REGEXP_EXTRACT(string, regex [, group])",),
        "The first part that matches a regular expression, or a group of it.",
        (("REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2)", "bar"),),
        can_fail=options_vary,
    ),
    Function(
        "REGEXP_REPLACE",
        takes(a_text, a_text, a_text, gives=STRING),
        python(_replace),
        ("REGEXP_REPLACE(string, regex, replacement)",),
        "The text with all parts that match a regular expression replaced.",
        (("REGEXP_REPLACE('foobar', 'oo|ar', '')", "fb"),),
        can_fail=options_vary,
    ),
    Function(
        "REGEXP_COUNT",
        takes(a_text, a_text, gives=INT, nulls=NULLABLE),
        python(_count),
        ("REGEXP_COUNT(string, regex)",),
        "How many parts of the text match a regular expression.",
        (("REGEXP_COUNT('hello', 'l')", "2"),),
        can_fail=options_vary,
    ),
    Function(
        "REGEXP_INSTR",
        takes(a_text, a_text, gives=INT, nulls=NULLABLE),
        python(_instr),
        ("REGEXP_INSTR(string, regex)",),
        "The position of the first part that matches, from 1; 0: not found.",
        (("REGEXP_INSTR('hello', 'l+')", "3"),),
        can_fail=options_vary,
    ),
    Function(
        "REGEXP_SUBSTR",
        takes(a_text, a_text, gives=STRING, nulls=NULLABLE),
        python(_substr),
        ("REGEXP_SUBSTR(string, regex)",),
        "The first part that matches a regular expression.",
        (("REGEXP_SUBSTR('hello', 'l+')", "ll"),),
        can_fail=options_vary,
    ),
    Function(
        "REGEXP_EXTRACT_ALL",
        takes(a_text, a_text, an_int, gives=ArrayType(STRING), nulls=NULLABLE, optional=1),
        python(_extract_all),
        ("REGEXP_EXTRACT_ALL(string, regex [, group])",),
        "All parts that match a regular expression, or a group of it (the first).",
        (("REGEXP_EXTRACT_ALL('a1b2', '([0-9])', 1)", '["1", "2"]'),),
        can_fail=options_vary,
    ),
)
