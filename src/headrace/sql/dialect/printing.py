"""Writes trees as SQL, by sqlglot's generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, NormalizationStrategy
from sqlglot.generator import Generator
from sqlglot.tokens import Tokenizer

from headrace.sql.dialect.nodes import (
    Clause,
    Descriptor,
    JoinTree,
    RowPattern,
    TableArgument,
    TypedLiteral,
    TypeName,
)
from headrace.sql.dialect.words import NAMES_OF_CURRENT
from headrace.sql.types import DateType, TimestampLtzType, TimeType


def to_sql(tree: exp.Expr) -> str:
    """Return a tree as a text that is read as the same tree; all names are in backticks."""
    return tree.sql(dialect=Flink, identify=True, normalize_functions=False, comments=False)


def _table_argument(self: Generator, node: exp.Expr) -> str:
    keys = self.expressions(node, key="partition_by", flat=True)
    order = node.args.get("order")
    partition = f" PARTITION BY ({keys})" if keys else ""
    ordering = f" ORDER BY ({self.expressions(order, flat=True)})" if order else ""
    return f"TABLE {self.sql(node, 'this')}{partition}{ordering}"


def _typed_literal(self: Generator, node: exp.Expr) -> str:
    match node.args["to"].args["this"]:
        case DateType():
            word = "DATE"
        case TimeType():
            word = "TIME"
        case TimestampLtzType():
            word = "TIMESTAMP WITH LOCAL TIME ZONE"
        case _:
            word = "TIMESTAMP"
    return f"{word} {self.sql(node, 'this')}"


def _clause(self: Generator, node: exp.Expr) -> str:
    words = node.args["this"]
    value = node.args["expression"]
    written = self.sql(value)
    if words == "RETURNING":
        return f"RETURNING {written}"
    if words in ("WRAPPER", "NULLS"):
        return f"{written} {words}"
    given = written if isinstance(value, exp.Var) else f"DEFAULT {written}"
    return f"{given} {words}"


_BETWEEN_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "EXTRACT": ("", " FROM "),
    "FLOOR": ("", " TO "),
    "CEIL": ("", " TO "),
    "CEILING": ("", " TO "),
    "OVERLAY": ("", " PLACING ", " FROM ", " FOR "),
    "POSITION": ("", " IN ", " FROM "),
}
"""What stands before each argument of functions that have words instead of commas."""


def _call(self: Generator, node: exp.Expr) -> str:
    name = node.args["this"]
    written = name if isinstance(name, str) else self.sql(name)
    upper = name.upper() if isinstance(name, str) else ""
    if upper in NAMES_OF_CURRENT and not node.expressions:
        return written
    return f"{written}({_arguments(self, upper, node.expressions)})"


def _arguments(self: Generator, upper: str, arguments: list[exp.Expr]) -> str:
    if upper in _BETWEEN_ARGUMENTS:
        words = _BETWEEN_ARGUMENTS[upper]
        written = "".join(
            word + self.sql(each) for word, each in zip(words, arguments, strict=False)
        )
    elif upper == "TRIM" and len(arguments) == 3:
        side, what, text = map(self.sql, arguments)
        written = f"{side} {what} FROM {text}"
    else:
        values = [self.sql(each) for each in arguments if not isinstance(each, Clause)]
        clauses = [self.sql(each) for each in arguments if isinstance(each, Clause)]
        written = " ".join([", ".join(values), *clauses]).strip()
    return written


def _not(self: Generator, node: exp.Expr) -> str:
    inside = node.this
    match inside:
        case exp.Is() if node.arg_key != "expression":
            return f"{self.sql(inside, 'this')} IS NOT {self.sql(inside, 'expression')}"
        case exp.In():
            return _in(self, inside, "NOT ")
        case exp.Between():
            return _between(self, inside, "NOT ")
        case exp.Like() | exp.SimilarTo() | exp.Escape():
            return _like(self, inside, "NOT ")
    return f"NOT {self.sql(inside)}"


def _like(self: Generator, node: exp.Expr, negation: str = "") -> str:
    if isinstance(node, exp.Escape):
        return f"{_like(self, node.this, negation)} ESCAPE {self.sql(node, 'expression')}"
    word = "LIKE" if isinstance(node, exp.Like) else "SIMILAR TO"
    return f"{self.sql(node, 'this')} {negation}{word} {self.sql(node, 'expression')}"


def _between(self: Generator, node: exp.Expr, negation: str = "") -> str:
    symmetric = "SYMMETRIC " if node.args.get("symmetric") else ""
    this, low, high = (self.sql(node, each) for each in ("this", "low", "high"))
    return f"{this} {negation}BETWEEN {symmetric}{low} AND {high}"


def _values(self: Generator, node: exp.Expr) -> str:
    rows = [
        self.sql(row.expressions[0] if isinstance(row.expressions[0], exp.Subquery) else row)
        if len(row.expressions) == 1
        else self.sql(row)
        for row in node.expressions
    ]
    written = self.prepend_ctes(node, f"VALUES {', '.join(rows)}")
    return written + "".join(self.sql(node, each) for each in ("order", "limit", "offset"))


def _within_group(self: Generator, node: exp.Expr) -> str:
    order = f"ORDER BY {self.expressions(node.args['expression'], flat=True)}"
    return f"{self.sql(node, 'this')} WITHIN GROUP ({order})"


def _row_pattern(self: Generator, node: exp.Expr) -> str:
    alias = node.args.get("alias")
    name = f" AS {self.sql(alias)}" if alias else ""
    return f"{self.sql(node, 'this')} MATCH_RECOGNIZE ({node.args['text']}){name}"


def _join_tree(self: Generator, node: exp.Expr) -> str:
    joins = self.expressions(node, key="joins", sep="", flat=True)
    return f"({self.sql(node, 'this')}{joins})"


def _table(self: Generator, node: exp.Expr) -> str:
    called = isinstance(node.this, exp.Anonymous | exp.Dot)
    parts = [node.args.get(each) for each in ("catalog", "db", "this")]
    written = ".".join(self.sql(each) for each in parts if each)
    if called:
        written = f"TABLE({written})"
    if hints := node.args.get("hints"):
        written += f" /*+ {', '.join(map(self.sql, hints))} */"
    if version := node.args.get("version"):
        written += f" FOR SYSTEM_TIME AS OF {self.sql(version, 'expression')}"
    return written + _alias(self, node)


def _alias(self: Generator, node: exp.Expr) -> str:
    alias = node.args.get("alias")
    return f" AS {self.sql(alias)}" if alias else ""


def _lateral(self: Generator, node: exp.Expr) -> str:
    inside = self.sql(node, "this")
    called = isinstance(node.this, exp.Anonymous | exp.Dot)
    written = f"TABLE({inside})" if called else inside
    return f"LATERAL {written}{_alias(self, node)}"


def _unnest(self: Generator, node: exp.Expr) -> str:
    numbered = " WITH ORDINALITY" if node.args.get("offset") else ""
    inside = self.expressions(node, flat=True)
    return f"UNNEST({inside}){numbered}{_alias(self, node)}"


def _interval(self: Generator, node: exp.Expr) -> str:
    precision = node.meta.get("precision")
    unit = node.args["unit"]
    first, *rest = [unit.this, unit.expression] if isinstance(unit, exp.IntervalSpan) else [unit]
    written = self.sql(first) + ("" if precision is None else f"({precision})")
    return " ".join(
        ["INTERVAL", self.sql(node, "this"), written, *(f"TO {self.sql(each)}" for each in rest)]
    )


def _in(self: Generator, node: exp.Expr, negation: str = "") -> str:
    query = node.args.get("query")
    inside = self.sql(query, "this") if query else self.expressions(node, flat=True)
    return f"{self.sql(node, 'this')} {negation}IN ({inside})"


def _map(self: Generator, node: exp.Expr) -> str:
    pairs = zip(node.args["keys"].expressions, node.args["values"].expressions, strict=True)
    inside = ", ".join(f"{self.sql(key)}, {self.sql(value)}" for key, value in pairs)
    return f"MAP[{inside}]"


def _quantified(self: Generator, node: exp.Expr) -> str:
    word = "ALL" if isinstance(node, exp.All) else "ANY"
    inside = node.this.this if isinstance(node.this, exp.Subquery) else None
    values = self.sql(inside) if inside else self.expressions(node.this, flat=True)
    return f"{word} ({values})"


def _binary(symbol: str) -> Callable[[Generator, exp.Expr], str]:
    return lambda self, node: f"{self.sql(node, 'this')} {symbol} {self.sql(node, 'expression')}"


class Flink(Dialect):
    """Flink's SQL as a dialect of sqlglot: texts are read by the grammar of this package."""

    NORMALIZATION_STRATEGY = NormalizationStrategy.CASE_SENSITIVE
    TYPED_DIVISION = True
    SAFE_DIVISION = False
    NULL_ORDERING = "nulls_are_small"

    def parse(self, sql: str, **opts: Any) -> list[exp.Expr | None]:
        """Return the trees of the queries of a text."""
        from headrace.sql.dialect.statements import StatementReader
        from headrace.sql.statements import Query

        found = StatementReader(sql).statements()
        return [each.tree if isinstance(each, Query) else None for each in found]

    class Tokenizer(Tokenizer):
        """Only says how names are quoted."""

        IDENTIFIERS: ClassVar[list[str | tuple[str, str]]] = ["`"]

    class Generator(Generator):
        """Writes trees."""

        TRANSFORMS: ClassVar[dict[Any, Any]] = {
            **Generator.TRANSFORMS,
            Clause: _clause,
            Descriptor: lambda self, node: f"DESCRIPTOR({self.expressions(node, flat=True)})",
            JoinTree: _join_tree,
            RowPattern: _row_pattern,
            TableArgument: _table_argument,
            TypeName: lambda self, node: str(node.args["this"]),
            TypedLiteral: _typed_literal,
            exp.All: _quantified,
            exp.Anonymous: _call,
            exp.Any: _quantified,
            exp.Between: _between,
            exp.Div: _binary("/"),
            exp.Escape: _like,
            exp.Like: _like,
            exp.Not: _not,
            exp.SimilarTo: _like,
            exp.Values: _values,
            exp.Array: lambda self, node: f"ARRAY[{self.expressions(node, flat=True)}]",
            exp.HexString: lambda self, node: f"X'{node.this}'",
            exp.In: _in,
            exp.Interval: _interval,
            exp.JSONKeyValue: lambda self, node: (
                f"KEY {self.sql(node, 'this')} VALUE {self.sql(node, 'expression')}"
            ),
            exp.Lateral: _lateral,
            exp.Map: _map,
            exp.Mod: _binary("%"),
            exp.Table: _table,
            exp.TryCast: lambda self, node: (
                f"TRY_CAST({self.sql(node, 'this')} AS {self.sql(node, 'to')})"
            ),
            exp.Unnest: _unnest,
            exp.WithinGroup: _within_group,
        }
