"""The file sink, in every format, by the contract of sinks; and what its options do."""

from __future__ import annotations

import csv
import json
import pickle
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.serialization import Encoder
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.connector import ColumnChunk, CommitterContext, Sink, WriterContext
from headrace.datastream.connectors._files.committer import FileCommitter
from headrace.datastream.connectors._files.sink import STAGING
from headrace.datastream.connectors._files.writer import MAX_OPEN_FILES
from headrace.datastream.connectors.file_system import (
    BucketAssigner,
    FileCompactor,
    FileCompactStrategy,
    FileSink,
    OutputFileConfig,
    RollingPolicy,
    StreamingFileSink,
)
from headrace.datastream.formats.csv import CsvBulkWriters, CsvEncoder, CsvSchema
from headrace.datastream.formats.json import JsonLinesEncoder
from headrace.datastream.formats.parquet import ParquetBulkWriters
from headrace.errors import JobError, PlanError, TypeMismatchError, UnsupportedError
from headrace.runtime.columns.shapes import NAMED_ROWS
from headrace.testing._contracts import SinkContract

ROWS = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
SCOPE = re.compile("[0-9a-f]{10}-")
EACH = RollingPolicy.on_checkpoint_rolling_policy()


class ByFirstLetter(BucketAssigner):
    def get_bucket_id(self, value: Any, timestamp: int | None) -> str | None:
        return f"letter={str(value)[0]}"


def visible(folder: Path) -> list[Path]:
    """The files that a reader of the folder sees."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [path for path in found if STAGING not in path.parts]


def names(folder: Path) -> list[str]:
    """Paths below the folder, without the sink's scope."""
    return [SCOPE.sub("", str(path.relative_to(folder))) for path in visible(folder)]


class TestTextByMicroBatch(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        encoder = Encoder.simple_string_encoder()
        builder = FileSink.for_row_format(str(folder), encoder)
        return builder.with_rolling_policy(EACH).build()

    def values(self, count: int) -> list[Any]:
        return [f"record {index} ä" for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        return [line for path in visible(folder) for line in path.read_text().splitlines()]

    def test_nothing_is_left_aside(self, sink: Sink, folder: Path) -> None:
        committer = self.committer(sink)
        self.prepare(sink, 0, self.values(10), "dead")
        committer.commit(0, self.prepare(sink, 0, self.values(10)))
        assert [path.name for path in (folder / STAGING / "sink-1").iterdir()] == ["journal"]
        assert names(folder) == ["part-0-0-0", "part-0-1-0"]


class TestTextRolled(TestTextByMicroBatch):
    """The default policy: pieces stay pending until the end of the input."""

    def make_sink(self, folder: Path) -> Sink:
        return FileSink.for_row_format(str(folder), Encoder.simple_string_encoder()).build()

    def test_nothing_is_left_aside(self, sink: Sink, folder: Path) -> None:
        committer = self.committer(sink)
        self.prepare(sink, 0, self.values(10), "dead")
        committer.commit(0, self.prepare(sink, 0, self.values(10)))
        assert names(folder) == []
        committer.finish()
        assert [path.name for path in (folder / STAGING / "sink-1").iterdir()] == ["journal"]
        assert names(folder) == ["part-0"]


class TestJsonInFolders(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        builder = FileSink.for_row_format(folder.as_uri(), JsonLinesEncoder())
        return builder.with_bucket_assigner(ByFirstLetter()).build()

    def values(self, count: int) -> list[Any]:
        return ["abc"[index % 3] + str(index) for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        lines = []
        for path in visible(folder):
            part = [json.loads(line) for line in path.read_text().splitlines()]
            assert {value[0] for value in part} == {path.parent.name[-1]}
            lines += part
        return lines


class TestCsvWithHeader(SinkContract):
    """Rolled: the header stands once at the top of every file."""

    def make_sink(self, folder: Path) -> Sink:
        encoder = CsvEncoder(["id", "name"], header=True)
        return (
            FileSink.for_row_format(str(folder), encoder)
            .with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=60))
            .build()
        )

    def values(self, count: int) -> list[Any]:
        return [{"id": str(index), "name": 'a,"b"'} for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        return [row for path in visible(folder) for row in csv.DictReader(path.open(newline=""))]


class TestCsvBulk(TestCsvWithHeader):
    def make_sink(self, folder: Path) -> Sink:
        schema = (
            CsvSchema.builder().add_string_column("id").add_string_column("name").set_use_header()
        )
        return FileSink.for_bulk_format(
            str(folder), CsvBulkWriters.for_schema(schema.build())
        ).build()


class TestParquet(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        config = OutputFileConfig.builder().with_part_prefix("p").with_part_suffix(".parquet")
        return (
            FileSink.for_bulk_format(str(folder), ParquetBulkWriters.for_row_type(ROWS))
            .with_output_file_config(config.build())
            .with_rolling_policy(EACH)
            .build()
        )

    def values(self, count: int) -> list[Any]:
        return [Row(id=index, name=None if index % 4 else str(index)) for index in range(count)]

    def columns(self, count: int) -> ColumnChunk:
        batch = pa.record_batch(
            {
                "id": pa.array(range(count), pa.int32()),
                "name": pa.array([None if index % 4 else str(index) for index in range(count)]),
            }
        )
        return ColumnChunk(batch, NAMED_ROWS)

    def published(self, folder: Path) -> list[Any]:
        rows = []
        for path in visible(folder):
            assert path.name.startswith("p-")
            assert path.suffix == ".parquet"
            rows += [Row(**row) for row in pq.read_table(path).to_pylist()]
        return rows


class TestCompacted(TestTextByMicroBatch):
    """Small files of two micro-batches become one."""

    def make_sink(self, folder: Path) -> Sink:
        strategy = FileCompactStrategy.builder().enable_compaction_on_checkpoint(2)
        return (
            FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())
            .with_rolling_policy(EACH)
            .enable_compact(strategy.build(), FileCompactor.concat_file_compactor())
            .build()
        )

    def test_nothing_is_left_aside(self, sink: Sink, folder: Path) -> None:
        seen = []
        for batch in range(5):
            prepared = self.prepare(sink, batch, self.values(4))
            self.committer(sink).commit(batch, prepared)
            seen.append(len(names(folder)))
        assert seen == [0, 1, 1, 2, 2]
        self.committer(sink).finish()
        assert names(folder) == ["part-0", "part-1", "part-2"]


class Clock:
    """A clock that tests set, in seconds."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def run(
    sink: FileSink,
    batch: int,
    values: Sequence[Any],
    clock: Clock | None = None,
    timestamps: Sequence[int | None] | None = None,
) -> None:
    writer = sink.writer(WriterContext("s", "job", batch, 0, "a"))
    writer.write(values, timestamps or [None] * len(values))
    committer = sink.committer(CommitterContext("s", "job"))
    assert isinstance(committer, FileCommitter)
    committer.clock = clock or Clock()
    prepared = writer.prepare_commit()
    committer.commit(batch, [] if prepared is None else [prepared])


def text_sink(folder: Path) -> Any:
    return FileSink.for_row_format(str(folder), Encoder.simple_string_encoder())


def test_a_file_is_complete_at_its_size(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=10)
    sink = text_sink(tmp_path).with_rolling_policy(policy).build()
    seen = []
    for batch, text in enumerate(["aaaa", "bbbb", "cccc", "dddddddddddd"]):
        run(sink, batch, [text])
        seen.append([path.read_text() for path in visible(tmp_path)])
    assert seen == [
        [],
        ["aaaa\nbbbb\n"],
        ["aaaa\nbbbb\n"],
        ["aaaa\nbbbb\n", "cccc\ndddddddddddd\n"],
    ]


def test_a_file_is_complete_at_its_age_or_after_a_pause(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(1 << 30, timedelta(seconds=60), 20_000)
    sink, clock = text_sink(tmp_path).with_rolling_policy(policy).build(), Clock()
    seen = []
    for batch, (wait, values) in enumerate(
        [(0, ["a"]), (15, ["b"]), (15, ["c"]), (15, ["d"]), (15, ["e"]), (10, ["f"]), (20, [])]
    ):
        clock.now += wait
        run(sink, batch, values, clock)
        seen.append("|".join(path.read_text().replace("\n", "") for path in visible(tmp_path)))
    # e completes a file that is 60 s old; f is followed by a pause of 20 s.
    assert seen == ["", "", "", "", "abcde", "abcde", "abcde|f"]


def test_a_file_of_a_clock_that_was_ahead_is_complete(tmp_path: Path) -> None:
    """Its age is not known; it must not wait until that time comes."""
    policy = RollingPolicy.default_rolling_policy(1 << 30, timedelta(seconds=60), 20_000)
    sink, clock = text_sink(tmp_path).with_rolling_policy(policy).build(), Clock()
    clock.now += 3600
    run(sink, 0, ["a"], clock)
    clock.now -= 3600
    run(sink, 1, [], clock)
    assert [path.read_text() for path in visible(tmp_path)] == ["a\n"]


@pytest.mark.parametrize("comes_more", [True, False])
def test_what_was_pending_is_published_where_the_policy_is_no_longer_there(
    tmp_path: Path, comes_more: bool
) -> None:
    encoder = CsvEncoder(["id", "name"], header=True)
    builder = FileSink.for_row_format(str(tmp_path), encoder)
    large = RollingPolicy.default_rolling_policy(part_size=1 << 20)
    sink = builder.with_rolling_policy(large).build()
    run(sink, 0, [(1, "a")])
    run(sink, 1, [(2, "b")])
    assert visible(tmp_path) == []
    sink = builder.with_rolling_policy(EACH).build()
    run(sink, 2, [(3, "c")] if comes_more else [])
    sink.committer(CommitterContext("s", "job")).finish()
    found = [path.read_text() for path in visible(tmp_path)]
    assert found == ["id,name\n1,a\n2,b\n", "id,name\n3,c\n"][: 1 + comes_more]


def test_folders_by_time(tmp_path: Path) -> None:
    assigner = BucketAssigner.date_time_bucket_assigner("yyyy/MM/dd'T'HH", "Europe/Berlin")
    sink = text_sink(tmp_path).with_rolling_policy(EACH).with_bucket_assigner(assigner).build()
    clock = Clock()
    clock.now = 1_700_000_000.0
    run(sink, 0, ["early", "late", "unknown"], clock, [0, 86_400_000, None])
    assert names(tmp_path) == [
        "1970/01/01T01/part-0-0-0",
        "1970/01/02T01/part-0-0-1",
        "2023/11/14T23/part-0-0-2",
    ]


@pytest.mark.parametrize("pattern", ["yyyy-'", "EEE", "YYYY"])
def test_unknown_time_formats_fail_when_built(pattern: str) -> None:
    with pytest.raises(PlanError):
        BucketAssigner.date_time_bucket_assigner(pattern)
    with pytest.raises(PlanError):
        BucketAssigner.date_time_bucket_assigner(timezone_id="Nowhere/Land")


class Outside(BucketAssigner):
    def get_bucket_id(self, value: Any, timestamp: int | None) -> str | None:
        return "a/../../b"


def test_a_bucket_cannot_leave_the_base_path(tmp_path: Path) -> None:
    sink = text_sink(tmp_path / "out").with_bucket_assigner(Outside()).build()
    with pytest.raises(JobError, match="outside"):
        run(sink, 0, ["x"])


@dataclass(frozen=True)
class Always(BucketAssigner):
    bucket: str

    def get_bucket_id(self, value: Any, timestamp: int | None) -> str | None:
        return self.bucket


@pytest.mark.parametrize("policy", [EACH, RollingPolicy.default_rolling_policy()])
@pytest.mark.parametrize("bucket", [f"{STAGING}/x", STAGING, f"./{STAGING}//x/", f"/{STAGING}"])
def test_a_bucket_is_not_the_folder_of_what_is_not_yet_published(
    tmp_path: Path, bucket: str, policy: RollingPolicy
) -> None:
    builder = text_sink(tmp_path).with_bucket_assigner(Always(bucket))
    with pytest.raises(JobError, match="the bucket"):
        run(builder.with_rolling_policy(policy).build(), 0, ["x"])
    assert visible(tmp_path) == []


def test_a_bucket_may_have_a_name_that_begins_like_it(tmp_path: Path) -> None:
    bucket = f"{STAGING}-2/{STAGING}"
    builder = text_sink(tmp_path).with_bucket_assigner(Always(bucket))
    run(builder.with_rolling_policy(EACH).build(), 0, ["x"])
    assert [path.read_text() for path in (tmp_path / bucket).iterdir()] == ["x\n"]


def test_more_folders_than_open_files(tmp_path: Path) -> None:
    class ByValue(BucketAssigner):
        def get_bucket_id(self, value: Any, timestamp: int | None) -> str | None:
            return str(value)

    sink = text_sink(tmp_path).with_bucket_assigner(ByValue()).with_rolling_policy(EACH).build()
    values = [*range(MAX_OPEN_FILES + 20)] * 2
    writer = sink.writer(WriterContext("s", "job", 0, 0, "a"))
    for value in values:
        writer.write([value], [None])
    committer = sink.committer(CommitterContext("s", "job"))
    committer.commit(0, [writer.prepare_commit()])
    written = [int(line) for path in visible(tmp_path) for line in path.read_text().split()]
    assert sorted(written) == sorted(values)


def test_another_run_has_other_names(tmp_path: Path) -> None:
    """A fresh run has another sink id."""
    sink = text_sink(tmp_path).with_rolling_policy(EACH).build()
    for sink_id in ("run-1", "run-2"):
        writer = sink.writer(WriterContext(sink_id, "job", 0, 0, "a"))
        writer.write([sink_id], [None])
        sink.committer(CommitterContext(sink_id, "job")).commit(0, [writer.prepare_commit()])
    assert names(tmp_path) == ["part-0-0-0", "part-0-0-0"]
    assert sorted(path.read_text() for path in visible(tmp_path)) == ["run-1\n", "run-2\n"]


def test_an_earlier_micro_batch_is_an_error(tmp_path: Path) -> None:
    sink = text_sink(tmp_path).with_rolling_policy(EACH).build()
    run(sink, 7, ["a"])
    with pytest.raises(JobError, match="micro-batch 3"):
        run(sink, 3, ["b"])


def test_declared_types_are_written_as_flink_shows_them(tmp_path: Path) -> None:
    sink = text_sink(tmp_path).with_rolling_policy(EACH).build()
    run(sink.with_type_info(ROWS), 0, [Row(id=1, name="a")])
    assert visible(tmp_path)[0].read_text() == "+I[1, a]\n"


def test_a_record_that_does_not_fit_is_an_error(tmp_path: Path) -> None:
    sink = FileSink.for_row_format(str(tmp_path), JsonLinesEncoder()).build()
    with pytest.raises(TypeMismatchError, match="object"):
        run(sink, 0, [{"a": object()}])
    parquet = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(ROWS)).build()
    with pytest.raises(TypeMismatchError):
        run(parquet, 0, [Row(id="x", name="a")])


def test_builders_refuse_what_cannot_work(tmp_path: Path) -> None:
    bulk = FileSink.for_bulk_format(str(tmp_path), ParquetBulkWriters.for_row_type(ROWS))
    with pytest.raises(PlanError, match="bulk"):
        bulk.with_rolling_policy(RollingPolicy.default_rolling_policy())
    strategy = FileCompactStrategy.builder().set_size_threshold(10).set_num_compact_threads(2)
    with pytest.raises(UnsupportedError):
        bulk.enable_compact(strategy.build(), FileCompactor.concat_file_compactor())
    same = bulk.enable_compact(strategy.build(), FileCompactor.identical_file_compactor())
    assert same.disable_compact().with_bucket_check_interval(1000).build() == bulk.build()
    for wrong in (
        lambda: FileSink.for_row_format(str(tmp_path), "utf-8"),  # type: ignore[arg-type]
        lambda: FileSink.for_bulk_format(str(tmp_path), "parquet"),  # type: ignore[arg-type]
        lambda: OutputFileConfig("a/b", ""),
        lambda: RollingPolicy.default_rolling_policy(part_size=0),
        lambda: FileCompactStrategy.builder().build(),
    ):
        with pytest.raises(PlanError):
            wrong()


def test_compaction_by_size_with_a_delimiter(tmp_path: Path) -> None:
    strategy = FileCompactStrategy.builder().set_size_threshold(4).build()
    sink = (
        text_sink(tmp_path)
        .with_rolling_policy(EACH)
        .enable_compact(strategy, FileCompactor.concat_file_compactor(b"--\n"))
        .build()
    )
    for batch, text in enumerate("abc"):
        run(pickle.loads(pickle.dumps(sink)), batch, [text])
    assert [path.read_text() for path in visible(tmp_path)] == ["a\n--\nb\n"]


def test_the_older_name_makes_file_sinks(tmp_path: Path) -> None:
    encoder = Encoder.simple_string_encoder()
    builder = StreamingFileSink.for_row_format(str(tmp_path), encoder)
    policy, config = RollingPolicy.on_checkpoint_rolling_policy(), OutputFileConfig("part", ".txt")
    builder.with_rolling_policy(policy).with_output_file_config(config)
    with pytest.deprecated_call(match="use FileSink"):
        sink = builder.build()
    made = FileSink.for_row_format(str(tmp_path), encoder).with_rolling_policy(policy)
    assert sink == made.with_output_file_config(config).build()
