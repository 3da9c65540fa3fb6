"""Tables built step by step; what is printed is PyFlink's output for the same program."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from headrace.common.configuration import Configuration
from headrace.common.typeinfo import Types
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import CatalogError, SqlValidationError, UnsupportedError
from headrace.table import (
    DataTypes,
    EnvironmentSettings,
    ModuleEntry,
    Row,
    Schema,
    StreamTableEnvironment,
    Table,
    TableDescriptor,
    TableEnvironment,
)
from headrace.table.expressions import (
    array,
    call_sql,
    col,
    concat,
    if_then_else,
    lit,
    map_,
    range_,
    row_interval,
    with_columns,
    without_columns,
)
from headrace.table.udf import udf, udtf
from headrace.table.window import Session, Slide, Tumble


@pytest.fixture
def t_env() -> TableEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    settings = EnvironmentSettings.new_instance().with_configuration(configuration).build()
    return TableEnvironment.create(settings)


@pytest.fixture
def table(t_env: TableEnvironment) -> Table:
    rows = [(1, "Hi", 2.5), (2, "Hello", 3.5), (3, "Hi", 1.0)]
    return t_env.from_elements(rows, ["a", "b", "c"])


def columns(table: Table) -> list[str]:
    return str(table.get_resolved_schema()).splitlines()[1:-1]


def rows(table: Table) -> list[Any]:
    with table.execute().collect() as found:
        return [*found]


def test_columns_are_attributes(t_env: TableEnvironment, table: Table) -> None:
    found = table.where(table.b == "Hi").select(table.a, (table.c * 2).alias("d"))
    assert rows(found) == [Row(1, 5.0), Row(3, 2.0)]
    assert "b" in dir(table) and not hasattr(table, "d")
    with pytest.raises(
        AttributeError, match=r"no method and no column 'sort'.*its columns are a, b, c"
    ):
        table.sort  # noqa: B018
    nested = t_env.from_elements([(Row(name="ann"), [1, 2])], DataTypes.ROW([
        DataTypes.FIELD("person", DataTypes.ROW([DataTypes.FIELD("name", DataTypes.STRING())])),
        DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.BIGINT())),
    ]))  # fmt: skip
    assert rows(nested.select(nested.person.name, nested.tags[2])) == [Row("ann", 2)]
    with pytest.raises(TypeError, match="not iterable"):
        iter(nested.tags)


def test_paths_in_a_program_may_be_reserved_words(t_env: TableEnvironment, table: Table) -> None:
    t_env.create_temporary_view("Result", table)
    assert len(rows(t_env.from_path("Result"))) == 3
    assert columns(t_env.from_path("default_database.Result")) == columns(table)
    with pytest.raises(CatalogError, match="`no such` does not exist"):
        t_env.from_path("`no such`")


def test_a_sink_without_a_schema_takes_the_columns_of_the_rows(
    t_env: TableEnvironment, table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    table.select(col("a")).execute_insert(TableDescriptor.for_connector("print").build()).wait()
    assert capsys.readouterr().out.splitlines() == [f"1> +I[{n}]" for n in (1, 2, 3)]
    with pytest.raises(SqlValidationError, match="has no schema"):
        t_env.from_descriptor(TableDescriptor.for_connector("datagen").build())


def test_names_and_types_are_those_of_pyflink(table: Table) -> None:
    found = table.select(
        col("a") + 1, col("b").cast(DataTypes.STRING()), col("a").cast(DataTypes.INT()), lit(1)
    )
    assert columns(found) == [
        "  `_c0` BIGINT,",
        "  `b-STRING` STRING,",
        "  `a-INT` INT,",
        "  `_c3` INT NOT NULL",
    ]
    found = table.select(array(1, 2), map_("a", 1))
    assert columns(found) == [
        "  `_c0` ARRAY<INT NOT NULL> NOT NULL,",
        "  `_c1` MAP<CHAR(1) NOT NULL, INT NOT NULL> NOT NULL",
    ]
    found = table.select(col("a").count, col("a").avg, col("c").sum)
    assert columns(found) == [
        "  `EXPR$0` BIGINT NOT NULL,",
        "  `EXPR$1` BIGINT,",
        "  `EXPR$2` DOUBLE",
    ]


def test_a_stream_is_printed_as_pyflink_prints_it(
    table: Table, capsys: pytest.CaptureFixture[str]
) -> None:
    found = table.group_by(col("b")).select(col("b"), col("a").sum, col("a").max.alias("m"))
    found.execute().print()
    assert capsys.readouterr().out.splitlines() == [
        "+----+--------------------------------+----------------------+----------------------+",
        "| op |                              b |               EXPR$0 |                    m |",
        "+----+--------------------------------+----------------------+----------------------+",
        "| +I |                             Hi |                    1 |                    1 |",
        "| +I |                          Hello |                    2 |                    2 |",
        "| -U |                             Hi |                    1 |                    1 |",
        "| +U |                             Hi |                    4 |                    3 |",
        "+----+--------------------------------+----------------------+----------------------+",
        "4 rows in set",
    ]


def test_columns_are_added_renamed_replaced_and_dropped(table: Table) -> None:
    assert table.add_columns(concat(col("b"), "!"))._names == ["a", "b", "c", "_c3"]
    assert table.rename_columns(col("a").alias("A"))._names == ["A", "b", "c"]
    assert table.drop_columns(col("a"))._names == ["b", "c"]
    replaced = table.add_or_replace_columns((col("a") * 10).alias("a")).select(col("a"))
    assert rows(replaced) == [Row(10), Row(20), Row(30)]
    assert table.select(with_columns(range_(1, 2)))._names == ["a", "b"]
    assert table.select(without_columns("a"))._names == ["b", "c"]
    assert table.alias("x", "y")._names == ["x", "y", "c"]


def test_rows_are_filtered_and_computed(table: Table) -> None:
    kept = table.filter((col("a") > 1) & (col("b") == "Hi")).select(
        if_then_else(col("a") > 1, "x", "yy"), call_sql("a + 2"), ~(col("a") == 3)
    )
    assert rows(kept) == [Row("x", 5, False)]
    both = table.union_all(table).filter(col("a").in_(1, 2)).distinct()
    assert sorted(each[0] for each in rows(both)) == [1, 2]


def test_statements_and_tables_use_each_other(t_env: TableEnvironment, table: Table) -> None:
    t_env.create_temporary_view("v", table)
    assert t_env.list_tables() == ["v"]
    assert rows(t_env.sql_query("SELECT a FROM v WHERE a > 2")) == [Row(3)]
    assert rows(t_env.sql_query(f"SELECT b FROM {table}").fetch(1)) == [Row("Hi")]
    assert rows(t_env.from_path("v").select(col("a").sum0))[-1][0] == 6
    assert t_env.drop_temporary_view("v")
    assert not t_env.drop_temporary_view("v")


def test_a_changelog_becomes_a_frame_of_what_is_left(table: Table) -> None:
    frame = table.group_by(col("b")).select(col("b"), col("a").sum.alias("s")).to_pandas()
    assert dict(zip(frame["b"], frame["s"], strict=True)) == {"Hi": 4, "Hello": 2}


def test_elements_have_schemas(t_env: TableEnvironment) -> None:
    typed = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.TINYINT())])
    assert columns(t_env.from_elements([(1,)], typed)) == ["  `a` TINYINT"]
    with pytest.raises(ValueError, match="field a: object of TinyIntType out of range, got: 300"):
        t_env.from_elements([(300,)], typed)
    with pytest.raises(TypeError, match="field a: TINYINT can not accept object 'x'"):
        t_env.from_elements([("x",)], typed)
    found = t_env.from_elements([(datetime.date(2020, 1, 2), [1, None], {"k": 1.5})])
    assert rows(found) == [Row(datetime.date(2020, 1, 2), [1, None], {"k": 1.5})]


def test_errors_name_what_is_wrong(table: Table) -> None:
    with pytest.raises(SqlValidationError, match="'zz'"):
        table.select(col("zz"))
    with pytest.raises(SqlValidationError, match="Ambiguous column name: a"):
        table.select(col("a"), col("a"))
    with pytest.raises(TypeError, match="takes Expressions"):
        table.select("a")  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="joins"):
        table.join(table)


def test_a_table_becomes_a_stream() -> None:
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    t_env = StreamTableEnvironment.create(env)
    table = t_env.from_elements([(1, "a"), (2, "b")], ["n", "s"])
    stream = t_env.to_data_stream(table.filter(col("n") > 1))
    with stream.map(lambda each: each.s + "!").execute_and_collect() as found:
        assert [*found] == ["b!"]
    counted = table.group_by(col("s")).select(col("s"), col("n").sum.alias("total"))
    with pytest.raises(SqlValidationError, match="rows do not change"):
        t_env.to_data_stream(counted)
    with t_env.to_changelog_stream(counted).execute_and_collect() as found:
        assert sorted(each.total for each in found) == [1, 2]


def test_a_table_is_put_into_windows(t_env: TableEnvironment) -> None:
    t_env.execute_sql(
        "CREATE TABLE clicks (n INT, ts AS TO_TIMESTAMP_LTZ(n * 1000, 3),"
        " WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen', 'number-of-rows' = '10',"
        " 'fields.n.kind' = 'sequence', 'fields.n.start' = '0', 'fields.n.end' = '9')"
    )
    window = Tumble.over(lit(5).seconds).on(col("ts")).alias("w")
    found = (
        t_env.from_path("clicks")
        .window(window)
        .group_by(col("w"))
        .select(col("w").start.alias("start"), col("n").sum.alias("total"))
    )
    assert [each[1] for each in rows(found)] == [10, 35]


def test_plus_puts_texts_together(table: Table, t_env: TableEnvironment) -> None:
    found = table.select(col("b") + "!", col("b") + col("a"), col("b") + col("c") + col("b"))
    assert tuple(rows(found)[0]) == ("Hi!", "Hi1", "Hi2.5Hi")
    with pytest.raises(SqlValidationError, match=r"\+ does not take"):
        table.select(col("a") + col("b"))
    with pytest.raises(SqlValidationError, match=r"\+ does not take"):
        t_env.sql_query("SELECT 'a' + 'b'")


def test_a_system_function_hides_an_operator_in_the_table_api_only(
    table: Table, t_env: TableEnvironment
) -> None:
    t_env.create_temporary_view("t", table)
    plus = udf(lambda one, other: one + other - 1, result_type="BIGINT")
    t_env.create_temporary_function("minus", plus)
    t_env.create_temporary_system_function("plus", plus)
    t_env.create_temporary_system_function(
        "greaterThan", udf(lambda one, other: one < other, result_type="BOOLEAN")
    )
    found = table.where(col("a") > 2).select((col("a") + 10) * 2, col("a") - 1)
    assert [tuple(row) for row in rows(found)] == [(20, 0)]
    assert [tuple(row) for row in rows(t_env.sql_query("SELECT a + 1 FROM t WHERE a > 2"))] == [
        (4,)
    ]


def test_decimals_are_rounded_and_floats_are_given_as_they_were(t_env: TableEnvironment) -> None:
    given = [Decimal("1.25"), Decimal("-1.25"), Decimal("99.95"), None]
    kind = DataTypes.ROW([DataTypes.FIELD("d", DataTypes.DECIMAL(3, 1))])
    table = t_env.from_elements([(each,) for each in given], kind)
    assert [row[0] for row in rows(table)] == [Decimal("1.3"), Decimal("-1.3"), None, None]
    with pytest.raises(ValueError, match="can not accept object"):
        t_env.from_elements([(Decimal("NaN"),)], kind)
    floats = DataTypes.ROW([DataTypes.FIELD("f", DataTypes.FLOAT())])
    numbers = [0.1, -1.23, 3.4e38, 16777216.0, 0.0, float("inf")]
    made = t_env.from_elements([(each,) for each in numbers], floats)
    assert [row[0] for row in rows(made)] == numbers
    assert rows(made.select(col("f").cast(DataTypes.DOUBLE())))[0][0] == 0.10000000149011612


def test_windows_of_a_number_of_rows(t_env: TableEnvironment, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("1,5\n1,6\n2,7\n1,8\n1,9\n2,1\n1,3\n")
    t_env.execute_sql(
        "CREATE TABLE t (k INT, n INT, ts AS TO_TIMESTAMP_LTZ(n, 3), p AS PROCTIME(),"
        f" WATERMARK FOR ts AS ts) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}',"
        " 'format' = 'csv')"
    )
    table = t_env.from_path("t")
    two = Tumble.over(row_interval(2)).on(col("p")).alias("w")
    by_key = table.window(two).group_by(col("k"), col("w"))
    found = by_key.select(col("k"), col("n").sum, col("n").count)
    assert [tuple(row) for row in rows(found)] == [(1, 11, 2), (1, 17, 2), (2, 8, 2)]
    assert "CountWindowAggregate(groupBy=[k], size=[2], slide=[2]" in found.explain()
    slides = Slide.over(row_interval(3)).every(row_interval(2)).on(col("p")).alias("w")
    total = table.window(slides).group_by(col("w")).select(col("n").sum + 1)
    assert [row[0] for row in rows(total)] == [19, 25, 14]
    with pytest.raises(SqlValidationError, match="has no start, end or time"):
        by_key.select(col("w").start)
    with pytest.raises(SqlValidationError, match="needs a time attribute"):
        table.window(Tumble.over(row_interval(2)).on(col("n")).alias("w")).group_by(
            col("w")
        ).select(col("n").sum)
    with pytest.raises(UnsupportedError, match="a number of rows by event time"):
        table.window(Tumble.over(row_interval(2)).on(col("ts")).alias("w")).group_by(
            col("w")
        ).select(col("n").sum)
    with pytest.raises(SqlValidationError, match="are both times, or both rows"):
        Slide.over(row_interval(3)).every(lit(2).seconds).on(col("p")).alias("w")
    with pytest.raises(SqlValidationError, match="positive number of rows"):
        Tumble.over(row_interval(0)).on(col("p")).alias("w")
    with pytest.raises(SqlValidationError, match="the gap of a session is a time"):
        Session.with_gap(row_interval(2))


def test_values_of_a_frame_are_those_of_their_types(t_env: TableEnvironment) -> None:
    frame = pd.DataFrame({"a": np.int8([1]), "b": ["x"]})
    fields = [DataTypes.FIELD("a", DataTypes.DOUBLE()), DataTypes.FIELD("b", DataTypes.STRING())]
    made = t_env.from_pandas(frame, DataTypes.ROW(fields, False))
    assert made.get_schema().to_row_data_type() == DataTypes.ROW(fields, False)
    assert [tuple(row) for row in rows(made)] == [(1.0, "x")]
    with pytest.raises(
        TypeError, match=r"column 'a'.*\(int8\) does not become STRING: Expected a s"
    ):
        t_env.from_pandas(frame, [DataTypes.STRING(), DataTypes.STRING()])
    with pytest.raises(TypeError, match="column 'b'"):
        t_env.from_pandas(frame, [DataTypes.TINYINT(), DataTypes.INT()])
    with pytest.raises(TypeError, match="1 columns are declared for 2"):
        t_env.from_pandas(frame, [DataTypes.TINYINT()])


def test_there_is_one_module(t_env: TableEnvironment) -> None:
    assert t_env.list_full_modules() == [ModuleEntry("core", True)]
    t_env.use_modules("core")
    with pytest.raises(SqlValidationError, match="Module 'core' appears more than once"):
        t_env.use_modules("core", "core")
    with pytest.raises(SqlValidationError, match="No module with name 'hive' exists"):
        t_env.use_modules("core", "hive")
    with pytest.raises(UnsupportedError, match="the functions of no module"):
        t_env.use_modules()


def test_a_plan_says_where_functions_of_users_are(table: Table) -> None:
    double = udf(lambda n: 2 * n, result_type="BIGINT")
    plan = table.where(double(col("a")) > 2).group_by(col("b")).select(col("a").sum).explain()
    assert "PythonCalc(" in plan and "PythonGroupAggregate" not in plan
    every = udtf(lambda n: [n], result_types=["BIGINT"])
    assert "PythonCorrelate(call=" in table.join_lateral(every(col("a")).alias("x")).explain()


def test_a_schema_computes_columns_of_fields_that_are_none() -> None:
    configuration = Configuration()
    configuration.set_string("execution.target", "local")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream_env = StreamTableEnvironment.create(env)
    events = Types.ROW_NAMED(["name", "n", "left"], [Types.STRING(), Types.LONG(), Types.FLOAT()])
    stream = env.from_collection([Row("a", 1, 0.5), Row("b", 2, 0.5)], events)
    schema = (
        Schema.new_builder()
        .column_by_expression("moment", "TO_TIMESTAMP_LTZ(n * 1000, 3)")
        .column("name", "STRING")
        .watermark("moment", "moment - INTERVAL '3' SECOND")
        .build()
    )
    table = stream_env.from_data_stream(stream, schema)
    assert columns(table)[0].startswith("  `moment` TIMESTAMP_LTZ(3) *ROWTIME*")
    found = table.select(col("name"), col("moment").cast(DataTypes.STRING()))
    assert [tuple(row) for row in rows(found)] == [
        ("a", "1970-01-01 00:00:01.000"),
        ("b", "1970-01-01 00:00:02.000"),
    ]
