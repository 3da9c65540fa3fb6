"""Aggregate functions of users: in GROUP BY, over rows that change, in windows, and in a batch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from headrace.common.configuration import Configuration
from headrace.errors import SqlValidationError, TypeMismatchError, UnsupportedError
from headrace.table import EnvironmentSettings, Row, TableEnvironment
from headrace.table.expressions import call, col, lit
from headrace.table.udf import (
    AggregateFunction,
    FunctionContext,
    TableAggregateFunction,
    udaf,
    udtaf,
)
from headrace.table.window import Tumble

ROWS = [("a", 1, 0), ("b", 2, 10), ("a", 3, 20), ("a", 5, 70), ("b", 4, 75), ("a", 1, 200)]


class Longest(AggregateFunction[str, Any]):
    """The sum of numbers as a text, with what it was opened with."""

    mark = "?"
    closed = 0

    def open(self, function_context: FunctionContext) -> None:
        self.mark = function_context.get_job_parameter("mark", "=")

    def close(self) -> None:
        type(self).closed += 1

    def create_accumulator(self) -> Row:
        return Row(0, [])

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        (value,) = args
        accumulator[0] += value
        accumulator[1].append(value)

    def retract(self, accumulator: Row, *args: Any) -> None:
        (value,) = args
        accumulator[0] -= value
        accumulator[1].remove(value)

    def merge(self, accumulator: Row, accumulators: Any) -> None:
        for each in accumulators:
            accumulator[0] += each[0]
            accumulator[1].extend(each[1])

    def get_value(self, accumulator: Row) -> str:
        return f"{'+'.join(map(str, sorted(accumulator[1])))}{self.mark}{accumulator[0]}"

    def get_result_type(self) -> str:
        return "STRING"


class OnlyAdds(AggregateFunction[int, list[int]]):
    """Counts; it can neither retract nor merge."""

    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator[0] += 1

    def get_value(self, accumulator: list[int]) -> int:
        return accumulator[0]


def environment(folder: Path, batch: bool = False) -> TableEnvironment:
    config = Configuration()
    config.set_string("execution.target", "local")
    made = EnvironmentSettings.new_instance().with_configuration(config)
    env = TableEnvironment.create(
        (made.in_batch_mode() if batch else made.in_streaming_mode()).build()
    )
    lines = [f"{k},{n},2026-01-01 00:{at // 60:02}:{at % 60:02}" for k, n, at in ROWS]
    (folder / "rows").mkdir()
    (folder / "rows" / "part.csv").write_text("\n".join(lines) + "\n")
    env.execute_sql(
        "CREATE TABLE t (k STRING, n INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)"
        f" WITH ('connector' = 'filesystem', 'path' = '{folder}/rows', 'format' = 'csv')"
    )
    env.create_temporary_function("longest", Longest())
    env.create_temporary_function("counted", udaf(OnlyAdds(), result_type="BIGINT"))
    spread = udaf(lambda n: n.max() - n.min(), result_type="INT", func_type="pandas", name="spread")
    env.create_temporary_function("spread", spread)
    return env


def folded(env: TableEnvironment, query: str) -> list[tuple[Any, ...]]:
    table: Counter[tuple[Any, ...]] = Counter()
    with env.execute_sql(query).collect() as rows:
        for row in rows:
            added = row.get_row_kind().name in ("INSERT", "UPDATE_AFTER")
            table[tuple(row._values)] += 1 if added else -1
            assert table[tuple(row._values)] >= 0
    return sorted(table.elements())


@pytest.mark.parametrize("batch", [False, True])
def test_groups(tmp_path: Path, batch: bool) -> None:
    env = environment(tmp_path, batch)
    query = "SELECT k, longest(n), counted(n), COUNT(*) FROM t GROUP BY k"
    assert folded(env, query) == [("a", "1+1+3+5=10", 4, 4), ("b", "2+4=6", 2, 2)]
    assert Longest.closed > 0


def test_rows_that_change(tmp_path: Path) -> None:
    env = environment(tmp_path)
    sums = "SELECT k, SUM(n) AS s FROM t GROUP BY k"
    assert folded(env, f"SELECT longest(s) FROM ({sums})") == [("6+10=16",)]
    with pytest.raises(UnsupportedError, match="OnlyAdds without retract, over rows that change"):
        env.execute_sql(f"SELECT counted(s) FROM ({sums})")


WINDOWS = "SELECT k, longest(n), spread(n) FROM TABLE({}) GROUP BY window_start, window_end, k"


def test_windows(tmp_path: Path) -> None:
    env = environment(tmp_path)
    tumbling = WINDOWS.format("TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)")
    assert folded(env, tumbling) == [
        ("a", "1+3=4", 2), ("a", "1=1", 0), ("a", "5=5", 0), ("b", "2=2", 0), ("b", "4=4", 0),
    ]  # fmt: skip
    sessions = WINDOWS.format(
        "SESSION(TABLE t PARTITION BY k, DESCRIPTOR(ts), INTERVAL '1' MINUTE)"
    )
    assert folded(env, sessions) == [
        ("a", "1+3+5=9", 4), ("a", "1=1", 0), ("b", "2=2", 0), ("b", "4=4", 0),
    ]  # fmt: skip
    with pytest.raises(UnsupportedError, match="OnlyAdds without merge, in SESSION windows"):
        env.execute_sql(sessions.replace("longest", "counted"))


def test_the_table_api(tmp_path: Path) -> None:
    env = environment(tmp_path)
    longest = udaf(Longest())
    window = Tumble.over(lit(1).minutes).on(col("ts")).alias("w")
    one_minute = env.from_path("t").window(window)
    table = one_minute.group_by(col("w"), col("k")).select(col("k"), longest(col("n")).alias("l"))
    with table.execute().collect() as rows:
        assert sorted(map(tuple, rows))[0] == ("a", "1+3=4")


def test_vectorised_ones_need_windows_or_a_batch(tmp_path: Path) -> None:
    env = environment(tmp_path)
    with pytest.raises(UnsupportedError, match="pandas aggregate function spread in a stream"):
        env.execute_sql("SELECT spread(n) FROM t")
    (tmp_path / "batch").mkdir()
    batch = environment(tmp_path / "batch", batch=True)
    query = "SELECT k, spread(n), longest(n) FILTER (WHERE n > 2) FROM t GROUP BY k"
    assert folded(batch, query) == [("a", 4, "3+5=8"), ("b", 2, "4=4")]


def test_a_class_may_be_vectorised(tmp_path: Path) -> None:
    class Total(AggregateFunction[Any, list[Any]]):
        def create_accumulator(self) -> list[Any]:
            return []

        def accumulate(self, accumulator: list[Any], *args: Any) -> None:
            (series,) = args
            assert isinstance(series, pd.Series)
            accumulator.append(series.sum())

        def get_value(self, accumulator: list[Any]) -> Any:
            return accumulator[0]

    env = environment(tmp_path, batch=True)
    env.create_temporary_function("total", udaf(Total(), result_type="INT", func_type="pandas"))
    assert folded(env, "SELECT total(n) FROM t") == [(16,)]


def test_a_wrong_result_names_the_function(tmp_path: Path) -> None:
    env = environment(tmp_path)
    env.create_temporary_function("wrong", udaf(Longest(), result_type="BIGINT", name="wrong"))
    with pytest.raises(TypeMismatchError, match=r"wrong gave '2=2'.*an integer"):
        folded(env, "SELECT wrong(n) FROM t WHERE n = 2")


def test_distinct_gives_equal_arguments_once(tmp_path: Path) -> None:
    env = environment(tmp_path)
    twice = env.from_path("t").union_all(env.from_path("t"))
    env.create_temporary_view("twice", twice)
    env.create_temporary_function("numbers", udaf(Numbers(), result_type="STRING"))
    query = "SELECT numbers(DISTINCT n), numbers(DISTINCT n) FILTER (WHERE n > 2) FROM twice"
    assert folded(env, query) == [("1,2,3,4,5", "3,4,5")]
    call_of = call("numbers", col("n")).distinct
    with twice.select(call_of).execute().collect() as rows:
        assert [*rows][-1][0] == "1,2,3,4,5"
    # of rows that change: those of which there is none any more are taken back
    changing = "SELECT k, MAX(n) AS n FROM twice GROUP BY k"
    assert folded(env, f"SELECT numbers(DISTINCT n) FROM ({changing})") == [("4,5",)]


@pytest.mark.parametrize(
    ("query", "error", "problem"),
    [
        ("SELECT k FROM t WHERE longest(n) = ''", SqlValidationError, "WHERE contains"),
        ("SELECT SUM(longest(n)) FROM t", SqlValidationError, "cannot be nested"),
        (
            "SELECT * FROM t, LATERAL TABLE(longest(n)) AS l(x)",
            SqlValidationError,
            "not a table function",
        ),
    ],
)
def test_what_means_nothing_is_refused(
    tmp_path: Path, query: str, error: type[Exception], problem: str
) -> None:
    with pytest.raises(error, match=problem):
        environment(tmp_path).sql_query(query)


def test_what_is_no_aggregate_function_is_refused() -> None:
    with pytest.raises(TypeError, match=r"udaf\(\) takes objects of AggregateFunction"):
        udaf(sum, result_type="INT")

    class Top(TableAggregateFunction[Any, Any]):
        def create_accumulator(self) -> list[Any]:
            return []

        def accumulate(self, accumulator: Any, *args: Any) -> None:
            accumulator.append(args)

        def emit_value(self, accumulator: Any) -> Any:
            yield from accumulator

    with pytest.raises(TypeError, match=r"udaf\(\) takes objects of AggregateFunction"):
        udaf(Top(), result_type="INT")
    with pytest.raises(TypeError, match=r"udtaf\(\) takes objects of TableAggregateFunction"):
        udtaf(OnlyAdds(), result_type="INT")
    with pytest.raises(ValueError, match="must be 'general', got pandas"):
        udtaf(Top(), func_type="pandas")


def test_whole_rows_in_groups_and_windows(tmp_path: Path) -> None:
    env = environment(tmp_path, batch=True)
    table = env.from_path("t")
    ends = udaf(
        lambda rows: (rows.n.min(), rows.n.max(), ",".join(sorted(set(rows.k)))),
        result_type="ROW<low INT, high INT, ks STRING>",
        func_type="pandas",
    )
    every = table.aggregate(ends).select(col("*"))
    assert every.get_schema().get_field_names() == ["TMP_0$low", "TMP_0$high", "TMP_0$ks"]
    with every.execute().collect() as rows:
        assert [tuple(row) for row in rows] == [(1, 5, "a,b")]
    grouped = table.group_by(col("k")).aggregate(ends.alias("x", "y", "z"))
    with grouped.select(col("k"), col("y") - col("x")).execute().collect() as rows:
        assert sorted(map(tuple, rows)) == [("a", 4), ("b", 2)]
    windowed = table.window(Tumble.over(lit(1).minutes).on(col("ts")).alias("w")).group_by(col("w"))
    found = windowed.aggregate(ends).select(col("w").start, col("y"))
    with found.execute().collect() as rows:
        assert sorted((row[0].minute, row[1]) for row in rows) == [(0, 3), (1, 5), (3, 1)]
    with pytest.raises(SqlValidationError, match="2 names are given to 3 results"):
        table.aggregate(ends.alias("x", "y")).select(col("x"))


class Numbers(AggregateFunction[str, list[int]]):
    """The numbers of a group, sorted."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator.remove(args[0])

    def get_value(self, accumulator: list[int]) -> str:
        return ",".join(map(str, sorted(accumulator)))


class Above(TableAggregateFunction[Any, list[int]]):
    """The numbers of a group that are above its mean."""

    def create_accumulator(self) -> list[int]:
        return []

    def accumulate(self, accumulator: list[int], *args: Any) -> None:
        accumulator.append(args[0])

    def retract(self, accumulator: list[int], *args: Any) -> None:
        accumulator.remove(args[0])

    def emit_value(self, accumulator: list[int]) -> Any:
        mean = sum(accumulator) / len(accumulator)
        yield from (each for each in sorted(accumulator) if each > mean)

    def get_result_type(self) -> str:
        return "BIGINT"


@pytest.mark.parametrize("batch", [False, True])
def test_rows_of_a_group(tmp_path: Path, batch: bool) -> None:
    env = environment(tmp_path, batch)
    above = udtaf(Above())
    table = env.from_path("t")
    grouped = table.group_by(col("k")).flat_aggregate(above(col("n")).alias("x"))
    env.create_temporary_view("found", grouped.select(col("k"), col("x")))
    assert folded(env, "SELECT * FROM found") == [("a", 3), ("a", 5), ("b", 4)]
    env.create_temporary_function("above", above)
    named = table.group_by(col("k")).flat_aggregate(call("above", col("n")).alias("x"))
    env.create_temporary_view("by_name", named.select(col("k"), col("x")))
    assert folded(env, "SELECT * FROM by_name") == [("a", 3), ("a", 5), ("b", 4)]
    with pytest.raises(SqlValidationError, match="takes a call of what udtaf"):
        table.flat_aggregate(call("below", col("n")))
    sums = env.sql_query("SELECT k, SUM(n) AS s FROM t GROUP BY k")
    env.create_temporary_view("sums", sums.flat_aggregate(above(col("s"))).select(col("*")))
    assert folded(env, "SELECT f0 FROM sums") == [(10,)]


def test_table_aggregate_functions_stand_in_flat_aggregate_only(tmp_path: Path) -> None:
    env = environment(tmp_path)
    env.create_temporary_function("above", Above())
    with pytest.raises(
        SqlValidationError, match="table aggregate function Above is not allowed here"
    ):
        env.sql_query("SELECT above(n) FROM t")
    with pytest.raises(SqlValidationError, match="takes a call of what udtaf"):
        env.from_path("t").flat_aggregate(udaf(Longest())(col("n")))
    above = udtaf(Above())
    with pytest.raises(SqlValidationError, match="2 names are given to 1 results"):
        env.from_path("t").flat_aggregate(above(col("n")).alias("x", "y")).select(col("x"))
