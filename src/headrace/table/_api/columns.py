"""Methods of ``Table`` that choose, compute and rename columns."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.resolve.query import renamed
from headrace.table._api.relation import SessionRelation
from headrace.table._api.selecting import expanded, named, select_of, trees_of
from headrace.table.expression import Expression


class TableColumns(SessionRelation):
    """The methods that change columns."""

    def select(self, *fields: Expression[Any]) -> Self:
        """Return expressions of each row, or aggregates of all rows."""
        trees = [*expanded(trees_of(fields, "select"), self._names)]
        return self._query(select_of(self._rel, named(trees)))

    def alias(self, field: str, *fields: str) -> Self:
        """Return the table with other names for its first columns."""
        given = [field, *fields]
        if len(given) > len(self._names):
            raise SqlValidationError(
                f"{len(given)} names are given to {len(self._names)} columns",
                where={"columns": ", ".join(self._names)},
            )
        return self._with(renamed(self._rel, [*given, *self._names[len(given) :]]))

    def add_columns(self, *fields: Expression[Any]) -> Self:
        """Return the table with more columns, whose names are new."""
        trees: list[exp.Expr] = [exp.column(name, quoted=True) for name in self._names]
        trees += expanded(trees_of(fields, "add_columns"), self._names)
        return self._query(select_of(self._rel, named(trees)))

    def add_or_replace_columns(self, *fields: Expression[Any]) -> Self:
        """Return the table with more columns, or with others in place of those of their names."""
        added = named([*expanded(trees_of(fields, "add_or_replace_columns"), self._names)])
        by_name = {each.alias: each for each in added}
        kept = [
            by_name.pop(name) if name in by_name else exp.column(name, quoted=True)
            for name in self._names
        ]
        return self._query(select_of(self._rel, named([*kept, *by_name.values()])))

    def rename_columns(self, *fields: Expression[Any]) -> Self:
        """Return the table with other names of some columns: ``col('a').alias('b')``."""
        names = dict(zip(self._names, self._names, strict=True))
        for tree in trees_of(fields, "rename_columns"):
            if not isinstance(tree, exp.Alias) or not isinstance(tree.this, exp.Column):
                raise SqlValidationError("rename_columns() takes col('old').alias('new')")
            self._require(tree.this.name)
            names[tree.this.name] = tree.alias
        items = [
            exp.alias_(exp.column(name, quoted=True), new, quoted=True)
            for name, new in names.items()
        ]
        return self._query(select_of(self._rel, named(items)))

    def drop_columns(self, *fields: Expression[Any]) -> Self:
        """Return the table without some columns."""
        left_out = set()
        for tree in expanded(trees_of(fields, "drop_columns"), self._names):
            if not isinstance(tree, exp.Column):
                raise SqlValidationError("drop_columns() takes columns: col('a')")
            left_out.add(self._require(tree.name))
        kept = [exp.column(name, quoted=True) for name in self._names if name not in left_out]
        if not kept:
            raise SqlValidationError("drop_columns() leaves no column")
        return self._query(select_of(self._rel, kept))
