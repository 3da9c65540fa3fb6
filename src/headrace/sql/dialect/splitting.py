"""Splits a text into statements, without reading them: for shells and scripts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from headrace.sql.dialect.lexer import TOKEN, line_and_column

_BEGINS_SET = ["STATEMENT", "SET", "BEGIN"]


@dataclass(frozen=True)
class Piece:
    """The text of a statement without its semicolon, and where it begins (from 1)."""

    text: str
    line: int
    column: int

    @property
    def placed(self) -> str:
        """The text at its place: the same line and column in a text of blanks."""
        return "\n" * (self.line - 1) + " " * (self.column - 1) + self.text


def split(text: str) -> tuple[tuple[Piece, ...], str]:
    """Return the statements that end with a semicolon, and the text after the last one.

    Semicolons in quotes, in comments, and between BEGIN and END of a statement set end nothing. The
    text after the last statement is empty if it has blanks and comments only.
    """
    pieces: list[Piece] = []
    words: list[str] = []
    begin, position, last = None, 0, 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if _is_open(text, position, match):
            begin = position if begin is None else begin
            break
        position, start = position + 1 if match is None else match.end(), position
        if match is not None and match.lastgroup == "space":
            continue
        word = text[start:position].upper()
        if word != ";":
            begin = start if begin is None else begin
            words.append(word)
            last = position
        elif begin is not None and not _in_statement_set(words):
            pieces.append(Piece(text[begin:last], *line_and_column(text, begin)))
            begin, words = None, []
        elif begin is not None:
            words.append(word)
    return tuple(pieces), "" if begin is None else text[begin:]


def pieces_of(text: str) -> tuple[Piece, ...]:
    """Return all statements of a text, of which the last one needs no semicolon."""
    pieces, rest = split(text)
    if not rest:
        return pieces
    return (*pieces, Piece(rest.rstrip(), *line_and_column(text, len(text) - len(rest))))


def _is_open(text: str, position: int, token: re.Match[str] | None) -> bool:
    """Return whether a text, a name in backticks or a comment begins here that does not end."""
    if token is None:
        return text[position] in "'`"
    return token[0] == "/" and text.startswith("/*", position)


def _in_statement_set(words: list[str]) -> bool:
    starts = [place + 3 for place in range(len(words)) if words[place : place + 3] == _BEGINS_SET]
    return bool(starts) and not (words[-1] == "END" and (words[-2:-1] in ([";"], ["BEGIN"])))
