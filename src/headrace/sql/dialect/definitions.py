"""Reads CREATE and DROP."""

from __future__ import annotations

import dataclasses
from typing import Any

from headrace.sql.dialect.changes import ChangeReader
from headrace.sql.statements import (
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Drop,
    LikeClause,
    Statement,
)


class DefinitionReader(ChangeReader):
    """Reads definitions of objects."""

    # CREATE

    def create(self) -> Statement:
        """Return a CREATE."""
        start = self.index
        self.expect("CREATE")
        replace = self.take("OR", "REPLACE")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        refused = self.refused(start, "CREATE")
        if refused is not None:
            return refused
        if not system and self.take("TABLE"):
            return self._create_table(start, temporary, replace)
        if not system and self.take("VIEW"):
            return self._create_view(start, temporary, replace)
        if not replace and self.take("FUNCTION"):
            return self._create_function(start, temporary, system)
        if not temporary and not replace:
            if self.take("DATABASE"):
                return self._create_database(start)
            if self.take("CATALOG"):
                return self._create_catalog(start)
        self.fail()

    def replace(self) -> Statement:
        """Return a REPLACE TABLE … AS."""
        start = self.index
        self.expect("REPLACE")
        self.expect("TABLE")
        made = self._create_table(start, temporary=False, replace=True)
        if made.query is None:
            self.want("AS")
            self.fail()
        return dataclasses.replace(made, must_exist=True)

    def _create_table(self, start: int, temporary: bool, replace: bool) -> CreateTable:
        args: dict[str, Any] = {"temporary": temporary, "replace": replace}
        args["if_not_exists"] = self.take("IF", "NOT", "EXISTS")
        args["path"] = self.path()
        if self.at_symbol("("):
            args.update(self.table_elements())
        if self.take("COMMENT"):
            args["comment"] = self.string()
        if self.take("DISTRIBUTED"):
            args["distribution"] = self.distribution()
        if self.take("PARTITIONED"):
            self.expect("BY")
            args["partitioned_by"] = tuple(self.in_parentheses(lambda: self.list_of(self.name)))
        if self.take("WITH"):
            args["options"] = self.options()
        if self.take("LIKE"):
            args["like"] = self._like()
        elif self.take("AS"):
            args["query"] = self.query()
        if args.get("query_columns") and "query" not in args:
            self.refuse("a column needs a type, but in CREATE TABLE … AS")
        return CreateTable(**args, **self.place(start))

    def _like(self) -> LikeClause:
        table = self.path()
        options: list[tuple[str, str]] = []
        if self.take_symbol("("):
            while not options or not self.take_symbol(")"):
                strategy = self.expect_one_of("INCLUDING", "EXCLUDING", "OVERWRITING")
                feature = self.expect_one_of(
                    "ALL",
                    "CONSTRAINTS",
                    "DISTRIBUTION",
                    "GENERATED",
                    "METADATA",
                    "OPTIONS",
                    "PARTITIONS",
                    "WATERMARKS",
                )
                options.append((strategy, feature))
        return LikeClause(table, tuple(options))

    def _create_view(self, start: int, temporary: bool, replace: bool) -> CreateView:
        args: dict[str, Any] = {"temporary": temporary, "replace": replace}
        args["if_not_exists"] = self.take("IF", "NOT", "EXISTS")
        args["path"] = self.path()
        if self.at_symbol("("):
            args["columns"] = tuple(self.in_parentheses(lambda: self.list_of(self.name)))
        if self.take("COMMENT"):
            args["comment"] = self.string()
        self.expect("AS")
        begin = self.index
        args["query"] = self.query()
        return CreateView(query_text=self.written(begin), **args, **self.place(start))

    def _create_function(self, start: int, temporary: bool, system: bool) -> CreateFunction:
        if_not_exists = self.take("IF", "NOT", "EXISTS")
        path = self.path()
        self.expect("AS")
        identifier, language = self.implementation()
        if self.take("USING"):
            self.refuse("there are no jars: a function is Python", self.tokens[self.index - 1])
        return CreateFunction(
            path=path,
            identifier=identifier,
            language=language,
            temporary=temporary,
            system=system,
            if_not_exists=if_not_exists,
            **self.place(start),
        )

    def _create_database(self, start: int) -> CreateDatabase:
        args: dict[str, Any] = {"if_not_exists": self.take("IF", "NOT", "EXISTS")}
        args["path"] = self.path()
        if self.take("COMMENT"):
            args["comment"] = self.string()
        if self.take("WITH"):
            args["options"] = self.options()
        return CreateDatabase(**args, **self.place(start))

    def _create_catalog(self, start: int) -> CreateCatalog:
        args: dict[str, Any] = {"if_not_exists": self.take("IF", "NOT", "EXISTS")}
        args["name"] = self.name()
        if self.take("COMMENT"):
            args["comment"] = self.string()
        if self.take("WITH"):
            args["options"] = self.options()
        return CreateCatalog(**args, **self.place(start))

    # DROP

    def drop(self) -> Statement:
        """Return a DROP."""
        start = self.index
        self.expect("DROP")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        refused = self.refused(start, "DROP")
        if refused is not None:
            return refused
        if system:
            kind: Any = self.expect_one_of("FUNCTION")
        elif temporary:
            kind = self.expect_one_of("TABLE", "VIEW", "FUNCTION")
        else:
            kind = self.expect_one_of("TABLE", "VIEW", "FUNCTION", "DATABASE", "CATALOG")
        if_exists = self.take("IF", "EXISTS")
        path = (self.name(),) if kind == "CATALOG" else self.path()
        cascade = False
        if kind == "DATABASE":
            cascade = self.take_one_of("CASCADE", "RESTRICT") == "CASCADE"
        return Drop(
            kind=kind,
            path=path,
            if_exists=if_exists,
            temporary=temporary,
            system=system,
            cascade=cascade,
            **self.place(start),
        )
