"""Reads CREATE, DROP and ALTER."""

from __future__ import annotations

from typing import Any

from headrace.sql.dialect.columns import ColumnReader
from headrace.sql.statements import (
    AddOrModify,
    Alter,
    ChangeComment,
    ChangeFunction,
    ChangeQuery,
    ColumnChange,
    CreateCatalog,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    CreateView,
    Drop,
    DropParts,
    Language,
    LikeClause,
    Options,
    Rename,
    RenameColumn,
    ResetOptions,
    SetOptions,
    Statement,
    Unsupported,
)

_REFUSED = {
    "MATERIALIZED": ("MATERIALIZED TABLE", "INSERT INTO a table runs such a query"),
    "MODEL": ("MODEL", "a Python function calls a model"),
    "CONNECTION": ("CONNECTION", "options of a table say how it is reached"),
}


class DefinitionReader(ColumnReader):
    """Reads definitions of objects and their changes."""

    def place(self, first: int) -> dict[str, Any]:
        """Return the text and the position of a statement that began at a token."""
        raise NotImplementedError

    # CREATE

    def create(self) -> Statement:
        """Return a CREATE."""
        start = self.index
        self.expect("CREATE")
        replace = self.take("OR", "REPLACE")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        refused = self._refused(start, "CREATE")
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

    def _refused(self, start: int, verb: str) -> Statement | None:
        for word, (name, reason) in _REFUSED.items():
            if self.at(word):
                while self.token.kind != "end" and not self.at_symbol(";"):
                    self.advance()
                return Unsupported(name=f"{verb} {name}", reason=reason, **self.place(start))
        return None

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

    def options(self) -> Options:
        """Return the keys and values of WITH (…)."""

        def option() -> tuple[str, str]:
            key = self.string()
            self.expect_symbol("=")
            return key, self.string()

        self.expect_symbol("(")
        found = [] if self.at_symbol(")") else self.list_of(option)
        self.expect_symbol(")")
        return tuple(found)

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
        identifier, language = self._implementation()
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

    def _implementation(self) -> tuple[str, Language]:
        identifier = self.string()
        language: Any = "JAVA"
        if self.take("LANGUAGE"):
            language = self.expect_one_of("PYTHON", "JAVA", "SCALA")
        return identifier, language

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
        refused = self._refused(start, "DROP")
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

    # ALTER

    def alter(self) -> Statement:
        """Return an ALTER."""
        start = self.index
        self.expect("ALTER")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        refused = self._refused(start, "ALTER")
        if refused is not None:
            return refused
        args: dict[str, Any] = {"temporary": temporary, "system": system}
        if not temporary and (kind := self.take_one_of("TABLE", "VIEW", "DATABASE", "CATALOG")):
            args["kind"] = kind
            args["if_exists"] = kind == "TABLE" and self.take("IF", "EXISTS")
            args["path"] = self.path()
        else:
            self.expect("FUNCTION")
            args["kind"] = kind = "FUNCTION"
            args["if_exists"] = self.take("IF", "EXISTS")
            args["path"] = self.path()
        change = {
            "TABLE": self._change_of_table,
            "VIEW": self._change_of_view,
            "DATABASE": self._change_of_database,
            "CATALOG": self._change_of_catalog,
            "FUNCTION": self._change_of_function,
        }[kind]
        args["change"] = change()
        return Alter(**args, **self.place(start))

    def _change_of_view(self) -> Rename | ChangeQuery:
        if self.take("RENAME"):
            self.expect("TO")
            return Rename(self.path())
        self.expect("AS")
        begin = self.index
        query = self.query()
        return ChangeQuery(query, self.written(begin))

    def _change_of_database(self) -> SetOptions:
        self.expect("SET")
        return SetOptions(self.options())

    def _change_of_catalog(self) -> SetOptions | ResetOptions | ChangeComment:
        if self.take("COMMENT"):
            return ChangeComment(self.string())
        if self.take("RESET"):
            return ResetOptions(self._keys())
        self.expect("SET")
        return SetOptions(self.options())

    def _change_of_function(self) -> ChangeFunction:
        self.expect("AS")
        return ChangeFunction(*self._implementation())

    def _keys(self) -> tuple[str, ...]:
        return tuple(self.in_parentheses(lambda: self.list_of(self.string)))

    def _change_of_table(
        self,
    ) -> Rename | RenameColumn | SetOptions | ResetOptions | AddOrModify | DropParts:
        if self.take("RENAME"):
            if self.take("TO"):
                return Rename(self.path())
            column = self._column_name()
            self.expect("TO")
            return RenameColumn(column, self.name())
        if self.take("SET"):
            return SetOptions(self.options())
        if self.take("RESET"):
            return ResetOptions(self._keys())
        if self.take("ADD"):
            return self._add_or_modify("ADD")
        if self.take("MODIFY"):
            return self._add_or_modify("MODIFY")
        self.expect("DROP")
        if self.at("PARTITION") or self.at("IF"):
            self.refuse("partitions of a table are not changed by a statement")
        if self.take("WATERMARK"):
            return DropParts(part="WATERMARK")
        if self.take("DISTRIBUTION"):
            return DropParts(part="DISTRIBUTION")
        if self.take("PRIMARY"):
            self.expect("KEY")
            return DropParts(part="PRIMARY KEY")
        if self.take("CONSTRAINT"):
            return DropParts(part="PRIMARY KEY", constraint=self.name())
        if self.take_symbol("("):
            columns = tuple(self.list_of(self._column_name))
            self.expect_symbol(")")
            return DropParts(columns)
        return DropParts((self._column_name(),))

    def _column_name(self) -> str:
        name = self.name()
        if self.at_symbol("."):
            self.refuse("fields of a column are not changed on their own")
        return name

    def _add_or_modify(self, verb: Any) -> AddOrModify:
        if self.at("PARTITION") or self.at("IF"):
            self.refuse("partitions of a table are not changed by a statement")
        if self.take("DISTRIBUTION"):
            return AddOrModify(verb, distribution=self.distribution())
        elements = self._elements_of_change()
        return AddOrModify(verb, **elements)

    def _elements_of_change(self) -> dict[str, Any]:
        if not self.take_symbol("("):
            found = self._element_of_change({})
            return {**found, "columns": tuple(found.get("columns", ()))}
        found = {}
        while True:
            found = self._element_of_change(found)
            if not self.take_symbol(","):
                break
        self.expect_symbol(")")
        return {**found, "columns": tuple(found.get("columns", ()))}

    def _element_of_change(self, found: dict[str, Any]) -> dict[str, Any]:
        part = self.watermark_or_key(found)
        if part is not None:
            return {**found, **part}
        column = self.column()
        after = None
        if self.take("FIRST"):
            after = ""
        elif self.take("AFTER"):
            after = self.name()
        return {**found, "columns": [*found.get("columns", ()), ColumnChange(column, after)]}
