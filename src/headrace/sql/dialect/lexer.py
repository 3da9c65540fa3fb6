"""The tokens of a text in SQL."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from headrace.errors import SqlParserError

TokenKind = Literal["word", "name", "string", "bytes", "number", "symbol", "end"]


@dataclass(frozen=True, slots=True)
class Token:
    """A token: its kind, its value, and where it stands.

    ``value``: of a word or a symbol, in upper case; of a name in backticks or a string, what it
    means, without quotes. ``start``, ``end``: offsets in the text.
    """

    kind: TokenKind
    value: str
    start: int
    end: int


TOKEN = re.compile(
    r"""
    (?P<space>\s+ | --[^\n]* | //[^\n]* | /\*(?!\+)(?:.*?)\*/)
    | (?P<unicode>[uU]&'(?:[^']|'')*')
    | (?P<bytes>[xX]'[^']*')
    | (?P<escaped>[eE]'(?:[^'\\]|''|\\.)*')
    | (?P<string>(?:[nN]|_[A-Za-z][\w-]*)?'(?:[^']|'')*')
    | (?P<name>`(?:[^`]|``)+`)
    | (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[^\W\d][\w$]* | \$[\w$]*)
    | (?P<symbol>/\*\+ | \*/ | => | -> | <> | != | <= | >= | \|\| | :: | [-+*/%=<>(),.;:?|^\[\]{}])
    """,
    re.VERBOSE | re.DOTALL,
)


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text; the last one has the kind ``end``.

    Raises:
        SqlParserError: a character that begins no token, or a quote that is not closed.
    """
    tokens = []
    position = 0
    while position < len(text):
        match = TOKEN.match(text, position)
        if match is None:
            raise _no_token(text, position)
        kind = match.lastgroup
        raw = match[0]
        start, position = position, match.end()
        match kind:
            case "word" | "symbol":
                tokens.append(Token(kind, raw.upper(), start, position))
            case "number":
                tokens.append(Token("number", raw, start, position))
            case "string":
                value = raw[raw.index("'") + 1 : -1].replace("''", "'")
                tokens.append(Token("string", value, start, position))
            case "escaped":
                value = _ESCAPE.sub(_escaped_character, raw[2:-1].replace("''", "'"))
                tokens.append(Token("string", value, start, position))
            case "name":
                tokens.append(Token("name", raw[1:-1].replace("``", "`"), start, position))
            case "bytes":
                digits = raw[2:-1]
                if len(digits) % 2 or re.fullmatch("[0-9a-fA-F]*", digits) is None:
                    problem = "a binary literal has an even number of hexadecimal digits"
                    raise parser_error(text, start, problem)
                tokens.append(Token("bytes", digits.upper(), start, position))
            case "unicode":
                value = raw[3:-1].replace("''", "'")
                escape, position = _escape_character(text, position)
                value = _unescape(text, start, value, escape)
                tokens.append(Token("string", value, start, position))
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens


_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([0-7]{1,3})|(.))", re.DOTALL)

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _escaped_character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    if match[2]:
        return chr(int(match[2], 8))
    return _ESCAPES.get(match[3], match[3])


_UESCAPE = re.compile(r"\s*UESCAPE\s*'([^'])'", re.IGNORECASE)


def _escape_character(text: str, position: int) -> tuple[str, int]:
    match = _UESCAPE.match(text, position)
    return ("\\", position) if match is None else (match[1], match.end())


def _unescape(text: str, start: int, value: str, escape: str) -> str:
    mark = re.escape(escape)

    def character(match: re.Match[str]) -> str:
        if match[0] == escape * 2:
            return escape
        if match[1] is None:
            problem = f"{escape!r} in a U&'…' text is followed by 4 hexadecimal digits"
            raise parser_error(text, start, problem)
        return chr(int(match[1], 16))

    return re.sub(f"{mark}{mark}|{mark}([0-9a-fA-F]{{4}})|{mark}", character, value)


def _no_token(text: str, position: int) -> SqlParserError:
    opened = {"'": "a text", "`": "a name in backticks", "/": "a comment"}
    rest = text[position:]
    for quote, what in opened.items():
        if rest.startswith(quote):
            return parser_error(text, position, f"{what} that begins here does not end")
    if rest[0] == '"':
        problem = "double quotes are not used: a text is in 'single quotes', a name in `backticks`"
        return parser_error(text, position, problem)
    return parser_error(text, position, f"the character {rest[0]!r} has no meaning here")


def line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return the line and the column of an offset; both begin at 1."""
    before = text[:position]
    line_start = before.rfind("\n") + 1
    return before.count("\n") + 1, position - line_start + 1


def marked_line(text: str, position: int) -> tuple[str, str]:
    """Return the line of an offset, at most 100 characters of it, and a mark to show below it."""
    line, column = line_and_column(text, position)
    whole = text.split("\n")[line - 1]
    blanks = len(whole) - len(whole.lstrip())
    first = max(min(blanks, column - 1), column - 70)
    shown = whole[first : first + 100].rstrip("\r")
    mark = "".join("\t" if each == "\t" else " " for each in shown[: column - 1 - first])
    return shown, f"{mark}^"


def message_at(text: str, position: int, problem: str) -> str:
    """Return a problem with its line and column, that line of the text, and a mark below it."""
    line, column = line_and_column(text, position)
    shown, mark = marked_line(text, position)
    return f"line {line}, column {column}: {problem}\n  {shown}\n  {mark}"


def parser_error(
    text: str, position: int, problem: str, *, hint: str | None = None
) -> SqlParserError:
    """Return the error of a problem at a position of a text."""
    return SqlParserError(message_at(text, position, problem), hint=hint)
