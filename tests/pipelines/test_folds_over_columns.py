"""``sum``, ``min`` and their like over columns give what they give over rows, however it is cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import BadRecord, Source
from headrace.datastream import (
    DataStream,
    OutputTag,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.formats import _lines as lines
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from headrace.operators import combine, combine_columns, combine_policy
from headrace.operators.reduce import ReduceOperator
from headrace.runners.launch import program_of
from headrace.runtime.columns.selectors import TimestampColumn
from headrace.testing import _pipeline as pipeline
from headrace.testing import run_pipeline
from tests.effort import examples

RECORDS = 120
ROLLING = ("sum", "min", "max", "min_by", "max_by")


def record(index: int) -> dict[str, Any]:
    return {"user": index * 7919 % 7, "amount": index * 31 % 11 - 4, "at": index}


def records(indexes: Any) -> dict[str, Any]:
    return {"user": indexes * 7919 % 7, "amount": indexes * 31 % 11 - 4, "at": indexes}


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimestampColumn("at"))
AS_COLUMNS = DataGeneratorSource.of_columns(records, RECORDS)
AS_ROWS = DataGeneratorSource(record, RECORDS)


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def flushing(*arguments: Any) -> Any:
        program = program_of(*arguments)
        return replace(program, settings=replace(program.settings, flush_records=16))

    monkeypatch.setattr(indexed, "COLUMNS_RECORDS", 17)
    monkeypatch.setattr(indexed, "RANGE_RECORDS", 13)
    monkeypatch.setattr(indexed, "CHUNK_RECORDS", 5)
    monkeypatch.setattr(combine, "MAX_KEYS", 5)
    monkeypatch.setattr(combine_columns, "FOLD_ROWS", 20)
    monkeypatch.setattr(combine_policy, "MIN_RECORDS_PER_PARTIAL", 1)
    monkeypatch.setattr(pipeline, "program_of", flushing)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How many records reductions were given as columns, and as rows."""
    found: Counter[str] = Counter()
    of_rows, of_columns = ReduceOperator.processors, ReduceOperator.process_columns

    def processors(self: Any) -> Any:
        (take,) = of_rows(self)

        def counting(keys: Any, values: Any, timestamps: Any) -> None:
            found["rows"] += len(values)
            take(keys, values, timestamps)

        return (counting,)

    def process_columns(self: Any, keys: Any, columns: Any) -> None:
        found["columns"] += len(columns)
        of_columns(self, keys, columns)

    monkeypatch.setattr(ReduceOperator, "processors", processors)
    monkeypatch.setattr(ReduceOperator, "process_columns", process_columns)
    return found


def folded(source: Source, call: str, key: Any = "user", *then: str) -> DataStream:
    settings = {"headrace.state.page-bytes": "200"}
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "amounts").key_by(key)
    found: DataStream = getattr(stream, call)("amount")
    for again in then:
        found = getattr(found.key_by("amount"), again)("at")
    return found


def by_key(results: list[Any]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for each in results:
        found.setdefault(each["user"], []).append(each)
    return found


@settings(max_examples=examples(2), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(ROLLING),
    st.lists(st.integers(1, 60), max_size=6),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_property(
    small_pieces: None, seen: Counter[str], call: str, cuts: Any, groups: int, parallelism: int
) -> None:
    spread = {"key_groups": groups, "parallelism": parallelism}
    wanted = by_key(run_pipeline(folded(AS_ROWS, call)).only)
    last = {key: found[-1] for key, found in wanted.items()}
    seen.clear()
    for how in (
        {"cuts": cuts},
        {"cuts": cuts, "backends": "paged", "restarts": True, **spread},
        {"cuts": cuts, "restarts": "savepoint", "regroup": [(3, 2), (groups, 1)], **spread},
    ):
        assert by_key(run_pipeline(folded(AS_COLUMNS, call), **how).only) == wanted, how
    assert seen["columns"] and not seen["rows"]
    stream = folded(AS_COLUMNS, call)
    stream._env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    found = run_pipeline(stream, mode="batch", **spread).only
    assert {each["user"]: each["amount"] for each in found} == {
        key: each["amount"] for key, each in last.items()
    }
    if "by" not in call and parallelism == 1:
        assert {each["user"]: each for each in found} == last
    assert not seen["rows"]


def test_a_batch_sends_a_row_for_each_key(seen: Counter[str]) -> None:
    stream = folded(AS_COLUMNS, "sum")
    stream._env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    assert len(run_pipeline(stream, mode="batch").only) == 7
    assert seen == {"columns": 7}


def test_rows_and_columns_meet_in_one_sum(seen: Counter[str]) -> None:
    env = StreamExecutionEnvironment()
    first, second = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "s")
        for source in (AS_COLUMNS, AS_ROWS)
    )
    for mode, how in (("streaming", {"cuts": [7, 30, 1]}), ("batch", {})):
        if mode == "batch":
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        stream = first.union(second).key_by("user").sum("amount")
        found = by_key(run_pipeline(stream, mode=mode, **how).only)
        for key, sums in found.items():
            total = sum(record(i)["amount"] for i in range(RECORDS) if record(i)["user"] == key)
            assert sums[-1]["amount"] == 2 * total
    assert seen["rows"] and seen["columns"]


@pytest.mark.parametrize("key", [lambda value: value["user"], "amount"])
def test_keys_that_columns_cannot_give(key: Any) -> None:
    """A key that is called for, and one that the sum itself changes."""
    for mode in (RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH):
        found = []
        for source in (AS_COLUMNS, AS_ROWS):
            stream = folded(source, "sum", key)
            stream._env.set_runtime_mode(mode)
            how: Any = {"mode": "batch" if mode is RuntimeExecutionMode.BATCH else "streaming"}
            found.append(sorted(run_pipeline(stream, **how).only, key=repr))
        assert found[0] == found[1]


def test_sums_of_sums(seen: Counter[str]) -> None:
    """What a keyed stage sends are rows again."""
    wanted = run_pipeline(folded(AS_ROWS, "min", "user", "max", "sum")).only
    found = run_pipeline(folded(AS_COLUMNS, "min", "user", "max", "sum"), cuts=[11, 40]).only
    assert by_key(found) == by_key(wanted)


CSV = CsvReaderFormat.for_schema(
    CsvSchema.builder()
    .add_number_column("user")
    .add_number_column("amount")
    .add_number_column("at", Types.INT())
    .set_use_header()
    .build()
)
BAD = OutputTag("bad")


def csv_file(folder: Path, header: str, *bad: str) -> Source:
    found = [",".join(map(str, record(index).values())) for index in range(RECORDS)]
    found[60:60] = bad
    (folder / "a.csv").write_text("\n".join([header, *found]) + "\n")
    return FileSource.for_record_stream_format(CSV, str(folder)).on_error(BAD).build()


@pytest.mark.parametrize("batch", [False, True])
def test_csv_is_summed_as_columns(
    batch: bool, tmp_path: Path, seen: Counter[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 100)
    env = StreamExecutionEnvironment()
    if batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    source = csv_file(tmp_path, "user,amount,at", "1,one,1", "2,+2,1")
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")
    sums = stream.key_by("user").sum("amount")
    how: Any = {"mode": "batch"} if batch else {"cuts": [10, 60]}
    results = run_pipeline({"sums": sums, "bad": stream.get_side_output(BAD)}, **how)
    (bad,) = results.streams["bad"]
    assert isinstance(bad, BadRecord) and bad.raw == b"1,one,1"
    totals = {key: found[-1]["amount"] for key, found in by_key(results.streams["sums"]).items()}
    wanted: Counter[int] = Counter({2: 2})
    for index in range(RECORDS):
        wanted[record(index)["user"]] += record(index)["amount"]
    assert totals == wanted
    assert (seen["columns"] or batch) and seen["rows"] < RECORDS / 2


def test_every_line_of_a_csv_with_a_wrong_header_is_given_aside(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment()
    source = csv_file(tmp_path, "user,amount,time")
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "csv")
    sums = stream.key_by("user").sum("amount")
    results = run_pipeline({"sums": sums, "bad": stream.get_side_output(BAD)}, cuts=[5, 50])
    assert not results.streams["sums"]
    assert len(results.streams["bad"]) == 1 + RECORDS


def test_the_other_fields_are_those_of_the_first_record() -> None:
    """Over several micro-batches, with texts and nulls beside the sum."""
    batch = {"key": ["a", "b", "a", "b"], "n": [1.5, 2.0, 0.1, 0.2], "text": ["x", None, "y", "z"]}

    def made(indexes: Any) -> dict[str, Any]:
        return {name: pa.array(values).take(pa.array(indexes)) for name, values in batch.items()}

    source = DataGeneratorSource.of_columns(made, 4)
    env = StreamExecutionEnvironment()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "s").key_by("key").sum("n")
    found = run_pipeline(stream, cuts=[1, 1, 1], backends="paged").only
    assert found == [
        {"key": "a", "n": 1.5, "text": "x"},
        {"key": "b", "n": 2.0, "text": None},
        {"key": "a", "n": 1.6, "text": "x"},
        {"key": "b", "n": 2.2, "text": None},
    ]


@pytest.mark.parametrize("batch", [False, True])
def test_columns_go_to_a_sink_as_the_records_they_hold(batch: bool) -> None:
    """Several micro-batches and chunks, and a source of rows beside that of columns."""
    written: dict[str, list[Any]] = {}
    for name, sources in (("columns", (AS_COLUMNS, AS_ROWS)), ("rows", (AS_ROWS, AS_ROWS))):
        found = written[name] = []
        settings = {"execution.target": "local", "headrace.source.max-records-per-batch": "50"}
        env = StreamExecutionEnvironment(Configuration.from_dict(settings))
        if batch:
            env.set_runtime_mode(RuntimeExecutionMode.BATCH)
        first, second = (env.from_source(s, TIMES, "s") for s in sources)
        sums = first.union(second).key_by("user").sum("amount")
        sums.sink_to(FunctionSink(found.extend))
        env.execute()
        assert all(type(each) is dict for each in found)
    final = [{key: each[-1]["amount"] for key, each in by_key(found).items()}
             for found in written.values()]  # fmt: skip
    assert final[0] == final[1] and len(written["columns"]) == len(written["rows"])
