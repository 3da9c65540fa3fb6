"""Reads USE, SET, RESET, STOP, DESCRIBE and SHOW."""

from __future__ import annotations

from typing import Any

from headrace.sql.definitions import Path
from headrace.sql.dialect.inserts import InsertReader
from headrace.sql.dialect.unsupported import UNSUPPORTED
from headrace.sql.statements import (
    Describe,
    ResetOption,
    SetOption,
    Show,
    Statement,
    StopJob,
    Use,
)


class SessionReader(InsertReader):
    """Reads statements of the session, and those that show what there is."""

    def use(self) -> Statement:
        """Return USE."""
        start = self.index
        self.expect("USE")
        if self.at("MODULES"):
            self.index = start
            words = ("USE", "MODULES")
            return self.unsupported(start, " ".join(words), UNSUPPORTED[words])
        if self.take("CATALOG"):
            name = self.name()
            return Use(kind="CATALOG", path=(name,), **self.place(start))
        path = self.path()
        return Use(kind="DATABASE", path=path, **self.place(start))

    def set(self) -> Statement:
        """Return SET."""
        start = self.index
        self.expect("SET")
        if self.at_end() or self.at_symbol(";"):
            return SetOption(**self.place(start))
        key = self._option_key()
        self.expect_symbol("=")
        value = self._option_value()
        return SetOption(key=key, value=value, **self.place(start))

    def reset(self) -> Statement:
        """Return RESET."""
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

    def stop(self) -> Statement:
        """Return STOP JOB."""
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

    # What there is

    def describe(self) -> Statement:
        """Return DESCRIBE."""
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

    def show(self) -> Statement:
        """Return SHOW."""
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
            partition = self.partition() if self.at("PARTITION") else ()
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
