"""Programs with Python functions in tables, written for PyFlink.

Each gets a table environment, and gives a table or the result of a statement. ``cases.py`` runs
them, also with the first word of their imports changed.
"""

import asyncio
import datetime
import decimal

from pyflink.common import Row
from pyflink.table import DataTypes, ListView, MapView
from pyflink.table.expressions import call, col, lit, with_columns
from pyflink.table.udf import (
    AggregateFunction,
    AsyncScalarFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    udaf,
    udf,
    udtaf,
    udtf,
)

VALUES = (
    "ROW<a INT NOT NULL, b BIGINT, s STRING, d DOUBLE>",
    [(1, 10, "Hi", 2.5), (2, 20, "Hello", None), (3, None, None, -1.0)],
)
TYPES = (
    """
    ROW<bo BOOLEAN, ti TINYINT, si SMALLINT, i INT, bi BIGINT, f FLOAT, d DOUBLE, de DECIMAL(10, 3),
        ch CHAR(3), s STRING, byt BYTES, da DATE, tm TIME(0), t3 TIMESTAMP(3),
        ar ARRAY<INT>, mp MAP<STRING, INT>, ro ROW<a INT, b STRING>>
    """,
    [
        (
            True, 1, 2, 3, 4, 1.5, 2.5, decimal.Decimal("1.250"), "abc", "text", bytearray(b"\1\2"),
            datetime.date(2024, 2, 29), datetime.time(12, 34, 56),
            datetime.datetime(2024, 2, 29, 12, 34, 56, 789000),
            [1, 2], {"k": 1}, Row(1, "x"),
        )
    ],
)  # fmt: skip
NULLS = """
    SELECT NULLIF(bo, bo) AS bo, NULLIF(i, i) AS i, NULLIF(d, d) AS d, NULLIF(de, de) AS de,
        NULLIF(s, s) AS s, NULLIF(da, da) AS da, NULLIF(t3, t3) AS t3,
        ARRAY[1, NULLIF(i, i)] AS ar, MAP['k', NULLIF(i, i)] AS mp
    FROM types
"""


def view(t_env, name="t", given=VALUES):
    """A table that Flink does not know to be constant: of constants it computes too much."""
    kind, rows = given
    table = t_env.from_elements(rows, row_type(kind))
    t_env.create_temporary_view(name, table)
    return t_env.from_path(name)


def row_type(text):
    inside = text.strip()[4:-1]
    depth, parts = 0, [""]
    for letter in inside:
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    fields = (part.strip().partition(" ") for part in parts)
    return DataTypes.ROW([DataTypes.FIELD(name, data_type(kind)) for name, _, kind in fields])


def data_type(text):
    nullable = not text.endswith(" NOT NULL")
    name, _, inside = text.removesuffix(" NOT NULL").replace("<", "(").partition("(")
    inside = inside[:-1]
    match name:
        case "ARRAY":
            return DataTypes.ARRAY(data_type(inside))
        case "MAP":
            return DataTypes.MAP(*map(data_type, inside.split(", ")))
        case "ROW":
            return row_type(text)
    numbers = [int(each) for each in inside.split(", ")] if inside else []
    return getattr(DataTypes, name)(*numbers, nullable=nullable)


def shown(*values):
    return "; ".join(f"{type(value).__name__} {value!r}" for value in values)


told = udf(shown, result_type=DataTypes.STRING(), name="told")


# Calls


def a_lambda(t_env):
    add_one = udf(lambda i: None if i is None else i + 1, result_type=DataTypes.BIGINT())
    return view(t_env).select(col("a"), add_one(col("b")))


def a_decorated_function(t_env):
    @udf(input_types=[DataTypes.BIGINT(), DataTypes.BIGINT()], result_type=DataTypes.BIGINT())
    def add(i, j):
        return None if j is None else i + j

    return view(t_env).select(add(col("a"), col("b")).alias("sum"), add(col("a"), lit(1)))


def a_class_with_open(t_env):
    class Scaled(ScalarFunction):
        def open(self, function_context):
            self.factor = int(function_context.get_job_parameter("factor", "7"))

        def eval(self, value):
            return value * self.factor

    return view(t_env).select(udf(Scaled(), result_type="BIGINT")(col("a")))


def a_callable_object(t_env):
    class Twice:
        def __call__(self, value):
            return value * 2

    return view(t_env).select(udf(Twice(), result_type=DataTypes.INT())(col("a")).alias("x"))


def a_system_function_in_sql(t_env):
    view(t_env)
    t_env.create_temporary_system_function("told", told)
    return t_env.sql_query("SELECT a, told(a, b, s, d) AS x, TOLD(s) FROM t")


def a_system_function_hides_a_built_in_one(t_env):
    view(t_env)
    t_env.create_temporary_system_function("upper", udf(lambda s: f"<{s}>", result_type="STRING"))
    return t_env.sql_query("SELECT UPPER(s) AS x FROM t")


def a_catalog_function_does_not_hide_a_built_in_one(t_env):
    view(t_env)
    t_env.create_temporary_function("upper", udf(lambda s: f"<{s}>", result_type="STRING"))
    return t_env.sql_query("SELECT UPPER(s) AS x FROM t")


def a_catalog_function_by_its_path(t_env):
    view(t_env)
    t_env.create_temporary_function("mark", udf(lambda s: f"<{s}>", result_type="STRING"))
    path = "default_catalog.default_database.mark"
    return t_env.sql_query(f"SELECT mark(s) AS x, {path}(s) AS y FROM t")


def call_by_name(t_env):
    t_env.create_temporary_system_function("mark", udf(lambda s: f"<{s}>", result_type="STRING"))
    return view(t_env).select(call("mark", col("s")), call("MARK", col("a")).alias("x"))


def calls_in_calls(t_env):
    twice = udf(lambda i: i * 2, result_type=DataTypes.INT())
    plus = udf(lambda i, j: i + j, result_type=DataTypes.INT())
    return view(t_env).select(twice(plus(twice(col("a")), col("a") + 1)) + 1)


def of_constants(t_env):
    t_env.create_temporary_system_function("told", told)
    view(t_env)
    return t_env.sql_query(
        "SELECT told(1, 'x', 1.5, 2e0, TRUE, DATE '2024-01-01', CAST(NULL AS INT)) FROM t"
    )


def in_where(t_env):
    even = udf(lambda i: i % 2 == 0, result_type=DataTypes.BOOLEAN())
    table = view(t_env)
    return table.where(even(col("a"))).select(col("a"))


def in_where_null_is_not_true(t_env):
    known = udf(lambda i: None if i is None else i > 10, result_type=DataTypes.BOOLEAN())
    return view(t_env).filter(known(col("b"))).select(col("a"))


def in_a_case(t_env):
    view(t_env)
    t_env.create_temporary_system_function("half", udf(lambda i: i // 2, result_type="INT"))
    return t_env.sql_query("SELECT CASE WHEN half(a) = 1 THEN 'one' ELSE 'other' END FROM t")


def as_a_key(t_env):
    view(t_env)
    t_env.create_temporary_system_function("odd", udf(lambda i: i % 2, result_type="INT"))
    return t_env.sql_query("SELECT odd(a) AS k, COUNT(*), SUM(a) FROM t GROUP BY odd(a)")


def over_a_changelog(t_env):
    view(t_env)
    t_env.create_temporary_system_function("mark", udf(lambda i: f"<{i}>", result_type="STRING"))
    return t_env.sql_query(
        "SELECT k, mark(n) FROM (SELECT a > 1 AS k, COUNT(*) AS n FROM t GROUP BY a > 1)"
    )


def in_a_computed_column_and_a_view(t_env):
    view(t_env)
    t_env.create_temporary_system_function("twice", udf(lambda i: i * 2, result_type="INT"))
    t_env.execute_sql("CREATE TEMPORARY VIEW v AS SELECT a, twice(a) AS x FROM t")
    return t_env.sql_query("SELECT x, x + 1 AS y FROM v WHERE x > 2")


def not_deterministic(t_env):
    calls = udf(lambda: 1, result_type=DataTypes.INT(), deterministic=False)
    return view(t_env).select(calls() + calls(), col("a"))


# Types of arguments


def classes_of_arguments(t_env):
    table = view(t_env, "types", TYPES)
    return table.select(
        *(told(col(each)).alias(each) for each in table.get_schema().get_field_names())
    )


def classes_of_null_arguments(t_env):
    view(t_env, "types", TYPES)
    table = t_env.sql_query(NULLS)
    return table.select(
        *(told(col(each)).alias(each) for each in table.get_schema().get_field_names())
    )


def input_types_widen(t_env):
    wide = udf(shown, input_types=["BIGINT", "DOUBLE"], result_type="STRING")
    return view(t_env).select(wide(col("a"), col("a")))


def input_types_do_not_narrow(t_env):
    narrow = udf(shown, input_types=[DataTypes.INT()], result_type=DataTypes.STRING())
    return view(t_env).select(narrow(col("b")))


def input_types_of_another_kind(t_env):
    narrow = udf(shown, input_types=[DataTypes.STRING()], result_type=DataTypes.STRING())
    return view(t_env).select(narrow(col("a")))


def input_types_of_another_number(t_env):
    narrow = udf(shown, input_types=[DataTypes.INT()], result_type=DataTypes.STRING())
    return view(t_env).select(narrow(col("a"), col("a")))


def an_unknown_function(t_env):
    view(t_env)
    return t_env.sql_query("SELECT nope(a) FROM t")


# Results


def results_of_all_types(t_env):
    view(t_env, "types", TYPES)
    kinds = {
        "bo": "BOOLEAN", "ti": "TINYINT", "si": "SMALLINT", "i": "INT", "bi": "BIGINT",
        "f": "FLOAT", "d": "DOUBLE", "de": "DECIMAL(10, 3)", "ch": "STRING", "s": "STRING",
        "byt": "BYTES", "da": "DATE", "tm": "TIME(0)", "t3": "TIMESTAMP(3)",
        "ar": "ARRAY<INT>", "mp": "MAP<STRING, INT>", "ro": "ROW<a INT, b STRING>",
    }  # fmt: skip
    for name, kind in kinds.items():
        same = udf(lambda value: value, result_type=kind, name=f"same_{name}")
        t_env.create_temporary_system_function(f"same_{name}", same)
    items = ", ".join(f"same_{name}({name}) AS {name}" for name in kinds)
    return t_env.sql_query(f"SELECT {items} FROM types")


def _constant(value, kind):
    def program(t_env):
        return view(t_env).select(udf(lambda a: value, result_type=kind)(col("a")).alias("x"))

    return program


int_for_double = _constant(1, "DOUBLE")
float_for_float = _constant(0.1, "FLOAT")
bool_for_int = _constant(True, "INT")
int_for_boolean = _constant(1, "BOOLEAN")
zero_for_boolean = _constant(0, "BOOLEAN")
float_for_int = _constant(1.5, "INT")
whole_float_for_int = _constant(1.0, "INT")
text_for_int = _constant("1", "INT")
int_for_text = _constant(1, "STRING")
bytes_for_text = _constant(b"x", "STRING")
text_for_bytes = _constant("x", "BYTES")
too_large_for_int = _constant(2**31, "INT")
too_large_for_tinyint = _constant(200, "TINYINT")
null_result = _constant(None, "INT")
null_for_not_null = _constant(None, "INT NOT NULL")
decimal_is_rounded = _constant(decimal.Decimal("1.25"), "DECIMAL(5, 1)")
decimal_is_rounded_half_even = _constant(decimal.Decimal("1.35"), "DECIMAL(5, 1)")
int_for_decimal = _constant(1, "DECIMAL(5, 1)")
float_for_decimal = _constant(1.5, "DECIMAL(5, 1)")
decimal_too_large = _constant(decimal.Decimal("123456"), "DECIMAL(5, 1)")
datetime_for_date = _constant(datetime.datetime(2024, 1, 2, 3, 4), "DATE")
date_for_timestamp = _constant(datetime.date(2024, 1, 2), "TIMESTAMP(3)")
microseconds_are_cut = _constant(datetime.datetime(2024, 1, 2, 3, 4, 5, 678901), "TIMESTAMP(3)")
aware_for_timestamp = _constant(
    datetime.datetime(2024, 1, 2, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    "TIMESTAMP(3)",
)
naive_for_timestamp_ltz = _constant(datetime.datetime(2024, 1, 2, 3), "TIMESTAMP_LTZ(3)")
time_with_microseconds = _constant(datetime.time(1, 2, 3, 456789), "TIME(3)")
tuple_for_array = _constant((1, 2), "ARRAY<INT>")
null_in_array = _constant([1, None], "ARRAY<INT>")
text_in_array_of_int = _constant(["x"], "ARRAY<INT>")
dict_for_map = _constant({"a": 1, "b": None}, "MAP<STRING, INT>")
list_for_map = _constant([("a", 1)], "MAP<STRING, INT>")
tuple_for_row = _constant((1, "x"), "ROW<a INT, b STRING>")
row_without_names = _constant(Row(1, "x"), "ROW<a INT, b STRING>")
row_with_names_in_another_order = _constant(Row(b="x", a=1), "ROW<a INT, b STRING>")
short_tuple_for_row = _constant((1,), "ROW<a INT, b STRING>")
dict_for_row = _constant({"a": 1, "b": "x"}, "ROW<a INT, b STRING>")
long_text_for_varchar = _constant("abcdef", "VARCHAR(3)")
text_longer_than_char = _constant("abcdef", "CHAR(3)")


def a_function_that_raises(t_env):
    return view(t_env).select(udf(lambda a: 1 // (a - 2), result_type="INT")(col("a")))


def a_function_of_another_number_of_arguments(t_env):
    return view(t_env).select(udf(lambda a: a, result_type="INT")(col("a"), col("a")))


# Vectorised functions


def pandas(t_env):
    @udf(result_type=DataTypes.BIGINT(), func_type="pandas")
    def add(i, j):
        return i + j

    return view(t_env).select(add(col("a"), col("a")), add(col("a"), lit(10)))


def pandas_of_nulls(t_env):
    add = udf(lambda i, j: i + j, result_type="DOUBLE", func_type="pandas")
    return view(t_env).select(add(col("a"), col("b")), add(col("d"), col("d")))


def pandas_in_sql_and_in_python_functions(t_env):
    view(t_env)
    twice = udf(lambda i: i * 2, result_type="INT", func_type="pandas")
    t_env.create_temporary_system_function("twice", twice)
    t_env.create_temporary_system_function("mark", udf(lambda s: f"<{s}>", result_type="STRING"))
    return t_env.sql_query("SELECT mark(twice(a)), twice(twice(a)) FROM t WHERE twice(a) > 2")


def pandas_classes_of_arguments(t_env):
    import pandas as pd

    dtypes = udf(
        lambda s: pd.Series([f"{s.dtype} {type(s.iloc[0]).__name__}"] * len(s)),
        result_type=DataTypes.STRING(),
        func_type="pandas",
    )
    table = view(t_env, "types", TYPES)
    names = [each for each in table.get_schema().get_field_names() if each not in ("mp", "ro")]
    return table.select(*(dtypes(col(each)).alias(each) for each in names))


def pandas_results(t_env):
    view(t_env, "types", TYPES)
    kinds = {
        "bo": "BOOLEAN", "ti": "TINYINT", "si": "SMALLINT", "i": "INT", "bi": "BIGINT",
        "f": "FLOAT", "d": "DOUBLE", "de": "DECIMAL(10, 3)", "s": "STRING",
        "byt": "BYTES", "da": "DATE", "tm": "TIME(0)", "t3": "TIMESTAMP(3)", "ar": "ARRAY<INT>",
    }  # fmt: skip
    for name, kind in kinds.items():
        same = udf(lambda value: value, result_type=kind, name=f"same_{name}", func_type="pandas")
        t_env.create_temporary_system_function(f"same_{name}", same)
    items = ", ".join(f"same_{name}({name}) AS {name}" for name in kinds)
    return t_env.sql_query(f"SELECT {items} FROM types")


def pandas_row(t_env):
    import pandas as pd

    split = udf(
        lambda a: pd.DataFrame({"x": a, "y": a * 2}),
        result_type="ROW<x INT, y INT>",
        func_type="pandas",
    )
    return view(t_env).select(split(col("a")).alias("r"))


def pandas_of_another_length(t_env):
    return view(t_env).select(
        udf(lambda s: s[:1], result_type="INT", func_type="pandas", name="head")(col("a"))
    )


def pandas_that_gives_no_series(t_env):
    return view(t_env).select(
        udf(lambda s: 1, result_type="INT", func_type="pandas", name="one")(col("a"))
    )


def pandas_of_another_type(t_env):
    return view(t_env).select(
        udf(lambda s: s.astype(str) + "x", result_type="INT", func_type="pandas")(col("a"))
    )


# Table functions


@udtf(result_types=[DataTypes.INT(), DataTypes.STRING()])
def letters(number, text):
    for letter in text or "":
        yield number, letter


def lateral_table(t_env):
    view(t_env)
    t_env.create_temporary_system_function("letters", letters)
    return t_env.sql_query("SELECT a, x, y FROM t, LATERAL TABLE(letters(a, s)) AS l(x, y)")


def lateral_table_without_names(t_env):
    view(t_env)
    t_env.create_temporary_system_function("letters", letters)
    return t_env.sql_query("SELECT * FROM t, LATERAL TABLE(letters(a, s))")


def left_join_lateral_table(t_env):
    view(t_env)
    t_env.create_temporary_system_function("letters", letters)
    return t_env.sql_query(
        "SELECT a, x, y FROM t LEFT JOIN LATERAL TABLE(letters(a, s)) AS l(x, y) ON TRUE"
    )


def lateral_table_with_a_condition(t_env):
    view(t_env)
    t_env.create_temporary_system_function("letters", letters)
    return t_env.sql_query(
        "SELECT a, y FROM t JOIN LATERAL TABLE(letters(a, s)) AS l(x, y) ON TRUE WHERE y <> 'l'"
    )


def lateral_tables_one_after_the_other(t_env):
    view(t_env)
    t_env.create_temporary_system_function("letters", letters)
    return t_env.sql_query(
        "SELECT y, q FROM t, LATERAL TABLE(letters(a, s)) AS l(x, y),"
        " LATERAL TABLE(letters(x, y)) AS m(p, q) WHERE a = 1"
    )


def join_lateral(t_env):
    return view(t_env).join_lateral(letters(col("a"), col("s")).alias("x", "y"))


def left_outer_join_lateral(t_env):
    return view(t_env).left_outer_join_lateral(letters(col("a"), col("s")).alias("x", "y"))


def join_lateral_by_name(t_env):
    t_env.create_temporary_system_function("letters", letters)
    table = view(t_env)
    return table.join_lateral(call("letters", col("a"), col("s")).alias("x", "y")).select(col("y"))


def join_lateral_of_rows(t_env):
    @udtf(result_types=[DataTypes.INT(), DataTypes.STRING()])
    def of_row(row):
        for letter in row.s or "":
            yield row[0], letter

    return view(t_env).join_lateral(of_row.alias("x", "y"))


def flat_map(t_env):
    return view(t_env).flat_map(letters(col("a"), col("s")))


def flat_map_of_rows(t_env):
    @udtf(result_types="ROW<n INT, t STRING>")
    def of_row(row):
        return [(row.a, row.s), (row[0] + 1, "x")]

    return view(t_env).flat_map(of_row)


def a_table_function_class(t_env):
    class Repeat(TableFunction):
        def open(self, function_context):
            self.mark = "*"

        def eval(self, count):
            return range(count)

    return view(t_env).flat_map(udtf(Repeat(), result_types=DataTypes.INT())(col("a")))


def _results_of(results, kind):
    def program(t_env):
        return view(t_env).flat_map(udtf(lambda a: results, result_types=kind)(col("a")))

    return program


table_function_gives_none = _results_of(None, "INT")
table_function_gives_a_number = _results_of(5, DataTypes.INT())
table_function_gives_a_text = _results_of("abc", DataTypes.STRING())
table_function_gives_a_tuple = _results_of((1, "x"), [DataTypes.INT(), DataTypes.STRING()])
table_function_gives_a_row = _results_of(Row(1, "x"), [DataTypes.INT(), DataTypes.STRING()])
table_function_gives_a_list = _results_of([1, 2], DataTypes.INT())
table_function_gives_a_list_with_null = _results_of([None, 2], DataTypes.INT())
table_function_gives_another_type = _results_of(["x"], DataTypes.INT())


# Rows


def map_to_rows(t_env):
    split = udf(lambda a, b: Row(a + 1, b), result_type="ROW<x INT, y BIGINT>")
    return view(t_env).map(split(col("a"), col("b")))


def map_of_rows(t_env):
    swap = udf(lambda row: Row(row.s, row[0] * 2), result_type="ROW<x STRING, y INT>")
    return view(t_env).map(swap).alias("one", "two")


def map_of_pandas_rows(t_env):
    import pandas as pd

    double = udf(
        lambda rows: pd.DataFrame({"x": rows.a * 2, "y": rows.s}),
        result_type="ROW<x INT, y STRING>",
        func_type="pandas",
    )
    return view(t_env).map(double)


def a_row_as_an_argument(t_env):
    return view(t_env).select(told(with_columns(col("a"), col("s"))))


# Aggregates


class WeightedSum(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def get_value(self, accumulator):
        return accumulator[0]

    def accumulate(self, accumulator, value, weight):
        accumulator[0] += value * weight
        accumulator[1] += weight

    def retract(self, accumulator, value, weight):
        accumulator[0] -= value * weight
        accumulator[1] -= weight

    def get_result_type(self):
        return "BIGINT"

    def get_accumulator_type(self):
        return "ROW<f0 BIGINT, f1 BIGINT>"


class CountAndSum(AggregateFunction):
    def create_accumulator(self):
        return Row(0, 0)

    def get_value(self, accumulator):
        return Row(accumulator[0], accumulator[1])

    def accumulate(self, accumulator, *args):
        accumulator[0] += 1
        accumulator[1] += args[0][0]

    def get_result_type(self):
        return "ROW<n BIGINT, total BIGINT>"

    def get_accumulator_type(self):
        return "ROW<n BIGINT, total BIGINT>"


class Views(AggregateFunction):
    def create_accumulator(self):
        return Row(ListView(), MapView())

    def get_value(self, accumulator):
        texts = sorted(accumulator[1].items())
        return "|".join(accumulator[0]) + str(texts) + str("x" in accumulator[1])

    def accumulate(self, accumulator, *args):
        accumulator[0].add(str(args[0]))
        accumulator[1][str(args[0] % 2)] = args[0]

    def get_result_type(self):
        return DataTypes.STRING()

    def get_accumulator_type(self):
        return DataTypes.ROW(
            [
                DataTypes.FIELD("l", DataTypes.LIST_VIEW(DataTypes.STRING())),
                DataTypes.FIELD("m", DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())),
            ]
        )


def aggregate_of_rows(t_env):
    table = view(t_env)
    grouped = table.group_by((col("a") > 1).alias("k"))
    return grouped.aggregate(udaf(CountAndSum()).alias("n", "total")).select(col("k"), col("total"))


def aggregate_of_a_call(t_env):
    weighted = udaf(WeightedSum())(col("a"), lit(10)).alias("x")
    return view(t_env).aggregate(weighted).select(col("x"), (col("x") + 1).alias("y"))


def aggregate_with_views(t_env):
    return view(t_env).select(udaf(Views())(col("a")).alias("x"))


def aggregates_without_names(t_env):
    pairs = udaf(CountAndSum())
    return view(t_env).group_by((col("a") > 1).alias("k")).aggregate(pairs).select(col("*"))


class Distinct(AggregateFunction):
    """The different texts, in a MapView from whose iterators texts are removed."""

    def create_accumulator(self):
        return Row(MapView())

    def accumulate(self, accumulator, *args):
        accumulator[0][str(args[0])] = 1
        keys = iter(accumulator[0].keys())
        for key in keys:
            if key == "2":
                keys.remove()

    def get_value(self, accumulator):
        return ",".join(sorted(accumulator[0]))

    def get_result_type(self):
        return DataTypes.STRING()

    def get_accumulator_type(self):
        counts = DataTypes.MAP_VIEW(DataTypes.STRING(), DataTypes.BIGINT())
        return DataTypes.ROW([DataTypes.FIELD("m", counts)])


def entries_removed_while_a_map_is_read(t_env):
    return view(t_env).select(udaf(Distinct())(col("a")).alias("x"))


def distinct_arguments(t_env):
    rows = [(1, 10, "Hi", 2.5), (1, 10, "Hi", None), (2, 10, "Hi", None)]
    view(t_env, given=(VALUES[0], rows))
    t_env.create_temporary_function("weighted", udaf(WeightedSum()))
    return t_env.sql_query("SELECT weighted(DISTINCT a, b), weighted(a, b) FROM t")


class Later(AsyncScalarFunction):
    def open(self, function_context):
        self.suffix = "!"

    async def eval(self, value):
        await asyncio.sleep(0.01)
        return None if value is None else value + self.suffix


def an_asynchronous_function(t_env):
    later = udf(Later(), result_type=DataTypes.STRING())
    upper = udf(lambda text: text and text.upper(), result_type=DataTypes.STRING())

    @udf(result_type=DataTypes.BIGINT())
    async def more(number):
        return number + 1

    return view(t_env).select(later(col("s")), later(upper(later(col("s")))), more(more(col("a"))))


class TopTwo(TableAggregateFunction):
    def create_accumulator(self):
        return [None, None]

    def accumulate(self, accumulator, *args):
        found = [each for each in (*accumulator, args[0]) if each is not None]
        accumulator[:] = [*sorted(found, reverse=True)[:2], None, None][:2]

    def emit_value(self, accumulator):
        for place, each in enumerate(accumulator):
            if each is not None:
                yield Row(each, place)

    def get_result_type(self):
        return "ROW<n BIGINT, place INT>"

    def get_accumulator_type(self):
        return "ARRAY<BIGINT>"


def flat_aggregate(t_env):
    table = view(t_env).group_by((col("a") > 1).alias("k"))
    top = udtaf(TopTwo())
    return table.flat_aggregate(top(col("a"))).select(col("k"), col("n"), col("place"))


def flat_aggregate_of_all_rows(t_env):
    top = udtaf(TopTwo())
    found = view(t_env).flat_aggregate(top(col("a") * 2).alias("x", "y"))
    return found.select(col("x") + col("y"))


def an_aggregate_function(t_env):
    weighted = udaf(WeightedSum())
    table = view(t_env)
    return table.group_by(col("a") > 1).select(weighted(col("a"), lit(10)).alias("x"))


def an_aggregate_function_in_sql(t_env):
    view(t_env)
    t_env.create_temporary_function("weighted", udaf(WeightedSum()))
    return t_env.sql_query("SELECT a > 1 AS k, weighted(a, 2) AS x, COUNT(*) FROM t GROUP BY a > 1")


def functions_of_users_are_listed(t_env):
    t_env.create_temporary_system_function("letters", letters)
    t_env.create_temporary_function("Mark", udf(lambda s: s, result_type="STRING"))
    return t_env.execute_sql("SHOW USER FUNCTIONS")


def functions_are_dropped(t_env):
    view(t_env)
    t_env.create_temporary_system_function("letters", letters)
    t_env.create_temporary_function("mark", udf(lambda s: s, result_type="STRING"))
    dropped = (
        t_env.drop_temporary_system_function("letters"),
        t_env.drop_temporary_system_function("letters"),
        t_env.drop_temporary_function("mark"),
        t_env.drop_temporary_function("mark"),
    )
    return t_env.from_elements([dropped], ["a", "b", "c", "d"])
