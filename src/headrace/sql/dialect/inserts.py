"""Reads INSERT, and statement sets of INSERTs."""

from __future__ import annotations

from sqlglot import exp

from headrace.sql.dialect.definitions import DefinitionReader
from headrace.sql.statements import (
    BeginStatementSet,
    ConflictAction,
    EndStatementSet,
    Insert,
    Statement,
    StatementSet,
)


class InsertReader(DefinitionReader):
    """Reads INSERTs."""

    def insert(self) -> Insert:
        """Return an INSERT."""
        start = self.index
        self.expect("INSERT")
        overwrite = self.expect_one_of("INTO", "OVERWRITE") == "OVERWRITE"
        target = self.path()
        hints = self.hints()
        partition = self.partition() if self.at("PARTITION") else ()
        columns: tuple[str, ...] = ()
        if self.at_symbol("(") and not self.at_query():
            columns = tuple(self.in_parentheses(lambda: self.list_of(self._column_of_insert)))
        query = self.query()
        action: ConflictAction | None = None
        if self.take("ON", "CONFLICT"):
            self.expect("DO")
            action = self.expect_one_of("DEDUPLICATE", "NOTHING", "ERROR")  # type: ignore[assignment]
        return Insert(
            target=target,
            query=query,
            columns=columns,
            partition=partition,
            overwrite=overwrite,
            hints=tuple(hints),
            on_conflict=action,
            **self.place(start),
        )

    def _column_of_insert(self) -> str:
        name = self.name()
        if self.at_symbol("."):
            self.refuse("fields of a column are not written on their own")
        return name

    def partition(self) -> tuple[tuple[str, exp.Expr], ...]:
        """Return PARTITION (…): columns, and the trees of their values."""
        self.expect("PARTITION")

        def constant() -> tuple[str, exp.Expr]:
            name = self.name()
            self.expect_symbol("=")
            return name, self.expression()

        return tuple(self.in_parentheses(lambda: self.list_of(constant)))

    # Statement sets

    def begin(self) -> Statement:
        """Return BEGIN STATEMENT SET, with the INSERTs after it if they are there."""
        start = self.index
        self.expect("BEGIN")
        self.expect("STATEMENT")
        self.expect("SET")
        if self.at_end() or (self.at_symbol(";") and self.ahead().kind == "end"):
            return BeginStatementSet(**self.place(start))
        self.take_symbol(";")
        return StatementSet(inserts=self._inserts(), **self.place(start))

    def statement_set(self, start: int) -> StatementSet:
        """Return STATEMENT SET BEGIN … END; ``start``: the statement's first token."""
        self.expect("STATEMENT")
        self.expect("SET")
        self.expect("BEGIN")
        return StatementSet(inserts=self._inserts(), **self.place(start))

    def _inserts(self) -> tuple[Insert, ...]:
        found = []
        while not self.take("END"):
            found.append(self.insert())
            self.expect_symbol(";")
        if not found:
            self.refuse("a statement set has at least one INSERT", self.tokens[self.index - 1])
        return tuple(found)

    def end(self) -> Statement:
        """Return END."""
        start = self.index
        self.expect("END")
        return EndStatementSet(**self.place(start))
