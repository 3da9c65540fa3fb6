"""Reads ALTER."""

from __future__ import annotations

from typing import Any

from headrace.sql.changes import (
    AddOrModify,
    ChangeComment,
    ChangeFunction,
    ChangeQuery,
    ColumnChange,
    DropParts,
    Language,
    Rename,
    RenameColumn,
    ResetOptions,
    SetOptions,
)
from headrace.sql.definitions import Options
from headrace.sql.dialect.columns import ColumnReader
from headrace.sql.statements import Alter, Statement, Unsupported

_REFUSED = {
    "MATERIALIZED": ("MATERIALIZED TABLE", "INSERT INTO a table runs such a query"),
    "MODEL": ("MODEL", "a Python function calls a model"),
    "CONNECTION": ("CONNECTION", "options of a table say how it is reached"),
}


class ChangeReader(ColumnReader):
    """Reads changes of definitions."""

    def place(self, first: int) -> dict[str, Any]:
        """Return the text and the position of a statement that began at a token."""
        raise NotImplementedError

    def refused(self, start: int, verb: str) -> Statement | None:
        """Return the statement if it is of an object that is not supported."""
        for word, (name, reason) in _REFUSED.items():
            if self.at(word):
                return self.unsupported(start, f"{verb} {name}", reason)
        return None

    def unsupported(self, start: int, name: str, reason: str) -> Unsupported:
        """Return a statement that is not read further."""
        while not self.at_end() and not self.at_symbol(";"):
            self.advance()
        return Unsupported(name=name, reason=reason, **self.place(start))

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

    def implementation(self) -> tuple[str, Language]:
        """Return the identifier of a function and its language."""
        identifier = self.string()
        language: Any = "JAVA"
        if self.take("LANGUAGE"):
            language = self.expect_one_of("PYTHON", "JAVA", "SCALA")
        return identifier, language

    def alter(self) -> Statement:
        """Return an ALTER."""
        start = self.index
        self.expect("ALTER")
        temporary = self.take("TEMPORARY")
        system = temporary and self.take("SYSTEM")
        refused = self.refused(start, "ALTER")
        if refused is not None:
            return refused
        args: dict[str, Any] = {"temporary": temporary, "system": system}
        if not temporary and (kind := self.take_one_of("TABLE", "VIEW", "DATABASE", "CATALOG")):
            args["kind"] = kind
            args["if_exists"] = kind == "TABLE" and self.take("IF", "EXISTS")
            args["path"] = (self.name(),) if kind == "CATALOG" else self.path()
        else:
            self.expect("FUNCTION")
            args["kind"] = kind = "FUNCTION"
            args["if_exists"] = self.take("IF", "EXISTS")
            args["path"] = self.path()
        if kind == "TABLE" and self._changes_partitions():
            return self.unsupported(
                start, "ALTER TABLE … PARTITION", "the connector makes and drops partitions"
            )
        change = {
            "TABLE": self._change_of_table,
            "VIEW": self._change_of_view,
            "DATABASE": self._change_of_database,
            "CATALOG": self._change_of_catalog,
            "FUNCTION": self._change_of_function,
        }[kind]
        args["change"] = change()
        return Alter(**args, **self.place(start))

    def _changes_partitions(self) -> bool:
        if not self.at("ADD") and not self.at("DROP"):
            return False
        following = self.ahead()
        return following.kind == "word" and following.value in ("PARTITION", "IF")

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
        return ChangeFunction(*self.implementation())

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
