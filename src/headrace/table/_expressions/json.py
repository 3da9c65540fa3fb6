"""Functions of JSON texts."""

from __future__ import annotations

from typing import Any, Self

from sqlglot import exp

from headrace.sql.dialect.nodes import Clause
from headrace.sql.types import STRING
from headrace.table._expressions.base import ExpressionTree
from headrace.table._expressions.symbols import (
    JsonExistsOnError,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
)
from headrace.table._expressions.trees import call, tree_of, type_name
from headrace.table._types.data_types import DataType
from headrace.table._types.sql import to_sql

_WRAPPERS = {
    JsonQueryWrapper.WITHOUT_ARRAY: "WITHOUT",
    JsonQueryWrapper.CONDITIONAL_ARRAY: "WITH CONDITIONAL",
    JsonQueryWrapper.UNCONDITIONAL_ARRAY: "WITH UNCONDITIONAL",
}


def clause(words: str, value: exp.Expr) -> exp.Expr:
    """Return the tree of a clause inside a call."""
    return Clause(this=words, expression=value)


class JsonFunctions(ExpressionTree):
    """Functions of JSON texts."""

    def is_json(self, json_type: JsonType | None = None) -> Self:
        """Return whether a text is JSON, of a kind."""
        kind = "VALUE" if json_type is None else json_type.name
        return self._make(exp.Is(this=tree_of(self), expression=exp.JSON(this=kind)))

    def json_exists(self, path: str, on_error: JsonExistsOnError | None = None) -> Self:
        """Return whether there is a value at a path."""
        clauses = []
        if on_error is not None:
            clauses.append(clause("ON ERROR", exp.Var(this=on_error.name)))
        return self._json("JSON_EXISTS", path, clauses)

    def json_value(
        self,
        path: str,
        returning_type: DataType | None = None,
        on_empty: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_empty: Any = None,
        on_error: JsonValueOnEmptyOrError = JsonValueOnEmptyOrError.NULL,
        default_on_error: Any = None,
    ) -> Self:
        """Return the scalar at a path; as STRING, unless another type is given."""
        kind = STRING if returning_type is None else to_sql(returning_type)
        clauses = [clause("RETURNING", type_name(kind))]
        choices = (("EMPTY", on_empty, default_on_empty), ("ERROR", on_error, default_on_error))
        for event, choice, default in choices:
            given = choice is JsonValueOnEmptyOrError.DEFAULT
            value = tree_of(default) if given else exp.Var(this=choice.name)
            clauses.append(clause(f"ON {event}", value))
        return self._json("JSON_VALUE", path, clauses)

    def json_query(
        self,
        path: str,
        wrapping_behavior: JsonQueryWrapper = JsonQueryWrapper.WITHOUT_ARRAY,
        on_empty: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
        on_error: JsonQueryOnEmptyOrError = JsonQueryOnEmptyOrError.NULL,
    ) -> Self:
        """Return the JSON text at a path."""
        clauses = [clause("WRAPPER", exp.Var(this=_WRAPPERS[wrapping_behavior]))]
        for event, choice in (("EMPTY", on_empty), ("ERROR", on_error)):
            clauses.append(clause(f"ON {event}", exp.Var(this=choice.name.replace("_", " "))))
        return self._json("JSON_QUERY", path, clauses)

    def object_update(self, *kv: Any) -> Self:
        """Return OBJECT_UPDATE."""
        return self._call("OBJECT_UPDATE", *kv)

    def _json(self, name: str, path: str, clauses: list[exp.Expr]) -> Self:
        made = call(name, self, path)
        made.set("expressions", [*made.expressions, *clauses])
        return self._make(made)
