"""Trees of the grammar as typed expressions.

Errors say the line and column of the node that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql import literals
from headrace.sql.calls import cast, resolve_call, resolve_python_call, unknown_function
from headrace.sql.dialect.nodes import CONCATENATES
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import Expression, Literal, PythonCall
from headrace.sql.functions.table import FUNCTIONS
from headrace.sql.places import PLACED, add_place
from headrace.sql.python_function import Functions, NoFunctions, PythonFunction
from headrace.sql.special_calls import SPECIAL_CALLS
from headrace.sql.types import (
    BOOLEAN,
    STRING,
    CharacterType,
    CharType,
    DateType,
    NullType,
    RowType,
    SqlType,
    TimestampType,
    TimeType,
)

Scope = Callable[[tuple[str, ...]], Expression | None]
"""Gives the column that names mean, as ``(table, column)`` or ``(column,)``; None: none."""

BINARY: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Overlaps: "OVERLAPS",
}

_SYNONYMS = {
    "CHARACTER_LENGTH": "CHAR_LENGTH",
    "CEILING": "CEIL",
    "NOW": "CURRENT_TIMESTAMP",
}
"""Names that mean the same as another."""


class Converter:
    """Makes typed expressions of trees.

    ``scope`` gives the columns. ``functions``: those of users. The resolver extends it: ``other``
    is called for nodes that are no expressions over the columns (aggregate functions, subqueries).
    """

    other_functions: ClassVar[tuple[str, ...]] = ()
    """Names of functions beside those of the table, for suggestions."""

    def __init__(self, scope: Scope, functions: Functions | None = None) -> None:
        self.scope = scope
        self.functions = functions or NoFunctions()

    def expression(self, node: exp.Expr) -> Expression:
        """Return the typed expression of a tree.

        Raises:
            SqlValidationError: an unknown column or function, or types that do not fit.
        """
        try:
            return self._expression(node)
        except PLACED as error:
            add_place(error, node)
            raise

    def other(self, node: exp.Expr) -> Expression:
        """Return the expression of a node that is not known here."""
        if isinstance(node, exp.Anonymous):
            raise unknown_function(_name(node), self.other_functions)
        raise SqlValidationError(f"{_what(node)} is not supported here")

    def sql_type(self, node: exp.Expr) -> SqlType:
        """Return the type that a node of the grammar says."""
        found = node.this
        if not isinstance(found, SqlType):
            raise SqlValidationError(f"{to_sql(node)} is not a type")
        return found

    def _expression(self, node: exp.Expr) -> Expression:
        reader = _READERS.get(type(node).__name__)
        if reader is not None:
            return reader(self, node)
        sign = BINARY.get(type(node))
        if sign is not None:
            return self._call(sign, node.this, node.expression)
        return self.other(node)

    def _call(self, name: str, *nodes: exp.Expr, options: Sequence[str] = ()) -> Expression:
        return resolve_call(name, [self.expression(each) for each in nodes], options)

    def _add(self, node: exp.Expr) -> Expression:
        left, right = self.expression(node.this), self.expression(node.expression)
        if not isinstance(left.type, CharacterType) or not node.meta.get(CONCATENATES):
            return resolve_call("+", [left, right])
        text = right if isinstance(right.type, CharacterType) else cast(right, STRING)
        return resolve_call("||", [left, text])

    # Columns and fields

    def _column(self, node: exp.Column) -> Expression:
        return self._path(tuple(each.name for each in node.parts))

    def _path(self, names: tuple[str, ...]) -> Expression:
        for count in range(len(names), 0, -1):
            found = self.scope(names[:count])
            if found is not None:
                for field in names[count:]:
                    found = self._field(found, field)
                return found
        if len(names) == 1 and names[0].upper() == "PI":
            return resolve_call("PI", [])
        raise SqlValidationError(f"there is no column {'.'.join(names)}")

    def _dot(self, node: exp.Expr) -> Expression:
        if isinstance(node.expression, exp.Identifier):
            return self._field(self.expression(node.this), node.expression.name)
        if isinstance(node.expression, exp.Literal) and not node.expression.is_string:
            row, place = self.expression(node.this), int(node.expression.this)
            if isinstance(row.type, RowType) and 0 <= place < len(row.type.fields):
                return self._field(row, row.type.fields[place].name)
            raise SqlValidationError(f"{row} of type {row.type} has no field {place}")
        if isinstance(node.expression, exp.Anonymous):
            return self._python(self._function_of_path(node), node.expression.expressions)
        return self.other(node)

    def _field(self, row: Expression, name: str) -> Expression:
        if not isinstance(row.type, RowType):
            raise SqlValidationError(f"{row} of type {row.type} has no field {name}")
        fields = [each.name for each in row.type.fields]
        if name not in fields:
            raise SqlValidationError(
                f"the row {row} has no field {name}", where={"fields": ", ".join(fields)}
            )
        return resolve_call("FIELD", [row], (name,))

    # Constants

    def _literal(self, node: exp.Expr) -> Expression:
        text = node.this
        if node.args.get("is_string"):
            # As in Flink, the length of a constant is that of Java's strings.
            return Literal(CharType(len(text.encode("utf-16-le")) // 2, nullable=False), text)
        return literals.number(text)

    def _boolean(self, node: exp.Expr) -> Expression:
        return Literal(BOOLEAN.with_nullable(False), bool(node.this))

    def _null(self, node: exp.Expr) -> Expression:
        return Literal(NullType(), None)

    def _hex(self, node: exp.Expr) -> Expression:
        return literals.hexadecimal(node.this)

    def _typed_literal(self, node: exp.Expr) -> Expression:
        kind, text = self.sql_type(node.args["to"]), node.this.this
        assert isinstance(kind, DateType | TimeType | TimestampType)
        return literals.time(text, kind)

    def _value_literal(self, node: exp.Expr) -> Expression:
        return Literal(self.sql_type(node.args["to"]), node.args["this"])

    def _interval(self, node: exp.Expr) -> Expression:
        unit = node.args["unit"]
        if isinstance(unit, exp.IntervalSpan):
            return literals.interval(node.this.this, unit.this.name, unit.expression.name)
        return literals.interval(node.this.this, unit.name, None)

    # Operators

    def _paren(self, node: exp.Expr) -> Expression:
        return self.expression(node.this)

    def _not(self, node: exp.Expr) -> Expression:
        inside = node.this
        if isinstance(inside, exp.Is):
            return self._is(inside, negated=True)
        return self._call("NOT", inside)

    def _is(self, node: exp.Expr, negated: bool = False) -> Expression:
        what = node.expression
        word = {exp.Null: "NULL", exp.Var: "NULL"}.get(type(what))
        if isinstance(what, exp.Boolean):
            word = "TRUE" if what.this else "FALSE"
        if isinstance(what, exp.JSON):
            found = self._call("IS JSON", node.this, options=(what.this or "VALUE",))
            return resolve_call("NOT", [found]) if negated else found
        assert word is not None, what
        value = self.expression(node.this)
        if isinstance(what, exp.Var) and not isinstance(value.type, type(BOOLEAN)):
            raise SqlValidationError(f"IS UNKNOWN needs a BOOLEAN, not {value.type}")
        return resolve_call(f"IS {'NOT ' if negated else ''}{word}", [value])

    def _and(self, node: exp.Expr) -> Expression:
        kind = type(node)
        parts: list[exp.Expr] = []
        current: exp.Expr = node
        while isinstance(current, kind):
            parts.append(current.expression)
            current = current.this
        parts.append(current)
        return self._call("AND" if kind is exp.And else "OR", *reversed(parts))

    def _negative(self, node: exp.Expr) -> Expression:
        inside = node.this
        if isinstance(inside, exp.Literal) and not inside.args.get("is_string"):
            return literals.number("-" + inside.this)
        return self._call("NEGATE", inside)

    def _between(self, node: exp.Expr) -> Expression:
        name = "BETWEEN SYMMETRIC" if node.args.get("symmetric") else "BETWEEN"
        return self._call(name, node.this, node.args["low"], node.args["high"])

    def _in(self, node: exp.Expr) -> Expression:
        if node.args.get("query") is not None:
            return self.other(node)
        rows = [node.this, *node.expressions]
        if all(isinstance(each, exp.Tuple) for each in rows):
            return self._row_in(*([*map(self.expression, each.expressions)] for each in rows))
        value, *choices = map(self.expression, rows)
        found = resolve_call("IN", [value, *choices])
        fitted = [_as_type_of(value, each) for each in choices]
        return found if fitted == choices else resolve_call("IN", [value, *fitted])

    def _row_in(self, values: list[Expression], *rows: list[Expression]) -> Expression:
        if any(len(row) != len(values) for row in rows):
            raise SqlValidationError(
                f"IN compares a row of {len(values)} values with rows of other lengths"
            )
        equal = [
            resolve_call(
                "AND", [resolve_call("=", [*pair]) for pair in zip(values, row, strict=True)]
            )
            for row in rows
        ]
        return resolve_call("OR", equal) if len(equal) > 1 else equal[0]

    def _like(self, node: exp.Expr) -> Expression:
        name = "LIKE" if isinstance(node, exp.Like) else "SIMILAR TO"
        return self._call(name, node.this, node.expression)

    def _escape(self, node: exp.Expr) -> Expression:
        name = "LIKE" if isinstance(node.this, exp.Like) else "SIMILAR TO"
        return self._call(name, node.this.this, node.this.expression, node.expression)

    def _case(self, node: exp.Expr) -> Expression:
        value = node.this
        arguments: list[Expression] = []
        compared = None if value is None else self.expression(value)
        for branch in node.args["ifs"]:
            condition = self.expression(branch.this)
            if compared is not None:
                condition = resolve_call("=", [compared, condition])
            arguments += [condition, self.expression(branch.args["true"])]
        otherwise = node.args.get("default")
        arguments.append(
            Literal(NullType(), None) if otherwise is None else self.expression(otherwise)
        )
        return resolve_call("CASE", arguments)

    def _cast(self, node: exp.Expr) -> Expression:
        safe = isinstance(node, exp.TryCast)
        return cast(self.expression(node.this), self.sql_type(node.args["to"]), safe=safe)

    # Collections

    def _array(self, node: exp.Expr) -> Expression:
        return self._call("ARRAY", *node.expressions)

    def _map(self, node: exp.Expr) -> Expression:
        keys, values = node.args["keys"].expressions, node.args["values"].expressions
        pairs = [each for pair in zip(keys, values, strict=True) for each in pair]
        return self._call("MAP", *pairs)

    def _tuple(self, node: exp.Expr) -> Expression:
        return self._call("ROW", *node.expressions)

    def _bracket(self, node: exp.Expr) -> Expression:
        return self._call("ITEM", node.this, *node.expressions)

    # Calls

    def _function(self, node: exp.Expr) -> Expression:
        written = _name(node)
        system = self.functions.system_function(written)
        if system is not None:
            return self._python(system, node.expressions)
        name = _SYNONYMS.get(written.upper(), written.upper())
        special = SPECIAL_CALLS.get(name)
        if special is not None and isinstance(node.this, str):
            return special(self, node, name)
        if name in FUNCTIONS and name not in _SIGNS_ONLY:
            return self._call(name, *node.expressions)
        function = self.functions.function((written,))
        if function is not None:
            return self._python(function, node.expressions)
        return self.other(node)

    # Functions of users

    def table_call(self, node: exp.Expr) -> PythonCall:
        """Return the call of a table function of a user.

        Raises:
            SqlValidationError: there is no such function, or it is no table function.
        """
        function: PythonFunction | None
        arguments, row_names = node.expressions, None
        if isinstance(node, exp.Dot):
            function, arguments = self._function_of_path(node), node.expression.expressions
        elif isinstance(node, exp.Anonymous):
            name = _name(node)
            function = self.functions.system_function(name) or self.functions.function((name,))
            if function is None and name.upper() in FUNCTIONS:
                raise SqlValidationError(f"{name.upper()} is not a table function")
        else:
            function, row_names = node.this, node.args.get("row_names")
        if function is None:
            raise unknown_function(_name(node), self.other_functions)
        if function.kind != "table":
            raise SqlValidationError(
                f"{function.name} is not a table function", hint="udtf() makes table functions"
            )
        found = [self.expression(each) for each in arguments]
        return resolve_python_call(function, found, row_names)

    def _function_of_path(self, node: exp.Expr) -> PythonFunction:
        """Return the function of a call such as ``database.function(…)``."""
        names: list[str] = []
        call, inside = node.expression, node.this
        while isinstance(inside, exp.Dot):
            names.insert(0, inside.expression.name)
            inside = inside.this
        path = (inside.name, *names, _name(call))
        function = self.functions.function(path)
        if function is None or not isinstance(inside, exp.Identifier):
            raise SqlValidationError(f"no function has the name {'.'.join(path)}")
        return function

    def _python_call(self, node: exp.Expr) -> Expression:
        return self._python(node.this, node.expressions, node.args.get("row_names"))

    def _python(
        self,
        function: PythonFunction,
        arguments: Sequence[exp.Expr],
        row_names: tuple[str, ...] | None = None,
    ) -> Expression:
        if function.kind in ("aggregate", "table aggregate"):
            raise SqlValidationError(
                f"the {function.kind} function {function.name} is not allowed here"
            )
        if function.kind == "table":
            raise SqlValidationError(
                f"the table function {function.name} is not allowed here",
                hint=f"FROM t, LATERAL TABLE({function.name}(…)) AS f(a), or join_lateral()",
            )
        found = [self.expression(each) for each in arguments]
        return resolve_python_call(function, found, row_names)


_SIGNS_ONLY = frozenset(
    (
        "AND",
        "OR",
        "NOT",
        "IN",
        "BETWEEN",
        "LIKE",
        "CASE",
        "FIELD",
        "ITEM",
        "NEGATE",
        "PLUS",
        "CAST",
        "TRY_CAST",
    )
)
"""Functions of the table that are not called by their names."""

_READERS: dict[str, Callable[[Converter, Any], Expression]] = {
    "Column": Converter._column,
    "Dot": Converter._dot,
    "Literal": Converter._literal,
    "Boolean": Converter._boolean,
    "Null": Converter._null,
    "HexString": Converter._hex,
    "TypedLiteral": Converter._typed_literal,
    "ValueLiteral": Converter._value_literal,
    "Interval": Converter._interval,
    "Paren": Converter._paren,
    "Add": Converter._add,
    "Not": Converter._not,
    "Is": Converter._is,
    "And": Converter._and,
    "Or": Converter._and,
    "Neg": Converter._negative,
    "Between": Converter._between,
    "In": Converter._in,
    "Like": Converter._like,
    "SimilarTo": Converter._like,
    "Escape": Converter._escape,
    "Case": Converter._case,
    "Cast": Converter._cast,
    "TryCast": Converter._cast,
    "Array": Converter._array,
    "Map": Converter._map,
    "Tuple": Converter._tuple,
    "Bracket": Converter._bracket,
    "Anonymous": Converter._function,
    "FunctionCall": Converter._python_call,
}


def _name(node: exp.Expr) -> str:
    return node.this if isinstance(node.this, str) else str(node.this.name)


def _what(node: exp.Expr) -> str:
    words = re.findall("[A-Z][a-z]*", type(node).__name__)
    return " ".join(words).upper()


def _as_type_of(value: Expression, choice: Expression) -> Expression:
    """Convert an item of IN's list to the type on the left, if its type is of another kind.

    So does Flink: ``10 IN (10.5)`` is true.
    """
    wanted, given = value.type, choice.type
    texts = isinstance(wanted, CharacterType) and isinstance(given, CharacterType)
    if wanted.root == given.root or texts or isinstance(wanted, NullType):
        return choice
    return cast(choice, wanted.with_nullable(given.nullable))
