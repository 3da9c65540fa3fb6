"""Reads what stands in the parentheses of CREATE TABLE."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from headrace.sql.definitions import (
    ColumnDefinition,
    ComputedColumn,
    Distribution,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKeyDefinition,
    WatermarkDefinition,
)
from headrace.sql.dialect.queries import QueryReader
from headrace.sql.dialect.type_grammar import read_type


class ColumnReader(QueryReader):
    """Reads columns, watermarks and keys of tables."""

    def written(self, first: int) -> str:
        """Return the text from a token to here."""
        last = max(first, self.index - 1)
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def table_elements(self) -> dict[str, Any]:
        """Return columns, watermarks and primary key, as arguments of CreateTable."""
        self.expect_symbol("(")
        if self._only_names():
            names = tuple(self.list_of(self.name))
            self.expect_symbol(")")
            return {"query_columns": names}
        columns: list[ColumnDefinition] = []
        watermarks: list[WatermarkDefinition] = []
        found: dict[str, Any] = {}
        while True:
            part = self.watermark_or_key(found)
            if part is None:
                column, key = self._column_with_key()
                columns.append(column)
                part = {} if key is None else self._key_once(found, key)
            found.update(part)
            if "watermark" in found:
                if watermarks:
                    self.refuse("a table has one watermark", self.tokens[self.index - 1])
                watermarks.append(found.pop("watermark"))
            if not self.take_symbol(","):
                break
        self.expect_symbol(")")
        return {**found, "columns": tuple(columns), "watermarks": tuple(watermarks)}

    def _only_names(self) -> bool:
        """Return whether names without types follow, as before AS and a query."""
        count = 0
        while self.ahead(count).kind in ("word", "name"):
            following = self.ahead(count + 1)
            if following.kind != "symbol" or following.value not in (",", ")"):
                return False
            if following.value == ")":
                return True
            count += 2
        return False

    def watermark_or_key(self, found: dict[str, Any]) -> dict[str, Any] | None:
        """Return a watermark or a primary key, if one begins here."""
        if self.at("WATERMARK"):
            return {"watermark": self._watermark()}
        if self.at("CONSTRAINT") or self.at("PRIMARY") or self.at("UNIQUE"):
            return self._key_once(found, self._primary_key())
        return None

    def _key_once(self, found: dict[str, Any], key: PrimaryKeyDefinition) -> dict[str, Any]:
        if "primary_key" in found:
            self.refuse("a table has one primary key", self.tokens[self.index - 1])
        return {"primary_key": key}

    def _watermark(self) -> WatermarkDefinition:
        self.expect("WATERMARK")
        self.expect("FOR")
        column = self.path()
        self.expect("AS")
        begin = self.index
        expression = self.expression()
        return WatermarkDefinition(column, expression, self.written(begin))

    def _primary_key(self) -> PrimaryKeyDefinition:
        name = self.name() if self.take("CONSTRAINT") else None
        if self.at("UNIQUE"):
            self.refuse("UNIQUE is not supported, in Flink neither; PRIMARY KEY … NOT ENFORCED is")
        self.expect("PRIMARY")
        self.expect("KEY")
        columns = tuple(self.in_parentheses(lambda: self.list_of(self.name)))
        return PrimaryKeyDefinition(columns, name, self._enforced())

    def _enforced(self) -> bool:
        if self.take("NOT"):
            self.expect("ENFORCED")
            return False
        self.take("ENFORCED")
        return True

    def column(self) -> ColumnDefinition:
        """Return a column."""
        column, key = self._column_with_key()
        if key is not None:
            self.refuse("the primary key stands on its own here", self.tokens[self.index - 1])
        return column

    def _column_with_key(self) -> tuple[ColumnDefinition, PrimaryKeyDefinition | None]:
        name = self.name()
        column: ColumnDefinition
        key = None
        if self.take("AS"):
            begin = self.index
            expression = self.expression()
            column = ComputedColumn(name, expression, self.written(begin))
        else:
            kind = read_type(self)
            if self.take("METADATA"):
                source = self.string() if self.take("FROM") else None
                column = MetadataColumn(name, kind, source, self.take("VIRTUAL"))
            else:
                column = PhysicalColumn(name, kind)
                constraint = self.name() if self.take("CONSTRAINT") else None
                if self.take("PRIMARY"):
                    self.expect("KEY")
                    key = PrimaryKeyDefinition((name,), constraint, self._enforced())
                elif constraint is not None:
                    self.fail()
        if self.take("COMMENT"):
            column = replace(column, comment=self.string())
        return column, key

    def distribution(self) -> Distribution:
        """Return what follows DISTRIBUTED."""
        kind: Any = "UNKNOWN"
        columns: tuple[str, ...] = ()
        buckets = None
        by = self.take("BY")
        if by:
            kind = self.take_one_of("HASH", "RANGE") or "UNKNOWN"
            columns = tuple(self.in_parentheses(lambda: self.list_of(self.name)))
        if self.take("INTO"):
            buckets = self.integer()
            self.expect("BUCKETS")
        elif not by:
            self.fail()
        return Distribution(kind, columns, buckets)
