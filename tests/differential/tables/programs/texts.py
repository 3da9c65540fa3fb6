"""Expressions as texts."""

from __future__ import annotations

import decimal
from typing import Any

from pyflink.table import DataTypes
from pyflink.table import expressions as f
from pyflink.table.expression import (
    JsonExistsOnError,
    JsonOnNull,
    JsonQueryOnEmptyOrError,
    JsonQueryWrapper,
    JsonType,
    JsonValueOnEmptyOrError,
    TimeIntervalUnit,
    TimePointUnit,
)
from pyflink.table.expressions import col, lit

a, b, c, d = "a", "b", "c", "d"


def _say(run: Any, *expressions: Any) -> None:
    for each in expressions:
        run.say(str(each))


def operators(run: Any) -> None:
    x, y = col(a), col(b)
    _say(run, x == y, x != y, x < y, x <= y, x > y, x >= y, x & y, x | y, ~x)
    _say(run, x + y, 2 + y, x - y, 2 - y, x * y, 2 * y, x / y, 2 / y, x % y, 2 % y, x**y, 2**y)
    _say(run, -x, abs(x), (x > 1) & (y > 2) & (x < y), (x > 1) | ~(y > 2), x + y * 2 - x)
    _say(run, x.is_null, x.is_not_null, x.is_true, x.is_false, x.is_not_true, x.is_not_false)
    _say(run, x.between(y, col(c)), x.not_between(1, 2), x.in_(y, col(c), 3), x.then(y, 1))
    _say(run, x.if_null(y), x.alias("z"), x.alias("x", "y", "z"), x.asc, x.desc, x.get("f"))
    _say(run, x.get(0), x.at(1), x[2], x.field, x.flatten, x.cardinality, x.element, x.over("w"))
    _say(run, x.like("Jo_n%"), x.like("Jo_n%", "\\"), x.similar("A+"), x.as_argument("arg"))
    _say(run, x.cast(DataTypes.INT()), x.cast(DataTypes.STRING()), x.try_cast(DataTypes.DATE()))
    _say(run, x.cast(DataTypes.DECIMAL(5, 2)), x.cast(DataTypes.ARRAY(DataTypes.INT().not_null())))
    row = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT())])
    _say(run, x.cast(row), x.cast(DataTypes.TIMESTAMP(3)), x.cast(DataTypes.INT().not_null()))


def constants(run: Any) -> None:
    _say(run, lit(1), lit(-1), lit(1.5), lit(-1.5), lit(True), lit("it's"), lit(b"ab"), lit(1e100))
    _say(run, lit(decimal.Decimal("1.20")), lit(10, DataTypes.INT(False)))
    _say(run, lit("x", DataTypes.STRING().not_null()), f.null_of(DataTypes.INT()))
    _say(run, lit(None, DataTypes.INT()), lit(1) + 2, col(a) == "x", col(a) == None)  # noqa: E711


def intervals(run: Any) -> None:
    ten = lit(10)
    _say(run, ten.year, ten.years, ten.quarter, ten.quarters, ten.month, ten.months, ten.week)
    _say(run, ten.weeks, ten.day, ten.days, ten.hour, ten.hours, ten.minute, ten.minutes)
    _say(run, ten.second, ten.seconds, ten.milli, ten.millis, f.row_interval(4))
    _say(run, col(a) + ten.days, col(a).start, col(a).end, col(a).rowtime, col(a).proctime)
    _say(run, f.UNBOUNDED_ROW, f.UNBOUNDED_RANGE, f.CURRENT_ROW, f.CURRENT_RANGE)


def numbers(run: Any) -> None:
    x = col(a)
    _say(run, x.exp, x.log10, x.log2, x.ln, x.log(), x.log(2), x.cosh, x.sinh, x.sin, x.cos, x.tan)
    _say(run, x.cot, x.asin, x.acos, x.atan, x.tanh, x.degrees, x.radians, x.sqrt, x.abs, x.sign)
    _say(run, x.round(2), x.bin, x.hex, x.unhex, x.truncate(3), x.floor(), x.ceil(), f.log(x))
    _say(run, f.log(x, 2), f.pi(), f.e(), f.rand(), f.rand(4), f.rand_integer(4))
    _say(run, f.rand_integer(4, 2), f.atan2(1, x), f.negative(x))


def aggregates(run: Any) -> None:
    x = col(a)
    _say(run, x.sum, x.sum0, x.min, x.max, x.count, x.avg, x.first_value, x.last_value)
    _say(run, x.list_agg(","), x.stddev_pop, x.stddev_samp, x.var_pop, x.var_samp, x.collect)
    _say(run, x.array_agg, x.count.distinct, x.sum.distinct, x.percentile(0.5))
    _say(run, x.percentile(0.5, col(b)), x.percentile(f.array(0.1, 0.5)))
    _say(run, f.lag(x), f.lag(x, 2), f.lag(x, 2, 0), f.lead(x, 1))


def texts(run: Any) -> None:
    x, y = col(a), col(b)
    _say(run, x.starts_with(y), x.ends_with("z"), x.substring(y), x.substring(2, 3), x.substr(2))
    _say(run, x.substr(2, 3), x.trim_leading(), x.trim_trailing(), x.trim(), x.trim("x"))
    _say(run, x.trim_leading("y"), x.replace(y, "z"), x.translate("a", "b"), x.char_length)
    _say(run, x.upper_case, x.lower_case, x.init_cap, x.position(y), x.lpad(4, y), x.rpad(4, y))
    _say(run, x.overlay(y, 6), x.overlay(y, 6, 2), x.regexp(y), x.regexp_count(y))
    _say(run, x.regexp_replace(y, "z"), x.regexp_extract(y), x.regexp_extract(y, 3))
    _say(run, x.regexp_extract_all(y), x.regexp_extract_all(y, 3), x.regexp_instr(y))
    _say(run, x.regexp_substr(y), x.from_base64, x.to_base64, x.ascii, x.chr, x.decode("utf-8"))
    _say(run, x.encode("utf-8"), x.left(2), x.right(2), x.instr(y), x.locate(y), x.locate(y, 2))
    _say(run, x.url_decode(), x.url_encode(), x.parse_url(y), x.parse_url(y, "query"))
    _say(run, x.printf(y, 1), x.ltrim(), x.ltrim(y), x.rtrim(), x.rtrim(y), x.btrim(), x.btrim(y))
    _say(run, x.repeat(3), x.reverse, x.split_index(",", 3), x.str_to_map(), x.elt(y, 1))
    _say(run, x.str_to_map(";", ":"), x.md5, x.sha1, x.sha224, x.sha256, x.sha384, x.sha512)
    _say(run, x.sha2(224), x.split(","), x.json_quote(), x.json_unquote(), x.concat(y))
    _say(run, f.concat(x, y, "z"), f.concat_ws(", ", x, y), f.uuid(), x.inet_aton(), x.inet_ntoa())


def times(run: Any) -> None:
    x = col(a)
    _say(run, x.to_date, x.to_time, x.to_timestamp, x.extract(TimeIntervalUnit.YEAR))
    _say(run, x.floor(TimeIntervalUnit.YEAR), x.ceil(TimeIntervalUnit.MONTH))
    _say(run, x.extract(TimeIntervalUnit.DAY_TO_SECOND))
    _say(run, f.current_date(), f.current_time(), f.current_timestamp(), f.local_time())
    _say(run, f.local_timestamp(), f.current_watermark(x), f.source_watermark())
    _say(run, f.to_date("2018-03-18"), f.to_date("2018-03-18", "yyyy-MM-dd"), f.to_timestamp("1"))
    _say(run, f.to_timestamp("1", "yyyy"), f.to_timestamp_ltz(100), f.to_timestamp_ltz(100, 0))
    _say(run, f.to_timestamp_ltz("x", "yyyy"), f.to_timestamp_ltz("x", "yyyy", "UTC"))
    _say(run, f.temporal_overlaps(lit("2:55:00").to_time, lit(1).hours, x.to_time, lit(2).hours))
    _say(run, f.date_format(x, "%Y"), f.timestamp_diff(TimePointUnit.DAY, x, col(b)))
    _say(run, f.convert_tz("2018-03-14 11:00:00", "UTC", "Asia/Shanghai"), f.from_unixtime(1))
    _say(run, f.from_unixtime(1, "yy"), f.unix_timestamp(), f.unix_timestamp("x"))
    _say(run, f.unix_timestamp("x", "yy"))


def collections(run: Any) -> None:
    x, y = col(a), col(b)
    _say(run, f.array(1, 2, 3), f.row("k", 1), f.map_("k", 1, "l", 2), f.map_from_arrays(x, y))
    _say(run, f.array(x, f.array(y)), x.array_append(1), x.array_contains(1))
    _say(run, x.array_position(1), x.array_prepend(1), x.array_remove(1), x.array_union(y))
    _say(run, x.array_max(), x.array_min(), x.array_except(y))
    _say(run, x.array_intersect(y), x.map_keys, x.map_values, x.map_entries)


def calls(run: Any) -> None:
    x, y = col(a), col(b)
    _say(run, f.call("a.b.c", x), f.call("ABS", x), f.call("f"), f.call_sql("a + 1"), f.col("*"))
    _say(run, f.call_sql("a + 1").alias("z"), f.and_(x, y, col(c)), f.or_(x, y, col(c)))
    _say(run, f.and_(x, y), f.not_(x), f.if_then_else(x, y, 1), f.coalesce(x, y, 1), f.range_(1, 2))
    _say(run, f.with_columns(x, y), f.without_columns(x), f.range_(a, b), f.with_all_columns())
    _say(run, f.with_columns(f.range_(1, 2), "c"), f.current_database())


def json(run: Any) -> None:
    x, text = col(a), lit("{}")
    _say(run, text.is_json(), text.is_json(JsonType.SCALAR), text.json_exists("$.x"))
    _say(run, text.json_exists("$.x", JsonExistsOnError.FALSE), text.json_value("$.x"))
    empty = JsonValueOnEmptyOrError
    _say(run, x.json_value("$.x", DataTypes.INT(), empty.DEFAULT, 42, empty.ERROR, None))
    _say(run, text.json_query("$.x"))
    wrapper, none = JsonQueryWrapper.CONDITIONAL_ARRAY, JsonQueryOnEmptyOrError
    _say(run, text.json_query("$.x", wrapper, none.NULL, none.EMPTY_ARRAY))
    _say(run, f.json_string(x), f.json(x))
    _say(run, f.json_object_agg(JsonOnNull.NULL, "k", x), f.json_array_agg(JsonOnNull.ABSENT, x))
