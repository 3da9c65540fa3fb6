"""JSON texts in quotes."""

from __future__ import annotations

import json
import re

from headrace.sql.functions.function import Function
from headrace.sql.functions.kernels import python
from headrace.sql.functions.rules import a_text, takes
from headrace.sql.types import (
    STRING,
)

_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def _quote(text: str) -> str:
    parts = []
    for each in text:
        if each in _ESCAPES:
            parts.append(_ESCAPES[each])
        elif " " <= each <= "~":
            parts.append(each)
        else:
            units = each.encode("utf-16-be")
            parts += [f"\\u{units[n] << 8 | units[n + 1]:04x}" for n in range(0, len(units), 2)]
    return f'"{"".join(parts)}"'


def _unquote(text: str) -> str:
    """Return what a JSON text in quotes says.

    As in Flink, only the text up to the second quote must be JSON.
    """
    if len(text) < 2 or not (text.startswith('"') and text.endswith('"')):
        return text
    try:
        json.JSONDecoder().raw_decode(text)
    except ValueError:
        return text
    return _ESCAPED.sub(_unescaped, text[1:-1])


_ESCAPED = re.compile(r"(?:\\u[0-9a-fA-F]{4})+|\\(.)", re.DOTALL)


def _unescaped(found: re.Match[str]) -> str:
    if found[1] is None:
        units = bytes.fromhex(found[0].replace("\\u", ""))
        return units.decode("utf-16-be", "replace")
    return {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}.get(found[1], found[1])


FUNCTIONS = (
    Function(
        "JSON_QUOTE",
        takes(a_text, gives=STRING),
        python(_quote),
        ("JSON_QUOTE(string)",),
        "The text as a JSON text, in quotes.",
        (("JSON_QUOTE('a')", '"a"'),),
    ),
    Function(
        "JSON_UNQUOTE",
        takes(a_text, gives=STRING),
        python(_unquote),
        ("JSON_UNQUOTE(string)",),
        "The value of a JSON text in quotes; other texts stay as they are.",
        (("JSON_UNQUOTE('\"a\"')", "a"),),
    ),
)
