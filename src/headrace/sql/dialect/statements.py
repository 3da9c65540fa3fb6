"""Reads statements: queries, INSERT, EXPLAIN, and those of the session."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from sqlglot import exp

from headrace.sql.definitions import Path
from headrace.sql.dialect.definitions import DefinitionReader
from headrace.sql.dialect.lexer import line_and_column, parser_error
from headrace.sql.statements import (
    BeginStatementSet,
    ConflictAction,
    Describe,
    EndStatementSet,
    Explain,
    Insert,
    Query,
    ResetOption,
    SetOption,
    Show,
    Statement,
    StatementSet,
    StopJob,
    Use,
)

T = TypeVar("T")

_DETAILS = ("ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE")

_UNSUPPORTED = {
    ("ADD", "JAR"): "there are no jars: functions are Python, and connectors are built in",
    ("REMOVE", "JAR"): "there are no jars: functions are Python, and connectors are built in",
    ("LOAD", "MODULE"): "there are no modules: the functions are built in or of the user",
    ("UNLOAD", "MODULE"): "there are no modules: the functions are built in or of the user",
    ("USE", "MODULES"): "there are no modules: the functions are built in or of the user",
    ("SHOW", "CREATE", "MATERIALIZED"): "there are no materialized tables",
    ("SHOW", "CREATE", "MODEL"): "there are no models",
    ("DESCRIBE", "MODEL"): "there are no models",
    ("DELETE",): "rows of a table are not deleted by a statement",
    ("UPDATE",): "rows of a table are not changed by a statement",
    ("TRUNCATE",): "rows of a table are not deleted by a statement",
    ("ANALYZE",): "plans do not depend on statistics of tables",
    ("CALL",): "catalogs have no procedures",
    ("COMPILE",): "a plan is not stored: its operators keep their ids when the text is the same",
    ("EXECUTE", "PLAN"): "a plan is not stored: its operators keep their ids",
    ("MERGE",): "rows of a table are not changed by a statement",
    ("UPSERT",): "Flink has no UPSERT either; a sink with a primary key is written by INSERT",
}


class StatementReader(DefinitionReader):
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
        for words, reason in _UNSUPPORTED.items():
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

    # INSERT

    def _insert(self) -> Insert:
        start = self.index
        self.expect("INSERT")
        overwrite = self.expect_one_of("INTO", "OVERWRITE") == "OVERWRITE"
        target = self.path()
        hints = self.hints()
        partition = self._partition() if self.at("PARTITION") else ()
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

    def _partition(self) -> tuple[tuple[str, exp.Expr], ...]:
        self.expect("PARTITION")

        def constant() -> tuple[str, exp.Expr]:
            name = self.name()
            self.expect_symbol("=")
            return name, self.expression()

        return tuple(self.in_parentheses(lambda: self.list_of(constant)))

    # Statement sets

    def _execute(self) -> Statement:
        start = self.index
        self.expect("EXECUTE")
        if self.at("PLAN"):
            self.index = start
            words = ("EXECUTE", "PLAN")
            return self.unsupported(start, " ".join(words), _UNSUPPORTED[words])
        if self.at("STATEMENT"):
            return self._statement_set(start)
        if self.at("INSERT"):
            return self._insert()
        query = self.query()
        return Query(tree=query, **self.place(start))

    def _begin(self) -> Statement:
        start = self.index
        self.expect("BEGIN")
        self.expect("STATEMENT")
        self.expect("SET")
        if self.at_end() or (self.at_symbol(";") and self.ahead().kind == "end"):
            return BeginStatementSet(**self.place(start))
        self.take_symbol(";")
        return StatementSet(inserts=self._inserts(), **self.place(start))

    def _statement_set(self, start: int) -> StatementSet:
        self.expect("STATEMENT")
        self.expect("SET")
        self.expect("BEGIN")
        return StatementSet(inserts=self._inserts(), **self.place(start))

    def _inserts(self) -> tuple[Insert, ...]:
        found = []
        while not self.take("END"):
            found.append(self._insert())
            self.expect_symbol(";")
        if not found:
            self.refuse("a statement set has at least one INSERT", self.tokens[self.index - 1])
        return tuple(found)

    def _end(self) -> Statement:
        start = self.index
        self.expect("END")
        return EndStatementSet(**self.place(start))

    # EXPLAIN

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
            inner: Statement = self._statement_set(begin)
        elif self.at("EXECUTE"):
            inner = self._execute()
        elif self.at("INSERT"):
            inner = self._insert()
        else:
            tree = self.query()
            inner = Query(tree=tree, **self.place(begin))
        return Explain(statement=inner, details=tuple(details), **self.place(start))

    # The session

    def _use(self) -> Statement:
        start = self.index
        self.expect("USE")
        if self.at("MODULES"):
            self.index = start
            words = ("USE", "MODULES")
            return self.unsupported(start, " ".join(words), _UNSUPPORTED[words])
        if self.take("CATALOG"):
            name = self.name()
            return Use(kind="CATALOG", path=(name,), **self.place(start))
        path = self.path()
        return Use(kind="DATABASE", path=path, **self.place(start))

    def _set(self) -> Statement:
        start = self.index
        self.expect("SET")
        if self.at_end() or self.at_symbol(";"):
            return SetOption(**self.place(start))
        key = self._option_key()
        self.expect_symbol("=")
        value = self._option_value()
        return SetOption(key=key, value=value, **self.place(start))

    def _reset(self) -> Statement:
        start = self.index
        self.expect("RESET")
        key = None
        if not self.at_end() and not self.at_symbol(";"):
            key = self._option_key()
        return ResetOption(key=key, **self.place(start))

    def _option_key(self) -> str:
        if self.token.kind == "string":
            return self.string()
        self.want("a key in quotes")
        return self._raw("=")

    def _option_value(self) -> str:
        return self.string() if self.token.kind == "string" else self._raw(";")

    def _raw(self, last: str) -> str:
        """Return the text before a symbol, as the shell of Flink reads a key without quotes."""
        first = self.index
        while not self.at_end() and self.token.value not in (last, ";"):
            self.advance()
        if self.index == first:
            self.fail()
        return self.text[self.tokens[first].start : self.tokens[self.index - 1].end]

    def _stop(self) -> Statement:
        start = self.index
        self.expect("STOP")
        self.expect("JOB")
        job = self.string()
        savepoint = drain = False
        while self.take("WITH"):
            if savepoint:
                self.expect("DRAIN")
                drain = True
                break
            self.expect("SAVEPOINT")
            savepoint = True
        return StopJob(job=job, savepoint=savepoint, drain=drain, **self.place(start))

    # DESCRIBE and SHOW

    def _describe(self) -> Statement:
        start = self.index
        self.advance()
        kind: Any = "TABLE"
        following = self.ahead()
        if following.kind in ("word", "name", "string") and following.value != ".":
            kind = self.take_one_of("CATALOG", "DATABASE", "FUNCTION", "JOB", "TABLE") or "TABLE"
        named = self.tokens[self.index - 1].value == "TABLE"
        extended = not named and self.take("EXTENDED")
        if kind == "JOB":
            path: Path = (self.string(),)
        else:
            path = (self.name(),) if kind == "CATALOG" else self.path()
        return Describe(path=path, kind=kind, extended=extended, **self.place(start))

    def _show(self) -> Statement:
        start = self.index
        self.expect("SHOW")
        if self.take("CREATE"):
            kind = self.expect_one_of("TABLE", "VIEW", "CATALOG")
            path = (self.name(),) if kind == "CATALOG" else self.path()
            return Show(what=f"CREATE {kind}", path=path, **self.place(start))
        if self.take("CURRENT"):
            kind = self.expect_one_of("CATALOG", "DATABASE")
            return Show(what=f"CURRENT {kind}", **self.place(start))
        if self.take("USER"):
            self.expect("FUNCTIONS")
            return self._listed(start, "USER FUNCTIONS")
        if self.take("FULL"):
            self.expect("MODULES")
            return Show(what="FULL MODULES", **self.place(start))
        what = self.expect_one_of(
            "TABLES",
            "VIEWS",
            "FUNCTIONS",
            "DATABASES",
            "CATALOGS",
            "COLUMNS",
            "PARTITIONS",
            "MODULES",
            "JOBS",
            "JARS",
            "MODELS",
            "MATERIALIZED",
            "PROCEDURES",
        )
        if what == "MATERIALIZED":
            self.expect("TABLES")
            what = "MATERIALIZED TABLES"
        if what == "PARTITIONS":
            path = self.path()
            partition = self._partition() if self.at("PARTITION") else ()
            return Show(what=what, path=path, partition=partition, **self.place(start))
        return self._listed(start, what)

    def _listed(self, start: int, what: str) -> Show:
        path: Path = ()
        if what == "COLUMNS":
            self.expect_one_of("FROM", "IN")
            path = self.path()
        elif what not in ("CATALOGS", "MODULES", "JOBS", "JARS") and self.take_one_of("FROM", "IN"):
            path = self.path()
        negated = self.take("NOT")
        words = ("LIKE",) if what in ("TABLES", "VIEWS", "COLUMNS") else ("LIKE", "ILIKE")
        word = self.take_one_of(*words)
        if word is None:
            if negated:
                self.fail()
            return Show(what=what, path=path, **self.place(start))
        pattern = self.string()
        return Show(
            what=what,
            path=path,
            like=pattern,
            negated=negated,
            case_insensitive=word == "ILIKE",
            **self.place(start),
        )


_READERS: dict[str, Callable[[StatementReader], Statement]] = {
    "INSERT": StatementReader._insert,
    "EXECUTE": StatementReader._execute,
    "BEGIN": StatementReader._begin,
    "END": StatementReader._end,
    "EXPLAIN": StatementReader._explain,
    "CREATE": StatementReader.create,
    "REPLACE": StatementReader.replace,
    "DROP": StatementReader.drop,
    "ALTER": StatementReader.alter,
    "USE": StatementReader._use,
    "SHOW": StatementReader._show,
    "DESCRIBE": StatementReader._describe,
    "DESC": StatementReader._describe,
    "SET": StatementReader._set,
    "RESET": StatementReader._reset,
    "STOP": StatementReader._stop,
}
