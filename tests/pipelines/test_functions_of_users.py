"""Statements with functions of users give the same rows however they are run."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common import Configuration
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.table import DataTypes, Row, StreamTableEnvironment
from headrace.table.udf import AggregateFunction, ScalarFunction, udaf, udf, udtf
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.pipelines.running import SETTINGS, in_small_pieces

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 4)), min_size=1, max_size=25)


class Shifted(ScalarFunction):
    def open(self, function_context: Any) -> None:
        self.shift = 10

    def eval(self, number: int) -> int:
        return number + self.shift


class Numbers(AggregateFunction[str, Row]):
    """The numbers of a group, sorted."""

    def create_accumulator(self) -> Row:
        return Row([], 0)

    def accumulate(self, accumulator: Row, *args: Any) -> None:
        accumulator[0].append(args[0])

    def retract(self, accumulator: Row, *args: Any) -> None:
        accumulator[0].remove(args[0])

    def get_value(self, accumulator: Row) -> str:
        return ",".join(map(str, sorted(accumulator[0])))


@pytest.fixture(scope="module", autouse=True)
def small_pieces() -> Iterator[None]:
    with in_small_pieces():
        yield


def program(query: str, rows: list[Any], mini: bool) -> Callable[[Any], dict[str, DataStream]]:
    def made(_: Any) -> dict[str, DataStream]:
        options = {**SETTINGS, "table.exec.mini-batch.enabled": str(mini).lower()}
        env = StreamExecutionEnvironment(Configuration.from_dict(options))
        table_env = StreamTableEnvironment.create(env)
        kind = DataTypes.ROW(
            [DataTypes.FIELD("k", DataTypes.STRING()), DataTypes.FIELD("n", DataTypes.INT())]
        )
        table_env.create_temporary_view("t", table_env.from_elements(rows, kind))
        for name, function in {
            "shifted": udf(Shifted(), result_type="INT"),
            "doubled": udf(lambda n: n * 2, result_type="INT", func_type="pandas"),
            "up_to": udtf(lambda n: range(n), result_types="INT"),
            "numbers": udaf(Numbers(), result_type="STRING"),
        }.items():
            table_env.create_temporary_function(name, function)
        return {"found": table_env.to_changelog_stream(table_env.sql_query(query))}

    return made


def by_key(rows: list[Any]) -> dict[str, list[int]]:
    found = defaultdict(list)
    for key, number in rows:
        found[key].append(number)
    return found


def listed(numbers: list[int]) -> str:
    return ",".join(map(str, sorted(numbers)))


QUERIES: dict[str, tuple[str, Callable[[list[Any]], list[tuple[Any, ...]]]]] = {
    "of rows": (
        "SELECT k, shifted(n), doubled(shifted(n)) FROM t WHERE shifted(n) > 11",
        lambda rows: [(k, n + 10, 2 * n + 20) for k, n in rows if n > 1],
    ),
    "of tables": (
        "SELECT k, n, i FROM t LEFT JOIN LATERAL TABLE(up_to(n)) AS u(i) ON TRUE",
        lambda rows: [(k, n, i) for k, n in rows for i in (range(n) if n else [None])],
    ),
    "of groups": (
        "SELECT k, numbers(n), COUNT(*) FROM t GROUP BY k",
        lambda rows: [(k, listed(ns), len(ns)) for k, ns in by_key(rows).items()],
    ),
    "of groups that change": (
        "SELECT numbers(s) FROM (SELECT SUM(n) AS s FROM t GROUP BY k)",
        lambda rows: [(listed([sum(ns) for ns in by_key(rows).values()]),)],
    ),
}


def folded(rows: list[Any]) -> Counter[tuple[Any, ...]]:
    """The table that changes make; a row is taken back only after it was given."""
    table: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        table[tuple(row)] += 1 if row.get_row_kind().name in ("INSERT", "UPDATE_AFTER") else -1
        assert table[tuple(row)] >= 0, row
    return +table


cuts = st.lists(st.integers(1, 6), max_size=6)


@settings(max_examples=examples(12), deadline=None)
@given(st.sampled_from(sorted(QUERIES)), ROWS, st.booleans(), cuts, cuts)
def test_a_statement_gives_the_same_rows_however_it_is_run(
    name: str, rows: list[Any], mini: bool, some: list[int], other: list[int]
) -> None:
    query, expected = QUERIES[name]
    made = program(query, rows, mini)
    hows: list[dict[str, Any]] = [
        {},
        {"mode": "batch"},
        {"cuts": some, "backends": "paged", "restarts": True, "key_groups": 3, "parallelism": 2},
        {
            "cuts": other,
            "backends": "paged",
            "restarts": "savepoint",
            "key_groups": 2,
            "regroup": [(5, 2)],
        },
    ]
    for how in hows:
        assert folded(run_pipeline(made, **how)["found"]) == Counter(expected(rows)), (name, how)
