"""Programs that columns go through give what they give with columns turned off, types and all.

Chains of keyed stages, unions, side outputs, two inputs, exchanges without keys, and rows between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.common._options.catalogue import COLUMNS
from headrace.common.time import Time
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.aggregates import Aggregates, Count, Max, Sum
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.operators import reduce
from headrace.operators.reduce import ReduceOperator
from headrace.operators.reduce_columns import ColumnReducer
from headrace.operators.windows.aligned.columns import ColumnWindowOperator
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.selectors import ByColumns
from headrace.testing import run_pipeline
from tests.effort import examples
from tests.operators.connecting import broadcast, connected
from tests.operators.rates import RatesSpec
from tests.operators.rates import came as rates_came

RECORDS = 90
LATE = OutputTag("late")
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
AT = TIMES.with_timestamp_assigner("at")


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts what operators are given, too. Chunks are equal, so that the same records are late."""
    found: Counter[str] = Counter()
    for operator in (ReduceOperator, ColumnWindowOperator):
        for name in ("process", "process_columns"):
            what = f"{operator.__name__}.{name}"
            monkeypatch.setattr(operator, name, _counting(found, what, getattr(operator, name)))
    for name in ("COLUMNS_RECORDS", "CHUNK_RECORDS", "RANGE_RECORDS"):
        monkeypatch.setattr(indexed, name, 7)
    yield found


def _counting(found: Counter[str], name: str, take: Any) -> Any:
    def taking(self: Any, keys: Any, *given: Any) -> None:
        found[name] += len(keys)
        take(self, keys, *given)

    return taking


def numbers(indexes: Any) -> dict[str, Any]:
    return {
        "user": indexes * 7919 % 13 - 3,
        "item": indexes * 31 % 5,
        "amount": indexes * 17 % 11,
        "weight": (indexes % 7) * 0.1,
        "rate": indexes % 4 + 1,
        "at": indexes * 2 + indexes * 31 % 23,
    }


def start(on: bool, columns: bool = True) -> DataStream:
    given = {COLUMNS.key: str(on).lower(), "headrace.watermark.chunk-records": "7"}
    env = StreamExecutionEnvironment(Configuration.from_dict(given))
    return more(env, columns)


def more(env: StreamExecutionEnvironment, columns: bool = True) -> DataStream:
    if columns:
        return env.from_source(DataGeneratorSource.of_columns(numbers, RECORDS), AT, "columns")
    rows = DataGeneratorSource(lambda index: numbers(index), RECORDS)
    return env.from_source(rows, AT, "rows")


def two_sums(on: bool) -> Any:
    return start(on).key_by("user").sum("amount").key_by("item").sum("amount")


def floats(on: bool) -> Any:
    return start(on).key_by("user").sum("weight").key_by("item").sum("weight")


def three_stages(on: bool) -> Any:
    first = start(on).key_by("user").max("amount").key_by("item").sum("amount")
    return first.key_by(ByColumns("user", "item")).min_by("at")


def with_rows_between(on: bool) -> Any:
    first = start(on).key_by("user").sum("amount")
    kept = first.filter(lambda value: value["amount"] % 2 == 0).key_by("item").sum("amount")
    return {"kept": kept, "all": first.key_by("item").sum("amount")}


def union(on: bool) -> Any:
    first = start(on)
    env = first._env
    summed = more(env).key_by("item").sum("amount")
    return first.union(summed, more(env, False)).key_by("user").max("amount")


def in_windows(on: bool) -> Any:
    windows = start(on).key_by("user").window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    late = windows.side_output_late_data(LATE)
    sums = late.aggregate(
        Aggregates(item=Max("item"), count=Count(), total=Sum("amount"), weight=Sum("weight"))
    )
    longer = sums.key_by("item").window(TumblingEventTimeWindows.of(Time.milliseconds(60)))
    again = longer.aggregate(Aggregates(item=Max("item"), count=Sum("count"), total=Sum("total")))
    lates = sums.get_side_output(LATE)
    late_sums = lates.key_by("user").sum("weight")
    return {"sums": sums, "again": again, "late": lates, "late sums": late_sums}


def timed_again(on: bool) -> Any:
    first = start(on).key_by("user").sum("amount").assign_timestamps_and_watermarks(AT)
    windows = first.key_by("item").window(TumblingEventTimeWindows.of(Time.milliseconds(20)))
    return windows.aggregate(Aggregates(item=Max("item"), highest=Max("amount")))


def two_inputs(on: bool) -> Any:
    first = start(on)
    rates = more(first._env).key_by("item").sum("rate")
    rated = connected(RatesSpec(), first.key_by("user"), rates.key_by("user"))
    return rated.key_by("item").sum("amount")


def doubled(batch: pa.RecordBatch) -> pa.RecordBatch:
    at = batch.schema.get_field_index("amount")
    return batch.set_column(at, "amount", pc.multiply(batch.column(at), 2))


NAMED = Types.ROW_NAMED(
    ["user", "item", "amount", "weight", "rate", "at"],
    [*[Types.LONG()] * 3, Types.DOUBLE(), *[Types.LONG()] * 2],
)


def spread(on: bool) -> Any:
    first = start(on).key_by("user").sum("amount")
    twice = first.rebalance().map_batches(doubled, NAMED, input_type=NAMED, batch_size=5)
    return twice.key_by("item").sum("amount").project(2, 0, 3)


def to_all(on: bool) -> Any:
    first = start(on)
    summed = first.union(more(first._env, False)).key_by("user").sum("amount")
    from_source = broadcast(more(first._env)).map_batches(doubled, NAMED, input_type=NAMED)
    from_stage = broadcast(summed).map_batches(doubled, NAMED, input_type=NAMED)
    return {"source": from_source, "stage": from_stage}


PROGRAMS = (
    *(two_sums, floats, three_stages, with_rows_between, union, in_windows),
    *(timed_again, two_inputs, spread, to_all),
)


def outcome(program: Any, on: bool, **how: Any) -> dict[str, list[str]]:
    found = run_pipeline(program(on), **how)
    return {name: sorted(map(repr, records)) for name, records in found.streams.items()}


@pytest.mark.parametrize("program", PROGRAMS)
def test_columns_change_no_record(program: Any, small_pieces: Counter[str]) -> None:
    @settings(max_examples=examples(2), suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        st.lists(st.integers(1, 60), max_size=6),
        st.integers(1, 5),
        st.integers(1, 3),
        st.sampled_from(["heap", "paged"]),
    )
    def check(cuts: list[int], key_groups: int, parallelism: int, backends: Any) -> None:
        spread = {"key_groups": key_groups, "parallelism": parallelism}
        for how in (
            {"cuts": cuts, "backends": backends, **spread},
            {"cuts": cuts, "restarts": "savepoint", "regroup": [(3, 2), (key_groups, 1)], **spread},
            {"mode": "batch", **spread},
        ):
            assert outcome(program, True, **how) == outcome(program, False, **how), how

    check()


@pytest.mark.parametrize("cuts", [[], [10, 3, 50]])
@pytest.mark.parametrize("spread", [{}, {"key_groups": 4, "parallelism": 2}])
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_both_stages_are_given_columns(
    mode: Any,
    cuts: list[int],
    spread: dict[str, int],
    small_pieces: Counter[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reduce, "MIN_COLUMN_RECORDS", 1)
    how = {"cuts": cuts} if mode == "streaming" else {}
    run_pipeline(two_sums(True), mode=mode, **how, **spread)
    assert small_pieces["ReduceOperator.process"] == 0
    if mode == "streaming":
        assert small_pieces["ReduceOperator.process_columns"] == 2 * RECORDS


def test_late_records_and_rates_come_as_columns(small_pieces: Counter[str]) -> None:
    found = run_pipeline(in_windows(True), cuts=[20] * 10)
    assert len(found["late"]) == small_pieces["ReduceOperator.process_columns"] > 0
    assert small_pieces["ReduceOperator.process"] == 0
    rates_came.update(columns=[0, 0], rows=[0, 0])
    run_pipeline(two_inputs(True), cuts=[20] * 10)
    assert rates_came == {"columns": [RECORDS] * 2, "rows": [0, 0]}


def test_what_is_broadcast_comes_as_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    rows_of = Columns.rows

    def rows(self: Columns) -> list[Any]:
        made.append(len(self))
        return rows_of(self)

    stream = broadcast(start(True)).map_batches(doubled, NAMED, input_type=NAMED)
    monkeypatch.setattr(Columns, "rows", rows)
    for how in ({"cuts": [20] * 3}, {"mode": "batch"}):
        made.clear()
        assert len(run_pipeline(stream, parallelism=3, **how).only) == 3 * RECORDS
        assert sum(made) == 3 * RECORDS  # those that the test collects


def test_sums_of_short_blocks_are_columns_too(
    small_pieces: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*given: Any) -> Any:
        raise AssertionError("the blocks are short")

    monkeypatch.setattr(reduce, "MIN_COLUMN_RECORDS", RECORDS)
    monkeypatch.setattr(ColumnReducer, "reduce", refused)
    found = outcome(two_sums, True, cuts=[50, 50])
    assert small_pieces == {"ReduceOperator.process_columns": 2 * RECORDS}
    assert found == outcome(two_sums, False, cuts=[50, 50])
