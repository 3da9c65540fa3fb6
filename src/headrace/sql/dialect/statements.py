"""Reads statements: which one it is, by its first words; and EXECUTE and EXPLAIN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from headrace.sql.dialect.lexer import line_and_column, parser_error
from headrace.sql.dialect.session_statements import SessionReader
from headrace.sql.dialect.unsupported import UNSUPPORTED
from headrace.sql.statements import Explain, Query, Statement

T = TypeVar("T")

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")


class StatementReader(SessionReader):
    """Reads statements."""

    def statements(self) -> tuple[Statement, ...]:
        """Return all statements of the text."""
        return self._guarded(self._statements)

    def only(self, read: Callable[[Any], T]) -> T:
        """Return what is read; the text ends after it."""

        def read_all() -> T:
            found = read(self)
            if not self.at_end():
                self.want("the end of the text")
                self.fail()
            return found

        return self._guarded(read_all)

    def _guarded(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except RecursionError:
            problem = "the statement is nested too deeply"
            raise parser_error(self.text, self.token.start, problem) from None

    def _statements(self) -> tuple[Statement, ...]:
        found: list[Statement] = []
        while True:
            while self.take_symbol(";"):
                pass
            if self.at_end():
                self._want_statement()
                return tuple(found)
            found.append(self._statement())
            if not self.at_end() and not self.at_symbol(";"):
                self.fail()

    def place(self, first: int) -> dict[str, Any]:
        """Return the text and position of the statement that began at a token."""
        start = self.tokens[first].start
        end = self.tokens[max(first, self.index - 1)].end
        line, column = line_and_column(self.text, start)
        text = self.text[start:end]
        return {"text": text, "line": line, "column": column, "source": self.text}

    def _statement(self) -> Statement:
        start = self.index
        if self.at_query():
            tree = self.query()
            return Query(tree=tree, **self.place(start))
        for words, reason in UNSUPPORTED.items():
            if self.at(*words) and self.ahead(len(words)).value != ".":
                return self.unsupported(start, " ".join(words), reason)
        token = self.token
        reader = _READERS.get(token.value) if token.kind == "word" else None
        if reader is None:
            self._no_statement()
        self.forget()
        return reader(self)

    def _no_statement(self) -> NoReturn:
        self.forget()
        self._want_statement()
        self.fail()

    def _want_statement(self) -> None:
        for word in ("SELECT", "WITH", "VALUES", *_READERS):
            self.want(word)

    # EXECUTE and EXPLAIN

    def _execute(self) -> Statement:
        start = self.index
        self.expect("EXECUTE")
        if self.at("PLAN"):
            self.index = start
            words = ("EXECUTE", "PLAN")
            return self.unsupported(start, " ".join(words), UNSUPPORTED[words])
        if self.at("STATEMENT"):
            return self.statement_set(start)
        if self.at("INSERT"):
            return self.insert()
        query = self.query()
        return Query(tree=query, **self.place(start))

    def _explain(self) -> Statement:
        start = self.index
        self.expect("EXPLAIN")
        details: list[str] = []
        if not self.take("PLAN", "FOR"):
            while (detail := self.take_one_of(*_DETAILS)) is not None:
                if detail in details:
                    self.refuse(f"{detail} occurs twice", self.tokens[self.index - 1])
                details.append(detail)
                if not self.take_symbol(","):
                    break
        begin = self.index
        if self.at("STATEMENT"):
            inner: Statement = self.statement_set(begin)
        elif self.at("EXECUTE"):
            inner = self._execute()
        elif self.at("INSERT"):
            inner = self.insert()
        else:
            tree = self.query()
            inner = Query(tree=tree, **self.place(begin))
        return Explain(statement=inner, details=tuple(details), **self.place(start))


_READERS: dict[str, Callable[[StatementReader], Statement]] = {
    "INSERT": StatementReader.insert,
    "EXECUTE": StatementReader._execute,
    "BEGIN": StatementReader.begin,
    "END": StatementReader.end,
    "EXPLAIN": StatementReader._explain,
    "CREATE": StatementReader.create,
    "REPLACE": StatementReader.replace,
    "DROP": StatementReader.drop,
    "ALTER": StatementReader.alter,
    "USE": StatementReader.use,
    "SHOW": StatementReader.show,
    "DESCRIBE": StatementReader.describe,
    "DESC": StatementReader.describe,
    "SET": StatementReader.set,
    "RESET": StatementReader.reset,
    "STOP": StatementReader.stop,
}
