"""Hides passwords in lines of a program, which may be parts of statements."""

from __future__ import annotations

import keyword
import re
from typing import NamedTuple

from headrace.runners.ui.secrets import (
    HIDDEN,
    STRING,
    ends_with_secret_name,
    hide_in_literal,
    hide_in_text,
    is_secret,
)

_TOKEN = re.compile(
    rf"""(?P<string>{STRING.pattern})
    | (?P<comment>\#[^\n]*)
    | (?P<word>\w+)
    | (?P<newline>\n)
    | (?P<space>[^\S\n]+|\\\n)
    | (?P<operator>[=!:<>]=|[^\w\s])""",
    STRING.flags,
)
_NAME = re.compile(r"[\w.-]+")
_SEPARATORS = frozenset(("=", ":", ":=", "==", "!="))
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_TARGETS = re.compile(r"[\w.* \t]++(?:,[\w.* \t]++)++=(?!=)")
"""``user, password =``"""
_COMPOUND = frozenset(("if", "elif", "while", "for", "with", "match", "case"))
"""Statements with a colon that is no separator of a name and its value."""


def hide_in_program(code: str) -> str:
    """Return lines of a program without the string literals that are values of secrets.

    A value is what is assigned to a name like ``password`` or compared with it: of a variable, an
    attribute, an argument, an item, or the argument after such a name. All literals of the value
    are hidden, except the keys of items (``os.environ["DB_PASSWORD"]``). In other literals,
    passwords of URLs and connection strings are hidden.
    """
    scan = _Scan()
    for token in _TOKEN.finditer(code):
        if scan.at_line_start and (targets := _TARGETS.match(code, token.start())) is not None:
            scan.hides_line = any(map(is_secret, re.findall(r"\w+", targets[0])))
        scan.take(token.lastgroup or "", token[0])
    return "".join(scan.parts)


class _Last(NamedTuple):
    """The last token that is no space. ``names_secret``: whether a separator makes it a name."""

    text: str = ""
    kind: str = ""
    names_secret: bool = False

    @property
    def is_operand(self) -> bool:
        """Whether a bracket after it is a call or a subscript."""
        if self.kind == "word":
            return not keyword.iskeyword(self.text)
        return self.kind == "string" or self.text in (")", "]")


class _Scan:
    """The state of ``hide_in_program``."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.at_line_start = True
        self.hides_line = False
        """Whether all literals of the line are hidden."""
        self._is_compound = False
        self._last = _Last()
        self._is_adjacent = False
        self._brackets: list[bool] = []
        """The open brackets; True: a subscript."""
        self._hides_from: int | None = None
        """The number of open brackets where a value began."""
        self._commas = 0
        """How many commas belong to the value."""

    def take(self, kind: str, text: str) -> None:
        """Add a token, or what is shown instead."""
        self.at_line_start = kind == "newline" and not self._brackets
        if kind in ("space", "comment"):
            self.parts.append(hide_in_text(text) if kind == "comment" else text)
            self._is_adjacent = False
            return
        if kind == "string":
            self._take_string(text)
        elif kind == "newline":
            self.parts.append(text)
            self._end_line()
        elif kind == "word":
            # Within an f-string, what looks like a name may be in a literal.
            hidden = self._is_adjacent and self._last.kind == "string" and self._hides
            self.parts.append(HIDDEN if hidden and not keyword.iskeyword(text) else text)
            if not self._last.text:
                self._is_compound = text in _COMPOUND
            self._last = _Last(text, kind, is_secret(text))
        else:
            self.parts.append(text)
            self._take_operator(text)
        self._is_adjacent = True

    @property
    def _hides(self) -> bool:
        return self._hides_from is not None or self.hides_line

    def _take_string(self, text: str) -> None:
        is_key = bool(self._brackets) and self._brackets[-1]
        if self._hides and not is_key:
            self.parts.append(HIDDEN)
            self._last = _Last(text, "string")
            return
        self.parts.append(hide_in_literal(text))
        inner = text.strip("\"'") if text[:1] in "\"'" else text.lstrip("bfrtuBFRTU").strip("\"'")
        names = _NAME.fullmatch(inner) is not None and is_secret(inner)
        self._last = _Last(text, "string", names)
        if ends_with_secret_name(text.rstrip("\"'")):
            self._begin(commas=1)

    def _take_operator(self, text: str) -> None:
        last = self._last
        names_secret = False
        if text in _OPENING:
            self._brackets.append(text == "[" and last.is_operand)
        elif text in _CLOSING:
            names_secret = bool(self._brackets) and self._brackets.pop() and last.names_secret
            if self._hides_from is not None and len(self._brackets) < self._hides_from:
                self._hides_from = None
        elif text == ":" and self._is_compound and not self._brackets:
            self._hides_from, self._is_compound = None, False
        elif text in _SEPARATORS and last.names_secret:
            self._begin()
        elif text in (",", ";") and self._hides_from == len(self._brackets):
            self._commas -= 1
            if self._commas < 0 or text == ";":
                self._hides_from = None
        elif text == "," and last.kind == "string" and last.names_secret:
            self._begin()
        self._last = _Last(text, "operator", names_secret)

    def _begin(self, commas: int = 0) -> None:
        if self._hides_from is None:
            self._hides_from, self._commas = len(self._brackets), commas

    def _end_line(self) -> None:
        """End a value with its line, unless it goes on in the next one."""
        last, depth = self._last, len(self._brackets)
        if last.kind == "operator" and last.text not in _CLOSING and (depth or last.text != ":"):
            return
        if self._hides_from == depth:
            self._hides_from = None
        if not depth:
            self.hides_line, self._is_compound, self._last = False, False, _Last()
