"""What all readers of trees share."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlglot import exp

from headrace.errors import SqlParserError
from headrace.sql.dialect.cursor import Cursor
from headrace.sql.dialect.nodes import TypeName

E = TypeVar("E", bound=exp.Expr)
T = TypeVar("T")

_LONG_CHAIN = 32
"""A longer chain of one operator becomes a balanced tree."""


class TreeReader(Cursor):
    """Makes nodes; subclasses read parts of the language that contain each other."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._lines = [0, *(at + 1 for at, char in enumerate(text) if char == "\n")]
        self._failed: set[tuple[str, int]] = set()

    def expression(self) -> exp.Expr:
        """Return an expression."""
        raise NotImplementedError

    def query(self) -> exp.Expr:
        """Return a query."""
        raise NotImplementedError

    def try_query(self) -> exp.Expr | None:
        """Return a query in parentheses, if there is one."""
        raise NotImplementedError

    def attempt(self, read: Callable[[], T]) -> T | None:
        """Return what is read, or None if that fails; then the position is as before.

        What has failed at a token is not tried there again, so deep nesting costs no more time.
        """
        start = self.index
        attempted = (read.__name__, start)
        if attempted in self._failed:
            return None
        try:
            return read()
        except SqlParserError:
            self.index = start
            self._failed.add(attempted)
            return None

    def at_query(self) -> bool:
        """Return whether a query may begin here."""
        raise NotImplementedError

    def table_name(self) -> exp.Expr:
        """Return the path of a table."""
        raise NotImplementedError

    def type_name(self) -> TypeName:
        """Return a type."""
        raise NotImplementedError

    def below_in(self) -> exp.Expr:
        """Return an expression whose operators bind more tightly than IN."""
        raise NotImplementedError

    def interval_value(self) -> exp.Expr:
        """Return the value of INTERVAL that is no text."""
        raise NotImplementedError

    def node(self, kind: type[E], first: int, /, **args: Any) -> E:
        """Return a node whose text begins at the token ``first`` and ends before the next token."""
        return self._node(kind, first, self.index, **args)

    def chain(self, kind: type[E], parts: Sequence[tuple[exp.Expr, int, int]], /, **args: Any) -> E:
        """Return the node of parts between which the same operator stands.

        ``parts``: each with its first token, and the one after it. The operator binds from left to
        right. A long chain is halved: the meaning is the same, but a deep tree would exceed the
        recursion limit.
        """
        half = len(parts) - 1 if len(parts) <= _LONG_CHAIN else len(parts) // 2
        left, right = (
            each[0][0] if len(each) == 1 else self.chain(kind, each, **args)
            for each in (parts[:half], parts[half:])
        )
        (_, first, _), (_, _, after) = parts[0], parts[-1]
        return self._node(kind, first, after, this=left, expression=right, **args)

    def _node(self, kind: type[E], first: int, after: int, /, **args: Any) -> E:
        found = kind(**args)
        last = max(first, after - 1)
        start = self.tokens[first].start
        line = bisect_right(self._lines, start)
        found.meta["source"] = self.text
        found.meta["start"], found.meta["end"] = start, self.tokens[last].end
        found.meta["line"], found.meta["column"] = line, start - self._lines[line - 1] + 1
        return found

    def identifier(self) -> exp.Identifier:
        """Return a name."""
        start = self.index
        token = self.token
        return self.node(exp.Identifier, start, this=self.name(), quoted=token.kind == "name")
