"""Functions of batches: what they are given, what becomes of it, and that cuts change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headrace.common import Configuration, Duration, Row, Types, WatermarkStrategy
from headrace.common.typeinfo import TypeInformation
from headrace.common.types import RowKind
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetFormat
from headrace.datastream.functions import (
    KeyedMapBatchesFunction,
    MapBatchesFunction,
    ProcessFunction,
    RuntimeContext,
)
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import NotKeyedError, PlanError, TypeMismatchError, WrongFunctionError
from headrace.runtime.columns.selectors import ByColumns
from headrace.runtime.columns.shapes import Dicts
from headrace.testing import run_pipeline

POINT = Types.ROW_NAMED(["id", "x"], [Types.LONG(), Types.DOUBLE()])
PAIR = Types.TUPLE([Types.INT(), Types.INT()])
BY_SECOND = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(5)
).with_timestamp_assigner(lambda value: value[1])


def environment(chunk_records: int = 3) -> StreamExecutionEnvironment:
    settings = {"headrace.watermark.chunk-records": str(chunk_records)}
    return StreamExecutionEnvironment(Configuration.from_dict(settings))


def stream_of(values: list[Any], declared: TypeInformation | None = None) -> DataStream:
    return environment().from_collection(values, declared)


def test_rows_come_as_columns_of_their_declared_types() -> None:
    schemas: list[pa.Schema] = []

    def see(batch: pa.RecordBatch) -> pa.RecordBatch:
        schemas.append(batch.schema)
        return batch.append_column("y", pc.multiply(batch["x"], 10))

    results = run_pipeline(stream_of([Row(1, 0.5), Row(2, None)], POINT).map_batches(see)).only
    assert results == [Row(id=1, x=0.5, y=5.0), Row(id=2, x=None, y=None)]
    assert {*schemas} == {pa.schema([("id", pa.int64()), ("x", pa.float64())])}


def test_tuples_and_plain_values_have_columns_by_position() -> None:
    def double(batch: pa.RecordBatch) -> pa.RecordBatch:
        columns = [pc.multiply(column, 2) for column in batch.columns]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    pairs = stream_of([(1, 2), (3, 4)], PAIR)
    assert run_pipeline(pairs.map_batches(double, PAIR)).only == [(2, 4), (6, 8)]
    named = run_pipeline(pairs.map_batches(double)).only
    assert named == [Row(f0=2, f1=4), Row(f0=6, f1=8)]
    numbers = environment().from_sequence(1, 3)
    assert run_pipeline(numbers.map_batches(double, Types.LONG())).only == [2, 4, 6]
    assert run_pipeline(numbers.map_batches(double)).only == [Row(value=v) for v in (2, 4, 6)]


def test_types_that_differ_between_arrow_and_python_come_out_as_declared() -> None:
    kind = Types.ROW_NAMED(
        ["big", "tags", "point"],
        [Types.BIG_INT(), Types.LIST(Types.STRING()), Types.ROW([Types.INT(), Types.INT()])],
    )
    rows = [Row(10**30, ["a", "b"], Row(1, 2)), Row(None, None, None)]
    results = run_pipeline(stream_of(rows, kind).map_batches(lambda batch: batch, kind)).only
    assert [[*row] for row in results] == [
        [10**30, ["a", "b"], Row(f0=1, f1=2)],
        [None, None, None],
    ]


def test_pandas() -> None:
    def positive(frame: pd.DataFrame) -> pd.DataFrame:
        assert isinstance(frame, pd.DataFrame)
        return frame[frame.x > 0].assign(name="n")

    stream = stream_of([Row(1, 0.5), Row(2, -1.0)], POINT).map_batches(positive, format="pandas")
    assert run_pipeline(stream).only == [Row(id=1, x=0.5, name="n")]


def test_dicts_and_objects_are_taken_by_an_input_type() -> None:
    found: list[Any] = [{"x": 1.5, "id": 3, "more": 0}, Row(x=2.5, id=4), (5, 3.5)]
    stream = stream_of(found).map_batches(lambda batch: batch, input_type=POINT)
    assert run_pipeline(stream).only == [Row(id=i, x=i - 1.5) for i in (3, 4, 5)]


@pytest.mark.parametrize(
    ("returned", "expected"),
    [
        (None, []),
        (pa.table({"a": pa.chunked_array([[1], [2]])}), [Row(a=1), Row(a=2)]),
        ([pa.record_batch({"a": [1]}), pa.table({"b": ["x"]})], [Row(a=1), Row(b="x")]),
        (pd.DataFrame({"a": [7]}, index=[3]), [Row(a=7)]),
    ],
)
def test_what_may_be_returned(returned: Any, expected: list[Row]) -> None:
    stream = environment().from_sequence(1, 2).map_batches(lambda batch: returned)
    assert run_pipeline(stream).only == expected


@pytest.mark.parametrize("returned", [5, {"a": [1]}, "text", [1], [[pa.record_batch({"a": [1]})]]])
def test_what_may_not_be_returned(returned: Any) -> None:
    stream = environment().from_sequence(1, 2).map_batches(lambda batch: returned)
    with pytest.raises(TypeMismatchError, match="a function of map_batches gave a") as error:
        run_pipeline(stream)
    assert "operator: MapBatches" in "".join(error.value.__notes__)


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (pa.record_batch({"id": [1]}), "columns of their declared type"),
        (pa.record_batch({"id": [1], "x": [1.0], "y": [0]}), "columns of their declared type"),
        (pa.record_batch({"id": ["one"], "x": [1.0]}), "does not fit its declared type"),
        (pa.RecordBatch.from_arrays([pa.array([1])] * 2, names=["x", "x"]), "a column twice: x, x"),
    ],
)
def test_results_that_do_not_fit_their_type(batch: pa.RecordBatch, message: str) -> None:
    stream = environment().from_sequence(1, 1).map_batches(lambda given: batch, POINT)
    with pytest.raises(TypeMismatchError, match=message):
        run_pipeline(stream)


def test_results_are_cast_and_put_in_order() -> None:
    given = pa.record_batch({"x": [1, 2], "id": pa.array([3, None], pa.int8())})
    stream = environment().from_sequence(1, 1).map_batches(lambda _: given, POINT)
    assert run_pipeline(stream).only == [Row(id=3, x=1.0), Row(id=None, x=2.0)]


def test_a_batch_has_at_most_so_many_records() -> None:
    def length(batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"n": [batch.num_rows]})

    rows = environment().from_sequence(1, 10).map_batches(length, Types.LONG(), batch_size=4)
    assert run_pipeline(rows).only == [4, 4, 2]
    assert run_pipeline(rows, cuts=[3, 7]).only == [3, 4, 3]


class _Times(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def timed(function: Any, **options: Any) -> list[Any]:
    values = [(n, n * 10) for n in range(6)]
    stream = stream_of(values, PAIR).assign_timestamps_and_watermarks(BY_SECOND)
    stream = stream.map_batches(function, PAIR, **options)
    return [(value, time) for value, time, _ in run_pipeline(stream.process(_Times())).only]


def test_results_keep_their_timestamps_row_for_row() -> None:
    assert timed(lambda batch: batch) == [((n, n * 10), n * 10) for n in range(6)]


def test_fewer_results_have_the_latest_timestamp_of_their_batch() -> None:
    found = timed(lambda batch: batch.slice(0, 1), batch_size=3)
    assert found == [((0, 0), 20), ((3, 30), 50)]


def test_a_column_can_hold_the_timestamps() -> None:
    found = timed(lambda batch: batch.slice(0, 1), batch_size=3, timestamp_column="f1")
    assert found == [((0, 0), 0), ((3, 30), 30)]
    with pytest.raises(TypeMismatchError, match="no column 'at' with a time"):
        timed(lambda batch: batch, timestamp_column="at")


def test_a_watermark_does_not_overtake_records() -> None:
    values = [(n, n * 10) for n in range(9)]
    stream = stream_of(values, PAIR).assign_timestamps_and_watermarks(BY_SECOND)
    stream = stream.map_batches(lambda batch: batch, PAIR).process(_Times())
    for value, time, watermark in run_pipeline(stream, cuts=[4]).only:
        assert time == value[1] > watermark


def test_results_at_the_end_of_a_batch_are_taken_too() -> None:
    sums = stream_of([(1, 2), (2, 5), (1, 3)], PAIR).key_by(lambda value: value[0]).sum(1)
    stream = sums.map_batches(lambda batch: batch, PAIR)
    assert sorted(run_pipeline(stream, mode="batch").only) == [(1, 5), (2, 5)]


def test_an_object_that_is_emitted_again_is_not_changed_in_a_batch() -> None:
    class Again(ProcessFunction):
        def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
            row = Row(n=value, tags=["a"])
            yield row
            row["n"] += 1
            row["tags"].append("b")
            yield row

    kind = Types.ROW_NAMED(["n", "tags"], [Types.LONG(), Types.LIST(Types.STRING())])
    stream = environment().from_sequence(1, 1).process(Again())
    found = run_pipeline(stream.map_batches(lambda batch: batch, input_type=kind)).only
    assert found == [Row(n=1, tags=["a"]), Row(n=2, tags=["a", "b"])]


class Scale(MapBatchesFunction):
    """Counts how often it is opened, in its results."""

    opened = 0

    def open(self, runtime_context: RuntimeContext) -> None:
        self.opened += 1

    def map_batches(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({"n": pc.multiply(batch["value"], self.opened)})


def test_a_function_object_is_opened_once() -> None:
    stream = environment().from_sequence(1, 6).map_batches(Scale(), Types.LONG(), batch_size=2)
    assert run_pipeline(stream, cuts=[1, 2, 3]).only == [1, 2, 3, 4, 5, 6]


def test_the_type_of_records_must_be_known() -> None:
    pairs = stream_of([(1, 2)])
    with pytest.raises(PlanError, match="needs the type of the records"):
        pairs.map_batches(lambda batch: batch)
    with pytest.raises(PlanError, match="needs the type of the records"):
        pairs.map(lambda value: value).map_batches(lambda batch: batch)
    source = DataGeneratorSource(lambda index: index, 3)
    rows = environment().from_source(source, WatermarkStrategy.no_watermarks(), "n")
    with pytest.raises(TypeMismatchError, match="no type is declared"):
        run_pipeline(rows.map_batches(lambda batch: batch))


def test_arguments_are_checked() -> None:
    numbers = environment().from_sequence(1, 2)
    with pytest.raises(PlanError, match="'arrow' or 'pandas', not 'polars'"):
        numbers.map_batches(lambda batch: batch, format="polars")  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="number of records in a batch"):
        numbers.map_batches(lambda batch: batch, batch_size=0)
    with pytest.raises(PlanError, match="cannot be represented in Arrow"):
        numbers.map_batches(lambda batch: batch, Types.PICKLED_BYTE_ARRAY())
    with pytest.raises(WrongFunctionError, match="KeyedMapBatchesFunction"):
        numbers.key_by(lambda value: value).map_batches(Scale())  # type: ignore[arg-type]


def test_keyed_state_needs_a_key() -> None:
    class Stateful(MapBatchesFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("total"))

        def map_batches(self, batch: Any) -> Any:
            return batch

    with pytest.raises(NotKeyedError, match="get_state"):
        environment().from_sequence(1, 2).map_batches(Stateful())


def test_rows_of_other_kinds_have_no_place() -> None:
    stream = stream_of([Row.of_kind(RowKind.DELETE, 1, 2.0)], POINT).map_batches(lambda b: b)
    with pytest.raises(TypeMismatchError, match="kind INSERT only, not DELETE"):
        run_pipeline(stream)


def test_a_record_that_does_not_fit_is_named() -> None:
    stream = stream_of([Row(a=1)]).map_batches(lambda batch: batch, input_type=POINT)
    with pytest.raises(TypeMismatchError, match="does not fit the columns") as error:
        run_pipeline(stream)
    assert "operator: MapBatches" in "".join(error.value.__notes__)


# Columns


@pytest.fixture
def rows_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many records were made of columns of dictionaries, a number for each time."""
    made: list[int] = []
    whole = Dicts.__call__

    def counted(self: Dicts, batch: Any) -> list[Any]:
        made.append(batch.num_rows)
        return whole(self, batch)

    monkeypatch.setattr(Dicts, "__call__", counted)
    return made


def test_columns_of_parquet_come_as_they_are(tmp_path: Path, rows_made: list[int]) -> None:
    table = pa.table({"id": [*range(10)], "x": [n / 2 for n in range(10)]})
    pq.write_table(table, tmp_path / "points.parquet")
    source = FileSource.for_bulk_file_format(ParquetFormat(), str(tmp_path)).build()
    points = environment().from_source(source, WatermarkStrategy.no_watermarks(), "points")

    def score(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.append_column("score", pc.greater(batch["x"], 4.0))

    def passed(batch: pa.RecordBatch) -> pa.RecordBatch:
        return batch.filter(batch["score"]).select(["id"])

    stream = points.map_batches(score).map_batches(passed, Types.LONG(), batch_size=3)
    assert run_pipeline(stream).only == [9]
    assert rows_made == []


def generated(indexes: Any) -> dict[str, Any]:
    return {"user": indexes % 3, "amount": indexes}


class Total(KeyedMapBatchesFunction):
    """The key's total so far, and the number of records, for each batch."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def map_batches(self, key: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        assert {*batch["user"].to_pylist()} == {key}
        sums = pc.cumulative_sum(batch["amount"], start=self.total.value() or 0)
        self.total.update(sums[-1].as_py())
        return pa.record_batch({"user": batch["user"], "total": sums})


def totals(count: int) -> list[tuple[int, int]]:
    sums = [0, 0, 0]
    found = []
    for index in range(count):
        sums[index % 3] += index
        found.append((index % 3, sums[index % 3]))
    return sorted(found)


@pytest.mark.parametrize("backend", ["heap", "paged"])
@pytest.mark.parametrize("cuts", [[], [1, 4, 4]])
def test_keyed_batches_keep_state(backend: Any, cuts: list[int], rows_made: list[int]) -> None:
    source = DataGeneratorSource.of_columns(generated, 20)
    stream = environment().from_source(source, WatermarkStrategy.no_watermarks(), "amounts")
    keyed = stream.key_by(ByColumns("user")).map_batches(Total(), PAIR, batch_size=5)
    how = {"cuts": cuts, "backends": backend, "key_groups": 4, "parallelism": 2}
    assert sorted(run_pipeline(keyed, **how).only) == totals(20)
    assert rows_made == []


@pytest.mark.parametrize("format", ["arrow", "pandas"])
def test_keyed_batches_of_rows(format: Any) -> None:
    def count(key: int, batch: Any) -> Any:
        made = pd.DataFrame({"key": [key], "n": [len(batch)]})
        return made if format == "pandas" else pa.RecordBatch.from_pandas(made)

    values = [(n % 2, n) for n in range(7)]
    keyed = stream_of(values, PAIR).key_by(lambda value: value[0])
    found = run_pipeline(keyed.map_batches(count, PAIR, format=format, batch_size=3)).only
    assert sorted(found) == [(0, 1), (0, 3), (1, 3)]


def test_keyed_results_of_several_kinds_stay_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexed, "CHUNK_RECORDS", 100)

    def named(key: int, batch: pa.RecordBatch) -> pa.RecordBatch:
        return pa.record_batch({f"of{key}": batch["f1"]})

    values = [(n % 2, n) for n in range(4)]
    found = run_pipeline(stream_of(values, PAIR).key_by(lambda v: v[0]).map_batches(named)).only
    assert found == [Row(of0=0), Row(of0=2), Row(of1=1), Row(of1=3)]
