"""Columns change nothing but the time it takes: results are those of the same program on rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.common._options.catalogue import FAILURE_CAPTURE_DIR
from headrace.common.types import RowKind
from headrace.connector import ColumnChunk, Source
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors import _indexed as indexed
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat, ParquetFormat
from headrace.runners import captures
from headrace.runners.launch import program_of
from headrace.runtime.columns.building import from_chunk
from headrace.runtime.columns.selectors import ByColumns, TimestampColumn
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.testing import PipelineResults, run_pipeline
from headrace.testing import _pipeline as pipeline
from tests.effort import examples

from .columns import WINDOW_MS, DoubleSpec, WindowSumsSpec, adding, taken

RECORDS = 300
DISORDER_MS = 30


@pytest.fixture(autouse=True)
def nothing_taken_yet() -> Iterator[None]:
    taken.update(columns=0, rows=0)
    yield


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def flushing(*arguments: Any) -> Any:
        program = program_of(*arguments)
        return replace(program, settings=replace(program.settings, flush_records=16))

    monkeypatch.setattr(indexed, "COLUMNS_RECORDS", 7)
    monkeypatch.setattr(indexed, "RANGE_RECORDS", 5)
    monkeypatch.setattr(indexed, "CHUNK_RECORDS", 2)
    monkeypatch.setattr(pipeline, "program_of", flushing)


def record(index: int) -> dict[str, int]:
    return {
        "user": index * 7919 % 13 - 3,
        "amount": index % 10,
        "at": index * 3 + index * 31 % DISORDER_MS,
    }


def records(indexes: Any) -> dict[str, Any]:
    return {
        "user": indexes * 7919 % 13 - 3,
        "amount": indexes % 10,
        "at": indexes * 3 + indexes * 31 % DISORDER_MS,
    }


def expected() -> list[tuple[Any, int, int]]:
    sums: Counter[tuple[int, int]] = Counter()
    for each in map(record, range(RECORDS)):
        sums[each["user"], (each["at"] // WINDOW_MS + 1) * WINDOW_MS - 1] += each["amount"] * 2
    return sorted((user, end, amount) for (user, end), amount in sums.items())


AS_COLUMNS = DataGeneratorSource.of_columns(records, RECORDS)
AS_ROWS = DataGeneratorSource(record, RECORDS)
TIMES = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(DISORDER_MS)
).with_timestamp_assigner(TimestampColumn("at"))


def sums(source: Source, selector: Any = None, strategy: Any = TIMES) -> DataStream:
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {"headrace.watermark.chunk-records": "3", "headrace.state.page-bytes": "200"}
        )
    )
    doubled = adding(env.from_source(source, strategy, "amounts"), DoubleSpec())
    return adding(doubled.key_by(selector or ByColumns("user")), WindowSumsSpec())


def run(stream: DataStream, **how: Any) -> PipelineResults:
    taken.update(columns=0, rows=0)
    return run_pipeline(stream, **how)


def test_operators_are_given_columns_where_the_source_has_them() -> None:
    assert sorted(run(sums(AS_COLUMNS)).only) == expected()
    assert taken == {"columns": 2 * RECORDS, "rows": 0}
    assert sorted(run(sums(AS_ROWS)).only) == expected()
    assert taken == {"columns": 0, "rows": 2 * RECORDS}


def test_a_selector_of_rows_ends_the_columns() -> None:
    assert sorted(run(sums(AS_COLUMNS, lambda value: value["user"])).only) == expected()
    assert taken == {"columns": RECORDS, "rows": RECORDS}


def test_a_field_by_its_name_is_a_column() -> None:
    assert sorted(run(sums(AS_COLUMNS, "user")).only) == expected()
    assert taken == {"columns": 2 * RECORDS, "rows": 0}


def test_an_assigner_that_is_called_with_records_is_given_rows() -> None:
    times = TIMES.with_timestamp_assigner(lambda value: value["at"])
    assert sorted(run(sums(AS_COLUMNS, strategy=times)).only) == expected()
    assert taken == {"columns": 0, "rows": 2 * RECORDS}


cuts = st.lists(st.integers(1, 60), max_size=8)


@settings(max_examples=examples(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts, st.integers(1, 5), st.integers(1, 3))
def test_property_of_columns(
    small_pieces: None, cuts: list[int], key_groups: int, parallelism: int
) -> None:
    spread = {"key_groups": key_groups, "parallelism": parallelism}
    for how in (
        {"cuts": cuts},
        {"cuts": cuts, **spread},
        {"cuts": cuts, "backends": "paged", "restarts": True, **spread},
        {"cuts": cuts, "restarts": "savepoint", "regroup": [(3, 2), (key_groups, 1)], **spread},
        {"mode": "batch"},
        {"mode": "batch", **spread},
    ):
        found = run(sums(AS_COLUMNS), **how)
        assert taken["columns"] and not taken["rows"]
        assert sorted(found.only) == expected(), how


@settings(max_examples=examples(3), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts, st.integers(1, 4))
def test_columns_and_rows_meet_in_one_operator(
    small_pieces: None, cuts: list[int], key_groups: int
) -> None:
    """One source has columns, another rows: their keys meet, each read under its own watermark."""

    def both() -> DataStream:
        env = StreamExecutionEnvironment()
        streams = [env.from_source(source, TIMES, "s") for source in (AS_COLUMNS, AS_ROWS)]
        first, second = (adding(stream, DoubleSpec()) for stream in streams)
        return adding(first.union(second).key_by(ByColumns("user")), WindowSumsSpec())

    twice = [(user, end, 2 * amount) for user, end, amount in expected()]
    for how in ({"cuts": cuts, "key_groups": key_groups, "parallelism": 2}, {"mode": "batch"}):
        found = run(both(), **how)
        assert sorted(found.only) == twice
        assert taken["columns"] and taken["rows"]


def test_operators_count_columns_as_they_count_rows() -> None:
    def counted(source: Source) -> list[tuple[str, int, int]]:
        stream = StreamExecutionEnvironment().from_source(source, TIMES, "amounts")
        twice = adding(adding(stream, DoubleSpec()), DoubleSpec())
        many = twice.filter(lambda value: value["amount"] > 99)
        sums = adding(adding(twice, DoubleSpec()).key_by(ByColumns("user")), WindowSumsSpec())
        found = run({"many": many, "sums": sums}, cuts=[7, 100]).batches[-1].total_operators
        return [(each.name, each.records_in, each.records_out) for each in found]

    found, rows = counted(AS_COLUMNS), taken["rows"]
    assert rows == 0
    assert found == counted(AS_ROWS)
    doubles = [each for each in found if each[0] == "Double"]
    assert doubles == [("Double", RECORDS, RECORDS)] * 3
    (came,) = [came for name, came, _ in found if name == "Filter"]
    assert came == RECORDS


def test_rows_after_columns_are_those_of_the_source() -> None:
    def plain(source: Source) -> Any:
        env = StreamExecutionEnvironment()
        stream = adding(env.from_source(source, TIMES, "s"), DoubleSpec())
        timed = stream.map(lambda value: (type(value).__name__, *value.items()))
        return run({"timed": timed, "again": stream.filter(lambda value: value["amount"] > 9)})

    found, wanted = plain(AS_COLUMNS), plain(AS_ROWS)
    assert found.streams == wanted.streams


def test_an_existing_program_reads_rows_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(self: Any, split_range: Any) -> Any:
        raise AssertionError("columns are of no use here")

    monkeypatch.setattr(indexed.IndexedReader, "read_columns", refused)
    env = StreamExecutionEnvironment()
    stream = env.from_source(AS_COLUMNS, TIMES, "s").key_by("user").reduce(lambda a, b: b)
    assert len(run(stream, mode="batch").only) == 13


def parquet(folder: Path, row_group_size: int = 50) -> None:
    table = pa.Table.from_pylist([*map(record, range(RECORDS))])
    at = pa.array([each["at"] * 1_000_000 for each in table.to_pylist()], pa.timestamp("ns"))
    table = table.set_column(2, "at", at)
    pq.write_table(table, folder / "a.parquet", row_group_size=row_group_size)


@pytest.mark.parametrize(
    "shape", [ParquetFormat(), ParquetColumnarRowInputFormat(pa.schema([("user", pa.int64()),
    ("amount", pa.int64()), ("at", pa.timestamp("ns"))]))]
)  # fmt: skip
@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_parquet_hands_its_columns_on(shape: Any, mode: Any, tmp_path: Path) -> None:
    parquet(tmp_path)
    source = FileSource.for_bulk_file_format(shape, str(tmp_path)).build()
    how = {"cuts": [20, 100]} if mode == "streaming" else {}
    found = run(sums(source), mode=mode, **how)
    assert sorted(found.only) == expected()
    assert taken == {"columns": 2 * RECORDS, "rows": 0}


def test_a_deleted_row_counts_against_its_window() -> None:
    """Row kinds come with the columns of a source, and with the rows made of them."""
    kinds = pa.array([0, 0, 3, 0], pa.int8())
    batch = pa.record_batch(
        {"user": [1, 2, 1, 1], "amount": [5, 7, 5, 2], "at": [1, 2, 3, 4], "kind": kinds}
    )
    rows = from_chunk(ColumnChunk(batch, NAMED_ROWS, "kind")).rows()
    assert rows[2].get_row_kind() is RowKind.DELETE
    env = StreamExecutionEnvironment()
    of_rows = env.from_collection(rows).assign_timestamps_and_watermarks(TIMES)
    found = run(adding(of_rows.key_by(ByColumns("user")), WindowSumsSpec())).only
    of_columns = adding(
        env.from_source(KindedSource(batch), TIMES, "k").key_by(ByColumns("user")),
        WindowSumsSpec(),
    )
    assert sorted(run(of_columns).only) == sorted(found) == [(1, 99, 2), (2, 99, 7)]
    assert taken["columns"] == 4


class KindedSource(DataGeneratorSource):
    """A source of one chunk of columns with row kinds."""

    def __init__(self, batch: Any) -> None:
        super().__init__(lambda index: None, batch.num_rows)
        object.__setattr__(self, "batch", batch)

    def reader(self) -> Any:
        return KindedReader(self.batch)


class KindedReader(indexed.IndexedReader):
    def __init__(self, batch: Any) -> None:
        def chunk(at: int, to: int) -> ColumnChunk:
            return ColumnChunk(batch[at:to], NAMED_ROWS, "kind")

        super().__init__(lambda _, at, to: from_chunk(chunk(at, to)).rows(), chunk)


def test_a_failure_names_the_operator_that_was_given_columns() -> None:
    env = StreamExecutionEnvironment()
    source = DataGeneratorSource.of_columns(lambda indexes: {"user": indexes, "at": indexes}, 5)
    stream = env.from_source(source, TIMES, "s").key_by(ByColumns("user"))
    with pytest.raises(KeyError) as raised:
        run(adding(stream, WindowSumsSpec("Sums of nothing")))
    assert "operator: Sums of nothing" in "".join(raised.value.__notes__)


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_failed_call_on_columns_is_replayed(mode: str, tmp_path: Path) -> None:
    def broken(indexes: Any) -> dict[str, Any]:
        return {"user": indexes % 3, "at": indexes}

    settings = {
        "execution.target": "local",
        "execution.runtime-mode": mode,
        FAILURE_CAPTURE_DIR.key: str(tmp_path),
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    source = env.from_source(DataGeneratorSource.of_columns(broken, 40), TIMES, "s")
    adding(source.key_by(ByColumns("user")), WindowSumsSpec()).print()
    with pytest.raises(KeyError):
        env.execute("broken")
    (file,) = tmp_path.glob(f"*{captures.SUFFIX}")
    replay = captures.replay_of(captures.read_call(str(file)))
    assert replay.records == 40
    with pytest.raises(KeyError):
        list(replay.run())
    replay.close()
