"""The join over windows by fields: rows, columns, and plain Python give the same pairs."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common._timestamp_column import TimestampColumn
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.functions import JoinFields
from headrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows
from headrace.errors import PlanError
from headrace.operators.windows.joins.join import WindowJoinOperator
from headrace.testing import run_pipeline
from tests.effort import examples

FIELDS = JoinFields(first=["user", "amount"], second={"n": "clicks"})
SIZE_MS = 50


class Table:
    """Rows of a table by their indexes."""

    def __init__(self, columns: dict[str, list[Any]], kinds: dict[str, pa.DataType]) -> None:
        self.columns, self.kinds = columns, kinds

    def __call__(self, indexes: Any) -> dict[str, Any]:
        return {
            name: pa.array([values[index] for index in indexes], self.kinds.get(name))
            for name, values in self.columns.items()
        }


def table(seed: int, value: str, count: int, users: list[Any], kind: Any) -> Table:
    chance = random.Random(seed)
    at, columns = 0, {"at": [], "user": [], value: []}
    for _ in range(count):
        at += chance.randrange(5)
        columns["at"].append(max(at - chance.randrange(8), 0))
        columns["user"].append(chance.choice(users))
        columns[value].append(chance.choice([None, 0.0, -0.0, 1.5]) if chance.random() < 0.5 else 2)
    columns[value] = [None if each is None else float(each) for each in columns[value]]
    return Table(columns, {"user": kind, value: pa.float64()})


def stream(env: StreamExecutionEnvironment, given: Table, late_ms: int, rows: bool) -> DataStream:
    count = len(given.columns["at"])
    source = DataGeneratorSource.of_columns(given, count)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(late_ms)
    ).with_timestamp_assigner(TimestampColumn("at"))
    found = env.from_source(source, strategy, "table")
    return found.filter(lambda row: True) if rows else found


def joined(
    tables: tuple[Table, Table],
    on: bool = True,
    function: Any = FIELDS,
    rows: tuple[bool, bool] = (False, False),
    assigner: Any = None,
    late_ms: int = 8,
    lateness_ms: int = 0,
) -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"headrace.columns.enabled": str(on).lower()})
    )
    first, second = (
        stream(env, each, late_ms, by_row) for each, by_row in zip(tables, rows, strict=True)
    )
    windows = assigner or TumblingEventTimeWindows.of(Time.milliseconds(SIZE_MS))
    join = first.join(second).where("user").equal_to("user").window(windows)
    if lateness_ms:
        join = join.allowed_lateness(Time.milliseconds(lateness_ms))
    return join.apply(function)


def dicts(given: Table) -> list[dict[str, Any]]:
    rows = zip(*given.columns.values(), strict=True)
    return [dict(zip(given.columns, row, strict=True)) for row in rows]


def pairs(tables: tuple[Table, Table], size_ms: int = SIZE_MS) -> Counter[str]:
    """All pairs, in plain Python."""
    one, other = (
        [
            dict(zip(each.columns, row, strict=True))
            for row in zip(*each.columns.values(), strict=True)
        ]
        for each in tables
    )
    return Counter(
        repr((first["user"], first["amount"], second["clicks"]))
        for first in one
        for second in other
        if first["at"] // size_ms == second["at"] // size_ms and first["user"] == second["user"]
    )


def found(stream: DataStream, **how: Any) -> Counter[str]:
    return Counter(repr((*row,)) for row in run_pipeline(stream, **how)["stream"])


USERS = [
    ([1, 2, -1, 1 << 40, None], pa.int64()),
    (["a", "b", "", "ü"], pa.string()),
    ([1.0, 0.0, -0.0, 2.5], pa.float64()),
    ([True, False], pa.bool_()),
]


@pytest.mark.parametrize("seed", range(examples(5)))
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_all_forms_give_the_pairs_of_plain_python(seed: int, mode: Any) -> None:
    chance = random.Random(seed)
    users, kind = USERS[seed % len(USERS)]
    tables = (
        table(seed, "amount", 90, users, kind),
        table(seed + 100, "clicks", 90, users, kind),
    )
    wanted = pairs(tables)
    assert wanted
    how: dict[str, Any] = {"mode": mode, "key_groups": 3}
    if mode == "streaming":
        how["cuts"] = [chance.choice([1, 7, 60, 150]) for _ in range(40)]
        how["backends"] = chance.choice(["heap", "paged"])
        how["restarts"] = how["backends"] == "paged"
    mixed = (chance.random() < 0.5, chance.random() < 0.5)
    assert found(joined(tables), **how) == wanted
    assert found(joined(tables, rows=mixed), **how) == wanted
    assert found(joined(tables, on=False), **how) == wanted
    assert found(joined(tables, function=lambda *pair: FIELDS.join(*pair)), **how) == wanted


def test_columns_are_joined_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = table(1, "amount", 400, ["a", "b"], None), table(2, "clicks", 400, ["a", "b"], None)
    joins: list[int] = []
    emit = WindowJoinOperator._emit

    def counted(self: Any, *sides: Any) -> None:
        joins.append(len(sides[0].rows))
        emit(self, *sides)

    monkeypatch.setattr(WindowJoinOperator, "_emit", counted)
    assert found(joined(tables)) == pairs(tables)
    assert sum(joins) == pairs(tables).total()
    joins.clear()
    assert found(joined(tables, on=False)) == pairs(tables)
    assert not joins


def test_pairs_of_a_key_come_in_the_order_of_arrival_and_windows_in_that_of_time() -> None:
    tables = table(3, "amount", 200, ["a"], None), table(4, "clicks", 200, ["a"], None)
    by_columns, by_rows = (
        [*run_pipeline(joined(tables, on=on), cuts=[400])["stream"]] for on in (True, False)
    )
    assert by_columns == by_rows


def test_late_records_are_dropped_and_counted_in_columns_as_in_rows() -> None:
    at = [0, 5, 120, 130, 6, 140, 7, 150, 260, 121, 270, 280]
    tables: Any = tuple(
        Table({"at": at, "user": ["a"] * len(at), name: [1.0] * len(at)}, {})
        for name in ("amount", "clicks")
    )
    results = [run_pipeline(joined(tables, on=on, late_ms=0), cuts=[4] * 6) for on in (True, False)]
    by_columns, by_rows = (Counter(map(repr, each["stream"])) for each in results)
    assert by_columns == by_rows
    late, late_rows = (
        {name: n for name, n in each.counters.items() if "numLateRecordsDropped" in str(name)}
        for each in results
    )
    assert late == late_rows and any(late.values())


def test_a_window_is_open_until_the_watermark_reaches_its_last_moment() -> None:
    at = [10, SIZE_MS - 1, SIZE_MS - 1, SIZE_MS + 1]
    tables: Any = tuple(
        Table({"at": at, "user": ["a"] * len(at), name: [1.0, 2.0, 3.0, 4.0]}, {})
        for name in ("amount", "clicks")
    )
    # after two records of each the watermark is 1 ms before the end
    assert found(joined(tables, late_ms=0), cuts=[4]) == pairs(tables)


@pytest.mark.parametrize("lateness_ms", [0, 20])
@pytest.mark.parametrize("slide_ms", [20, 50])
def test_sliding_windows_and_lateness_give_what_a_plain_function_does(
    slide_ms: int, lateness_ms: int
) -> None:
    tables = table(7, "amount", 100, ["a", "b"], None), table(8, "clicks", 100, ["a", "b"], None)
    assigner = SlidingEventTimeWindows.of(Time.milliseconds(SIZE_MS), Time.milliseconds(slide_ms))
    by_fields, plain = (
        found(
            joined(tables, function=function, assigner=assigner, lateness_ms=lateness_ms),
            cuts=[20] * 10,
        )
        for function in (FIELDS, lambda *pair: FIELDS.join(*pair))
    )
    assert by_fields == plain and plain


def test_results_are_more_than_one_block() -> None:
    one = Table({"at": [0] * 300, "user": [1] * 300, "amount": [1.0] * 300}, {})
    other = Table({"at": [0] * 300, "user": [1] * 300, "clicks": [2.0] * 300}, {})
    assert found(joined((one, other))).total() == 300 * 300


def test_fields_are_those_of_any_record() -> None:
    assert FIELDS.join({"user": "ann", "amount": 1}, {"clicks": 2}) == Row(
        user="ann", amount=1, n=2
    )
    assert FIELDS.join({"user": "ann", "amount": 1}, None) == Row(user="ann", amount=1, n=None)
    assert JoinFields("user").join(Row(user="ann"), None) == Row(user="ann")


def test_the_type_follows_from_those_of_the_inputs() -> None:
    one = Types.ROW_NAMED(["user", "amount"], [Types.STRING(), Types.DOUBLE()])
    other = Types.ROW_NAMED(["clicks"], [Types.LONG()])
    assert FIELDS.result_type(one, other) == Types.ROW_NAMED(
        ["user", "amount", "n"], [Types.STRING(), Types.DOUBLE(), Types.LONG()]
    )
    assert FIELDS.result_type(one, None) is None
    assert FIELDS.result_type(other, one) is None


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "has no field"),
        ({"first": ["a"], "second": ["a"]}, "two fields of a join are called 'a'"),
        ({"first": [0]}, "takes names of fields, not 0"),
        ({"first": {"a": 0}}, "takes names of fields, not 0"),
    ],
)
def test_what_cannot_be_a_row_is_refused(given: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        JoinFields(**given)
