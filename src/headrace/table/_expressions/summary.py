"""Expressions as Flink's Table API shows them: ``plus(a, 1)``."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from headrace.common._types.java_text import double_text
from headrace.sql.dialect.nodes import (
    Clause,
    Descriptor,
    FunctionCall,
    TypedLiteral,
    TypeName,
    ValueLiteral,
    WindowBorder,
)
from headrace.table._expressions.trees import CALLED, CONSTANT, SQL

_OPERATORS: dict[type[exp.Expr], str] = {
    exp.EQ: "equals",
    exp.NEQ: "notEquals",
    exp.LT: "lessThan",
    exp.LTE: "lessThanOrEqual",
    exp.GT: "greaterThan",
    exp.GTE: "greaterThanOrEqual",
    exp.Add: "plus",
    exp.Sub: "minus",
    exp.Mul: "times",
    exp.Div: "divide",
    exp.Mod: "mod",
    exp.Neg: "minusPrefix",
    exp.Not: "not",
    exp.Array: "array",
    exp.Tuple: "row",
    exp.Bracket: "at",
    exp.Like: "LIKE",
    exp.SimilarTo: "similar",
    exp.In: "in",
    exp.Between: "between",
    exp.Distinct: "distinct",
    Descriptor: "DESCRIPTOR",
}

_NAMES = {
    "AVG": "avg", "COUNT": "count", "MAX": "max", "MIN": "min", "SUM": "sum", "SUM0": "sum0",
    "COLLECT": "collect", "FIRST_VALUE": "first_value", "LAST_VALUE": "last_value",
    "LISTAGG": "listAgg", "IF": "ifThenElse", "UPPER": "upper", "LOWER": "lower",
    "INITCAP": "initCap", "REGEXP": "regexp", "CHR": "chr", "LN": "ln", "LAG": "lag",
    "LEAD": "lead", "TRANSLATE": "TRANSLATE3", "CONCAT_WS": "concat_ws", "LOCALTIME": "localTime",
    "LOCALTIMESTAMP": "localTimestamp", "TIMESTAMPDIFF": "timestampDiff",
    "WITH_COLUMNS": "withColumns", "WITHOUT_COLUMNS": "withoutColumns", "$range": "rangeTo",
}  # fmt: skip
"""Names of calls that differ from the names in SQL."""

_LOWER = frozenset((
    "ABS", "ACOS", "ASCII", "ASIN", "ATAN", "ATAN2", "BIN", "CARDINALITY", "CEIL", "CONCAT", "COS",
    "COSH", "COT", "DECODE", "DEGREES", "E", "ELEMENT", "ENCODE", "EXP", "EXTRACT", "FLATTEN",
    "FLOOR", "HEX", "INSTR", "LEFT", "LOCATE", "LOG", "LOG10", "LOG2", "LPAD", "LTRIM", "MD5",
    "OVERLAY", "PI", "POSITION", "POWER", "RADIANS", "RAND", "REPEAT", "REPLACE", "REVERSE",
    "RIGHT", "ROUND", "RPAD", "RTRIM", "SHA1", "SHA2", "SHA224", "SHA256", "SHA384", "SHA512",
    "SIGN", "SIN", "SINH", "SQRT", "SUBSTR", "SUBSTRING", "TAN", "TANH", "TRIM", "TRUNCATE", "UUID",
))  # fmt: skip
_CAMEL = frozenset((
    "CHAR_LENGTH", "CONVERT_TZ", "CURRENT_DATABASE", "CURRENT_DATE", "CURRENT_TIME",
    "CURRENT_TIMESTAMP", "DATE_FORMAT", "FROM_BASE64", "FROM_UNIXTIME", "PARSE_URL", "RAND_INTEGER",
    "REGEXP_EXTRACT", "REGEXP_REPLACE", "SPLIT_INDEX", "STDDEV_POP", "STDDEV_SAMP", "STR_TO_MAP",
    "TO_BASE64", "TO_DATE", "TO_TIMESTAMP", "UNIX_TIMESTAMP", "VAR_POP", "VAR_SAMP",
))  # fmt: skip
"""Names that are shown in lower case, or in camel case."""


def summary(tree: exp.Expr) -> str:
    """Return the text of an expression."""
    if SQL in tree.meta:
        return f"[{tree.meta[SQL]}]"
    if CONSTANT in tree.meta:
        return f"{'-' if isinstance(tree, exp.Neg) else ''}{summary(tree.this)}"
    special = _SPECIAL.get(type(tree))
    if special is not None:
        return special(tree)
    name = _OPERATORS.get(type(tree))
    return tree.sql() if name is None else _text(name, tree.iter_expressions())


def _text(name: str, arguments: object) -> str:
    return f"{name}({', '.join(map(summary, arguments))})"  # type: ignore[call-overload]


def name_of(function: str) -> str:
    """Return the name of a function of SQL."""
    if function in _NAMES:
        return _NAMES[function]
    if function in _LOWER:
        return function.lower()
    if function in _CAMEL:
        first, *others = function.lower().split("_")
        return first + "".join(map(str.capitalize, others))
    return function


def _literal(tree: exp.Expr) -> str:
    if not tree.is_string:
        number = str(tree.this)
        return double_text(float(number)) if "e" in number else number
    return "'{}'".format(tree.this.replace("'", "''"))


def _call(tree: exp.Expr) -> str:
    given = [*tree.expressions]
    if CALLED in tree.meta:
        return _text(tree.meta[CALLED], given)
    name = name_of(tree.this)
    match tree.this, given:
        case _, [exp.Distinct() as distinct]:
            return f"distinct({_text(name, distinct.expressions)})"
        case "TRIM", [exp.Var(this=side), characters, text]:
            leading, trailing = side != "TRAILING", side != "LEADING"
            start = f"{leading}, {trailing}".lower()
            return f"trim({start}, {summary(characters)}, {summary(text)})"
        case "FLOOR" | "CEIL", [exp.Var() as unit, value]:
            given = [value, unit]
        case "$rows", [count]:
            return summary(count)
    if name.startswith("JSON_") and any(isinstance(each, Clause) for each in given):
        return _json(name, given)
    return _text(name, given)


_JSON_WORDS = {
    "WITHOUT": "WITHOUT_ARRAY",
    "WITH CONDITIONAL": "CONDITIONAL_ARRAY",
    "WITH UNCONDITIONAL": "UNCONDITIONAL_ARRAY",
}


def _json(name: str, given: list[exp.Expr]) -> str:
    """Return a call with clauses: ON NULL comes first, the others last."""
    before: list[str] = []
    after: list[str] = []
    for each in given:
        if not isinstance(each, Clause):
            pair = isinstance(each, exp.JSONKeyValue)
            after += map(summary, (each.this, each.expression) if pair else (each,))
        elif each.this == "ON NULL":
            word = each.expression.name
            if name.endswith("AGG"):
                name = f"{name}_{word}_ON_NULL"
            else:
                before.append(word)
        elif name == "JSON_VALUE" and each.this != "RETURNING":
            value = each.expression
            after += (
                [value.name, "null"] if isinstance(value, exp.Var) else ["DEFAULT", summary(value)]
            )
        else:
            word = summary(each.expression)
            after.append(_JSON_WORDS.get(word, word).replace(" ", "_"))
            if name == "JSON_QUERY" and each.this == "WRAPPER":
                after.insert(-1, "STRING")
    return f"{name}({', '.join([*before, *after])})"


def _is(tree: exp.Expr, negation: str = "") -> str:
    match tree.expression:
        case exp.Null():
            word = f"is{negation}Null"
        case exp.Boolean(this=value):
            word = f"is{negation}{str(value).capitalize()}"
        case exp.JSON(this=kind):
            shown = "" if kind == "VALUE" else f", {kind}"
            return f"IS_JSON({summary(tree.this)}{shown})"
        case _:
            return tree.sql()
    return f"{word}({summary(tree.this)})"


def _not(tree: exp.Expr) -> str:
    inside = tree.this
    if isinstance(inside, exp.Is):
        return _is(inside, "Not")
    if isinstance(inside, exp.Between):
        return _text("notBetween", inside.iter_expressions())
    return f"not({summary(inside)})"


def _joined(name: str) -> Callable[[exp.Expr], str]:
    def text(tree: exp.Expr) -> str:
        """Return AND or OR, with all operands that have no parentheses in one call."""
        parts = [tree.expression]
        while isinstance(tree.this, type(tree)):
            tree = tree.this
            parts.append(tree.expression)
        return _text(name, [tree.this, *reversed(parts)])

    return text


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_shown, value))}]"
    if isinstance(value, str):
        return "'{}'".format(value.replace("'", "''"))
    return "null" if value is None else str(value)


def _alias(tree: exp.Expr) -> str:
    names = tree.meta.get("names", (tree.alias,))
    shown = "".join(f", '{name}'" for name in names)
    return f"as({summary(tree.this)}{shown})"


def _dot(tree: exp.Expr) -> str:
    field = tree.expression
    shown = field.name if isinstance(field, exp.Literal) else f"'{field.name}'"
    return f"get({summary(tree.this)}, {shown})"


def _interval(tree: exp.Expr) -> str:
    """Return the number of months, or of milliseconds."""
    number = tree.this.this
    if tree.args["unit"].this == "MONTH":
        return str(number)
    return str(round(float(number) * 1000))


def _escape(tree: exp.Expr) -> str:
    return _text("LIKE", [*tree.this.iter_expressions(), tree.expression])


def _map(tree: exp.Expr) -> str:
    pairs = zip(tree.args["keys"].expressions, tree.args["values"].expressions, strict=True)
    return _text("map", [each for pair in pairs for each in pair])


def _overlaps(tree: exp.Expr) -> str:
    return _text("temporalOverlaps", [*tree.this.expressions, *tree.expression.expressions])


_SPECIAL: dict[type[exp.Expr], Callable[[exp.Expr], str]] = {
    exp.Column: lambda tree: tree.name,
    exp.Var: lambda tree: tree.name,
    exp.Identifier: lambda tree: f"'{tree.name}'",
    exp.Literal: _literal,
    exp.Boolean: lambda tree: str(tree.this).lower(),
    exp.Null: lambda tree: "null",
    exp.HexString: lambda tree: str([*bytes.fromhex(tree.this)]),
    exp.Interval: _interval,
    exp.Paren: lambda tree: summary(tree.this),
    exp.Anonymous: _call,
    exp.And: _joined("and"),
    exp.Or: _joined("or"),
    exp.Not: _not,
    exp.Is: _is,
    exp.Alias: _alias,
    exp.Dot: _dot,
    exp.Escape: _escape,
    exp.Map: _map,
    exp.Overlaps: _overlaps,
    exp.Ordered: lambda tree: f"{'desc' if tree.args['desc'] else 'asc'}({summary(tree.this)})",
    exp.Cast: lambda tree: f"cast({summary(tree.this)}, {summary(tree.args['to'])})",
    exp.TryCast: lambda tree: f"TRY_CAST({summary(tree.this)}, {summary(tree.args['to'])})",
    exp.Kwarg: lambda tree: f"ASSIGNMENT('{tree.this.name}', {summary(tree.expression)})",
    exp.Window: lambda tree: f"over({summary(tree.this)}, {summary(tree.args['alias'])})",
    TypeName: lambda tree: str(tree.this),
    TypedLiteral: lambda tree: str(tree.this.this),
    ValueLiteral: lambda tree: _shown(tree.args["this"]),
    WindowBorder: lambda tree: f"{tree.args['border'].lower()}({summary(tree.this)})",
    FunctionCall: lambda tree: _text(tree.this.name, tree.expressions),
}
