"""Functions that make expressions: ``col``, ``lit``, ``call`` and others."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from headrace.sql.dialect.nodes import Descriptor
from headrace.sql.parsing import parse_expression
from headrace.table._api.selecting import RANGE, WITH_COLUMNS, WITHOUT_COLUMNS
from headrace.table._expressions import trees
from headrace.table._expressions.constants import literal
from headrace.table._expressions.json import clause
from headrace.table._expressions.symbols import JsonOnNull, TimePointUnit
from headrace.table._expressions.trees import CALLED, SQL, tree_of
from headrace.table._types.data_types import DataType
from headrace.table.expression import Expression

__all__ = [
    "CURRENT_RANGE", "CURRENT_ROW", "UNBOUNDED_RANGE", "UNBOUNDED_ROW",
    "and_", "array", "atan2", "call", "call_sql", "coalesce", "col", "concat", "concat_ws",
    "convert_tz", "current_database", "current_date", "current_time", "current_timestamp",
    "current_watermark", "date_format", "descriptor", "e", "from_unixtime", "if_then_else", "json",
    "json_array", "json_array_agg", "json_object", "json_object_agg", "json_string", "lag", "lead",
    "lit", "local_time", "local_timestamp", "log", "map_", "map_from_arrays", "negative", "not_",
    "null_of", "object_of", "or_", "pi", "rand", "rand_integer", "range_", "row", "row_interval",
    "source_watermark", "temporal_overlaps", "timestamp_diff", "to_date", "to_timestamp",
    "to_timestamp_ltz", "unix_timestamp", "uuid", "with_all_columns", "with_columns",
    "without_columns",
]  # fmt: skip


# The bounds of OVER windows, which over_window() refuses.
UNBOUNDED_ROW: Expression[Any] = Expression(exp.Var(this="UNBOUNDED_ROW"))
UNBOUNDED_RANGE: Expression[Any] = Expression(exp.Var(this="UNBOUNDED_RANGE"))
CURRENT_ROW: Expression[Any] = Expression(exp.Var(this="CURRENT_ROW"))
CURRENT_RANGE: Expression[Any] = Expression(exp.Var(this="CURRENT_RANGE"))


def _function(name: str, *arguments: Any) -> Expression[Any]:
    given = [*arguments]
    while given and given[-1] is None:
        given.pop()
    return Expression(trees.call(name, *given))


def col(name: str) -> Expression[Any]:
    """Return a column; ``*`` stands for all."""
    return Expression(trees.column(name))


def lit(v: Any, data_type: DataType | None = None) -> Expression[Any]:
    """Return a constant, of the type of its value unless one is given."""
    return Expression(literal(v, data_type))


def null_of(data_type: DataType) -> Expression[Any]:
    """Return NULL of a type."""
    return Expression(literal(None, data_type))


def range_(start: str | int, end: str | int) -> Expression[Any]:
    """Return the columns from one to another, for ``with_columns``."""
    ends = [trees.column(each) if isinstance(each, str) else tree_of(each) for each in (start, end)]
    return Expression(exp.Anonymous(this=RANGE, expressions=ends))


def with_all_columns() -> Expression[Any]:
    """Return all columns."""
    return col("*")


def with_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return some columns, by names, numbers from 1, and ranges."""
    return _function(WITH_COLUMNS, head, *tails)


def without_columns(head: Any, *tails: Any) -> Expression[Any]:
    """Return all columns but some."""
    return _function(WITHOUT_COLUMNS, head, *tails)


def and_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Return whether all conditions are true."""
    return Expression(trees.joined(exp.And, (predicate0, predicate1, *predicates)))


def or_(predicate0: Any, predicate1: Any, *predicates: Any) -> Expression[bool]:
    """Return whether a condition is true."""
    return Expression(trees.joined(exp.Or, (predicate0, predicate1, *predicates)))


def not_(expression: Expression[bool]) -> Expression[bool]:
    """Return whether a condition is false."""
    return Expression(exp.Not(this=exp.Paren(this=tree_of(expression))))


def if_then_else(condition: Any, if_true: Any, if_false: Any) -> Expression[Any]:
    """Return one value where a condition is true, and another one elsewhere."""
    return _function("IF", condition, if_true, if_false)


def coalesce(*args: Any) -> Expression[Any]:
    """Return the first value that is not NULL."""
    return Expression(trees.call("COALESCE", *args))


def negative(v: Any) -> Expression[Any]:
    """Return the number with the other sign."""
    return Expression(exp.Neg(this=tree_of(v)))


# Times


def current_database() -> Expression[str]:
    """Return the name of the current database."""
    return _function("CURRENT_DATABASE")


def current_date() -> Expression[Any]:
    """Return today's date."""
    return _function("CURRENT_DATE")


def current_time() -> Expression[Any]:
    """Return the time of day."""
    return _function("CURRENT_TIME")


def current_timestamp() -> Expression[Any]:
    """Return the moment."""
    return _function("CURRENT_TIMESTAMP")


def current_watermark(rowtimeAttribute: Any) -> Expression[Any]:
    """Return the watermark."""
    return _function("CURRENT_WATERMARK", rowtimeAttribute)


def local_time() -> Expression[Any]:
    """Return the time of day in the session's time zone."""
    return _function("LOCALTIME")


def local_timestamp() -> Expression[Any]:
    """Return the date and time of day in the session's time zone."""
    return _function("LOCALTIMESTAMP")


def source_watermark() -> Expression[Any]:
    """Return the watermark of the source, for a Schema."""
    return _function("SOURCE_WATERMARK")


def to_date(date_str: Any, format: Any = None) -> Expression[Any]:
    """Return a text as a DATE."""
    return _function("TO_DATE", date_str, format)


def to_timestamp(timestamp_str: Any, format: Any = None) -> Expression[Any]:
    """Return a text as a TIMESTAMP(3)."""
    return _function("TO_TIMESTAMP", timestamp_str, format)


def to_timestamp_ltz(*args: Any) -> Expression[Any]:
    """Return a number or a text as a TIMESTAMP_LTZ."""
    return _function("TO_TIMESTAMP_LTZ", *args)


def temporal_overlaps(
    left_time_point: Any, left_temporal: Any, right_time_point: Any, right_temporal: Any
) -> Expression[bool]:
    """Return whether two spans of time have a moment in common."""
    left, right = (
        exp.Tuple(expressions=[tree_of(first), tree_of(last)])
        for first, last in (
            (left_time_point, left_temporal),
            (right_time_point, right_temporal),
        )
    )
    return Expression(exp.Overlaps(this=left, expression=right))


def date_format(timestamp: Any, format: Any) -> Expression[str]:
    """Return a time as a text."""
    return _function("DATE_FORMAT", timestamp, format)


def timestamp_diff(
    time_point_unit: TimePointUnit, time_point1: Any, time_point2: Any
) -> Expression[int]:
    """Return how many units are between two times."""
    return Expression(trees.units("TIMESTAMPDIFF", time_point_unit.name, time_point1, time_point2))


def convert_tz(date_str: Any, tz_from: Any, tz_to: Any) -> Expression[str]:
    """Return a time, as a text, in another time zone."""
    return _function("CONVERT_TZ", date_str, tz_from, tz_to)


def from_unixtime(unixtime: Any, format: Any = None) -> Expression[str]:
    """Return seconds since 1970 as a text."""
    return _function("FROM_UNIXTIME", unixtime, format)


def unix_timestamp(date_str: Any = None, format: Any = None) -> Expression[int]:
    """Return a time as seconds since 1970."""
    return _function("UNIX_TIMESTAMP", date_str, format)


# Values


def array(head: Any, *tail: Any) -> Expression[Any]:
    """Return an array of elements."""
    return Expression(exp.Array(expressions=[*map(tree_of, (head, *tail))]))


def row(head: Any, *tail: Any) -> Expression[Any]:
    """Return a row of values."""
    return Expression(exp.Tuple(expressions=[*map(tree_of, (head, *tail))]))


def map_(key: Any, value: Any, *tail: Any) -> Expression[Any]:
    """Return a map of keys and values, which follow each other."""
    given = [*map(tree_of, (key, value, *tail))]
    if len(given) % 2:
        raise ValueError("map_() has a value for each key")
    keys, values = exp.Array(expressions=given[::2]), exp.Array(expressions=given[1::2])
    return Expression(exp.Map(keys=keys, values=values))


def map_from_arrays(key: Any, value: Any) -> Expression[Any]:
    """Return a map of an array of keys and one of values."""
    return _function("MAP_FROM_ARRAYS", key, value)


def descriptor(*column_names: str) -> Expression[Any]:
    """Return the names of columns, for a table function."""
    names = [exp.Identifier(this=each, quoted=True) for each in column_names]
    return Expression(Descriptor(expressions=names))


def object_of(class_name: str, *args: Any) -> Expression[Any]:
    """Return OBJECT_OF, which is refused when it is planned."""
    return _function("OBJECT_OF", class_name, *args)


def row_interval(rows: int) -> Expression[Any]:
    """Return a number of rows, as the length of a window."""
    return Expression(exp.Anonymous(this="$rows", expressions=[tree_of(rows)]))


def pi() -> Expression[float]:
    """Return the number pi."""
    return _function("PI")


def e() -> Expression[float]:
    """Return the number e."""
    return _function("E")


def rand(seed: Any = None) -> Expression[float]:
    """Return a random number between 0 and 1."""
    return _function("RAND", seed)


def rand_integer(bound: Any, seed: Any = None) -> Expression[int]:
    """Return a random integer below a bound."""
    return _function("RAND_INTEGER", *((bound,) if seed is None else (seed, bound)))


def atan2(y: Any, x: Any) -> Expression[float]:
    """Return the angle of a point."""
    return _function("ATAN2", y, x)


def log(v: Any, base: Any = None) -> Expression[float]:
    """Return the logarithm; to base e unless another is given."""
    return _function("LOG", v) if base is None else _function("LOG", base, v)


def uuid() -> Expression[str]:
    """Return a random UUID."""
    return _function("UUID")


def concat(first: Any, *others: Any) -> Expression[str]:
    """Return texts one after the other."""
    return _function("CONCAT", first, *others)


def concat_ws(separator: Any, first: Any, *others: Any) -> Expression[str]:
    """Return texts one after the other, with a separator between them."""
    return _function("CONCAT_WS", separator, first, *others)


# JSON


def json(value: Any) -> Expression[Any]:
    """Return a JSON text as a value for ``json_object`` and ``json_array``."""
    return _function("JSON", value)


def json_string(value: Any) -> Expression[str]:
    """Return a value as JSON."""
    return _function("JSON_STRING", value)


def json_object(on_null: JsonOnNull = JsonOnNull.NULL, *args: Any) -> Expression[str]:
    """Return a JSON object of keys and values, which follow each other."""
    given = [*map(tree_of, args)]
    pairs: list[exp.Expr] = [
        exp.JSONKeyValue(this=key, expression=value)
        for key, value in zip(given[::2], given[1::2], strict=True)
    ]
    return _json("JSON_OBJECT", pairs, on_null)


def json_object_agg(on_null: JsonOnNull, key_expr: Any, value_expr: Any) -> Expression[str]:
    """Return a JSON object of the keys and values of a group's rows."""
    pair = exp.JSONKeyValue(this=tree_of(key_expr), expression=tree_of(value_expr))
    return _json("JSON_OBJECTAGG", [pair], on_null)


def json_array(on_null: JsonOnNull = JsonOnNull.ABSENT, *args: Any) -> Expression[str]:
    """Return a JSON array of values."""
    return _json("JSON_ARRAY", [*map(tree_of, args)], on_null)


def json_array_agg(on_null: JsonOnNull, item_expr: Any) -> Expression[str]:
    """Return a JSON array of the values of a group's rows."""
    return _json("JSON_ARRAYAGG", [tree_of(item_expr)], on_null)


def _json(name: str, arguments: list[exp.Expr], on_null: JsonOnNull) -> Expression[str]:
    on = clause("ON NULL", exp.Var(this=on_null.name))
    return Expression(exp.Anonymous(this=name, expressions=[*arguments, on]))


# Calls


def lag(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """Return the value some rows before, in an OVER window."""
    return _function("LAG", expr, offset, default)


def lead(expr: Any, offset: Any = 1, default: Any = None) -> Expression[Any]:
    """Return the value some rows after, in an OVER window."""
    return _function("LEAD", expr, offset, default)


def call(f: Any, *args: Any) -> Expression[Any]:
    """Return the call of a function: by its name, or of what ``udf`` or ``udtf`` returned.

    Raises:
        TypeError: ``f`` is neither.
    """
    if isinstance(f, str):
        called = trees.call(f, *args)
        called.meta[CALLED] = f
        return Expression(called)
    if not hasattr(f, "_definition"):
        raise TypeError(f"call() takes a name, or what udf() returns, not {f!r}")
    made: Expression[Any] = f(*args)
    return made


def call_sql(sql_expression: str) -> Expression[Any]:
    """Return the expression of a text of SQL."""
    tree = parse_expression(sql_expression)
    tree.meta[SQL] = sql_expression
    return Expression(tree)
