"""Reads tokens one after the other, and says what could stand where one fails."""

from __future__ import annotations

from collections.abc import Callable
from difflib import get_close_matches
from typing import NoReturn, TypeVar

from headrace.errors import SqlParserError
from headrace.sql.dialect.lexer import Token, parser_error, tokenize
from headrace.sql.dialect.words import CLAUSES, RESERVED

T = TypeVar("T")


class Cursor:
    """A position among the tokens of a text.

    ``take…`` moves on if the tokens are those, ``expect…`` fails if they are not. What was looked
    for at the furthest position is remembered for the message.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.index = 0
        self._wanted: dict[str, None] = {}
        self._wanted_at = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.index]

    def ahead(self, count: int = 1) -> Token:
        """Return a token after the next one."""
        return self.tokens[min(self.index + count, len(self.tokens) - 1)]

    def advance(self) -> Token:
        """Return the next token and move on."""
        token = self.tokens[self.index]
        if token.kind != "end":
            self.index += 1
        return token

    def want(self, what: str) -> None:
        """Remember what could stand here."""
        if self.index > self._wanted_at:
            self._wanted.clear()
            self._wanted_at = self.index
        if self.index == self._wanted_at:
            self._wanted[what] = None

    def wanted_at_end(self) -> tuple[str, ...]:
        """Return what was looked for at the end of the text."""
        return tuple(self._wanted) if self._wanted_at == len(self.tokens) - 1 else ()

    def at_end(self) -> bool:
        """Return whether there are no more tokens."""
        return self.token.kind == "end"

    # Words

    def at(self, *words: str) -> bool:
        """Return whether the next tokens are these words."""
        for number, word in enumerate(words):
            token = self.ahead(number)
            if token.kind != "word" or token.value != word:
                if number == 0:
                    self.want(" ".join(words))
                return False
        return True

    def take(self, *words: str) -> bool:
        """Move on if the next tokens are these words."""
        if not self.at(*words):
            return False
        self.index += len(words)
        return True

    def expect(self, *words: str) -> None:
        """Move on; the next tokens are these words."""
        for word in words:
            if not self.take(word):
                self.fail()

    def take_one_of(self, *words: str) -> str | None:
        """Return the next token if it is one of these words, and move on."""
        for word in words:
            if self.take(word):
                return word
        return None

    def expect_one_of(self, *words: str) -> str:
        """Return the next token, which is one of these words."""
        found = self.take_one_of(*words)
        return found if found is not None else self.fail()

    # Symbols

    def at_symbol(self, symbol: str) -> bool:
        """Return whether the next token is this symbol."""
        token = self.token
        if token.kind == "symbol" and token.value == symbol:
            return True
        self.want(f"'{symbol}'")
        return False

    def take_symbol(self, symbol: str) -> bool:
        """Move on if the next token is this symbol."""
        if not self.at_symbol(symbol):
            return False
        self.index += 1
        return True

    def expect_symbol(self, symbol: str) -> None:
        """Move on; the next token is this symbol."""
        if not self.take_symbol(symbol):
            self.fail()

    # Names and constants

    def at_name(self) -> bool:
        """Return whether the next token can be a name."""
        token = self.token
        self.want("a name")
        return token.kind == "name" or (token.kind == "word" and token.value not in RESERVED)

    def name(self) -> str:
        """Return the next token, which is a name."""
        if not self.at_name():
            self.fail()
        return self.spelled(self.advance())

    def spelled(self, token: Token) -> str:
        """Return a word or a name as it is written, without backticks."""
        return token.value if token.kind == "name" else self.text[token.start : token.end]

    def path(self) -> tuple[str, ...]:
        """Return a name with the names before it, which are separated by dots."""
        parts = [self.name()]
        while self.take_symbol("."):
            parts.append(self.name())
        return tuple(parts)

    def string(self) -> str:
        """Return the next token, which is a text."""
        if self.token.kind != "string":
            self.want("a text in quotes")
            self.fail()
        value = self.advance().value
        while self.token.kind == "string":
            value += self.advance().value
        return value

    def integer(self) -> int:
        """Return the next token, which is a whole number without a sign."""
        token = self.token
        if token.kind != "number" or not token.value.isdecimal():
            self.want("a whole number")
            self.fail()
        if len(token.value) > 18:
            self.refuse(f"the number {token.value} is too large")
        self.advance()
        return int(token.value)

    # Lists

    def list_of(self, read: Callable[[], T]) -> list[T]:
        """Return one or more values that are separated by commas."""
        found = [read()]
        while self.take_symbol(","):
            found.append(read())
        return found

    def in_parentheses(self, read: Callable[[], T]) -> T:
        """Return a value that stands in parentheses."""
        self.expect_symbol("(")
        found = read()
        self.expect_symbol(")")
        return found

    # Errors

    def error(self, problem: str, token: Token | None = None) -> SqlParserError:
        """Return the error of a problem at a token; None: the next one."""
        return parser_error(self.text, (token or self.token).start, problem)

    def refuse(self, problem: str, token: Token | None = None) -> NoReturn:
        """Fail with a problem at a token; None: the next one."""
        raise self.error(problem, token)

    def fail(self) -> NoReturn:
        """Fail: the token at the furthest position is none of those that were looked for."""
        self.index = max(self.index, self._wanted_at)
        token = self.token
        wanted = list(self._wanted)
        found = "the end of the text" if self.at_end() else f"'{self._written(token)}'"
        problem = f"{found} is not expected here"
        if self._is_reserved_name(token, wanted):
            problem = f"{found} is a reserved word"
        if wanted:
            problem += f"; expected {_enumerated(wanted)}"
        raise parser_error(self.text, token.start, problem, hint=self._suggestion(token, wanted))

    def forget(self) -> None:
        """Forget what was looked for here."""
        self._wanted.clear()
        self._wanted_at = self.index

    def _is_reserved_name(self, token: Token, wanted: list[str]) -> bool:
        if token.kind != "word" or "a name" not in wanted:
            return False
        return token.value in RESERVED and token.value not in CLAUSES

    def _written(self, token: Token) -> str:
        return self.text[token.start : token.end].partition("\n")[0][:40]

    def _suggestion(self, token: Token, wanted: list[str]) -> str | None:
        if self._is_reserved_name(token, wanted):
            return f"as a name it is written in backticks: `{self._written(token)}`"
        words = [first for each in wanted if (first := each.partition(" ")[0]).isupper()]
        near = _near(token, words)
        if near is None and self.index > 0:
            # A misspelled word may have been read as a name: SELECT a FORM t.
            near = _near(self.tokens[self.index - 1], words)
        return None if near is None else f"Did you mean {near}?"


def _near(token: Token, words: list[str]) -> str | None:
    if token.kind != "word" or token.value in RESERVED:
        return None
    return next(iter(get_close_matches(token.value, words, n=1, cutoff=0.7)), None)


def _enumerated(wanted: list[str]) -> str:
    shown = sorted(wanted, key=lambda each: (each[:1] == "'", each[:1].isupper()))[:10]
    if len(shown) < len(wanted):
        return ", ".join(shown) + ", …"
    return shown[0] if len(shown) == 1 else ", ".join(shown[:-1]) + " or " + shown[-1]
