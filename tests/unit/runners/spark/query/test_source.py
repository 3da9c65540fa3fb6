"""Spark's side of the sources, beside the driver, without Spark."""

from __future__ import annotations

import json
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from headrace.common import Configuration, WatermarkStrategy
from headrace.connector import (
    Budget,
    Pending,
    Progress,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors._indexed import IndexedReader
from headrace.errors import CheckpointError, JobError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runners.spark.checkpoint.generations import Generation, Origin
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runners.spark.failures import TaskFailure
from headrace.runners.spark.planned import write_reading_ms
from headrace.runners.spark.query.driver_plan import DriverPlan, QueryPlan, StopSignal
from headrace.runners.spark.query.sink import BatchSinkWriter
from headrace.runners.spark.query.source import BatchReader, StreamReader
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runtime.tasks.source_task import SourceTaskInput, SplitState


class FromTheMiddle(SplitEnumerator):
    """Two splits that appear one after the other; each is read from 5 to 8, after a quiet look."""

    looks = 0
    called: ClassVar[list[Any]] = []

    def committed(self, positions: Any) -> None:
        self.called.append(dict(positions))

    def close(self) -> None:
        self.called.append("closed")

    def initial(self, now_ms: int) -> dict[str, Any]:
        return {"a": 5}

    def advance(self, positions: Any, budget: Budget, now_ms: int, paused: Any) -> Progress:
        self.looks += 1
        if self.looks % 2:
            return Progress(positions)
        if "b" in positions:
            return Progress({}, {"b": 8}, ended=True)
        if positions["a"] == 5:
            return Progress({"a": 7})
        return Progress({"b": 6}, {"a": 8}, started={"b": 5})

    def ranges(self, start: Any, end: Any, finished: Any) -> list[SplitRange]:
        return [SplitRange(split, start[split], end[split]) for split in sorted(end)]


class MiddleSource(Source):
    bounded = True

    def enumerator(self, directory: str) -> SplitEnumerator:
        return FromTheMiddle()

    def reader(self) -> SplitReader:
        return IndexedReader(lambda split_range, start, end: list(range(start, end)))


@pytest.fixture
def plan(tmp_path: Path) -> DriverPlan:
    FromTheMiddle.called.clear()
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "2"})
    )
    env.from_source(MiddleSource(), WatermarkStrategy.no_watermarks(), "middle").print()
    program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    return DriverPlan(
        program, QueryPlan(ProgramRef("run", b""), CheckpointFolder(str(tmp_path)), 1, ("", 0), b"")
    )


def inputs(partitions: Any) -> list[SourceTaskInput]:
    return [pickle.loads(partition.data) for partition in partitions]


def ranges(partitions: Any) -> list[tuple[str, int, int]]:
    found = [r for task in inputs(partitions) for work in task.work for r in work.ranges]
    return [(r.split, r.start, r.end) for r in found]


def test_a_batch_reads_from_the_first_positions_to_the_end(plan: DriverPlan) -> None:
    partitions = BatchReader(plan).partitions()
    assert sorted(ranges(partitions)) == [("a", 5, 8), ("b", 5, 8)]
    assert len(partitions) <= 3  # one announces, two read


class Silent(FromTheMiddle):
    """Fails when the time at which it is asked is not the first any more."""

    first_ms: int | None = None

    def advance(self, positions: Any, budget: Budget, now_ms: int, paused: Any) -> Progress:
        self.first_ms = self.first_ms or now_ms
        if now_ms > self.first_ms:
            raise JobError("nobody answers")
        return Progress(positions)


def test_a_batch_does_not_wait_for_ever_for_a_source(
    plan: DriverPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MiddleSource, "enumerator", lambda self, directory: Silent())
    with pytest.raises(TaskFailure, match="nobody answers"):
        BatchReader(plan).partitions()


def test_a_stream_logs_both_ends(plan: DriverPlan) -> None:
    reader, read = StreamReader(plan), []
    start = json.loads(json.dumps(reader.initialOffset()))
    taken = []
    for _ in range(8):
        text = json.dumps(reader.latestOffset(start, ReadAllAvailable()))
        if text != json.dumps(start):
            taken.append((start, json.loads(text)))
            read += ranges(reader.partitions(*taken[-1]))
            start = json.loads(text)
            SplitStates(plan.query.checkpoint_folder.store).save(
                start["epoch"], {}
            )  # as the sink's commit does
    assert read == [("a", 5, 5), ("a", 5, 7), ("a", 7, 8), ("b", 5, 6), ("b", 6, 8)]
    again = StreamReader(plan)
    assert [r for each in taken for r in ranges(again.partitions(*each))] == read


def test_what_is_left_after_a_micro_batch_is_logged(
    plan: DriverPlan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pending(self: Any, positions: dict[str, int]) -> Pending:
        return Pending(sum(8 - at for at in positions.values()))

    monkeypatch.setattr(FromTheMiddle, "pending", pending, raising=False)
    reader = StreamReader(plan)
    start = reader.initialOffset()
    (source,) = reader.latestOffset(start, ReadAllAvailable())["sources"].values()
    assert (source["positions"], source["unread"]) == ({"a": 5}, 3)
    available = reader.reportLatestOffset()
    assert available is not None and available["middle"]["pendingRecords"] == 3


def test_a_micro_batch_after_fast_ones_has_fewer_tasks(plan: DriverPlan, tmp_path: Path) -> None:
    file = str(tmp_path / "reading-ms")
    reader = StreamReader(replace(plan, query=replace(plan.query, reading_ms_file=file)))
    start, task_records = reader.initialOffset(), []
    reading_ms = iter([0.1, 0.1, 20.0, 20.0])  # of 1, 1, 2 and 1 ranges, each of which counts as 1
    planned = []
    for _ in range(8):
        end = reader.latestOffset(start, ReadAllAvailable())
        if end["epoch"] > start["epoch"]:
            task_records.append(end["cut"].get("task_records", 1))
            planned.append((start, end, inputs(reader.partitions(start, end))))
            SplitStates(plan.query.checkpoint_folder.store).save(end["epoch"], {})
            write_reading_ms(file, next(reading_ms))
            start = end
    assert task_records == [1, 200, 200, 2]
    again = StreamReader(plan)  # after a crash, when nothing is known of earlier micro-batches
    for start, end, tasks in planned:
        logged = json.loads(json.dumps(start)), json.loads(json.dumps(end))
        assert inputs(again.partitions(*logged)) == tasks


def test_a_job_goes_on_where_nothing_can_be_written_beside_it(
    plan: DriverPlan, tmp_path: Path
) -> None:
    gone = str(tmp_path / "gone" / "file")
    query = replace(plan.query, reading_ms_file=gone, planned_file=gone)
    reader = StreamReader(replace(plan, query=query))
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert reader.partitions(start, end)
    write_reading_ms(gone, 0.1)
    assert reader.latestOffset(end, ReadAllAvailable())["epoch"] == 2


def test_the_progress_of_the_query_shows_what_each_source_has(plan: DriverPlan) -> None:
    reader = StreamReader(plan)
    start = json.loads(json.dumps(reader.initialOffset()))
    assert reader.reportLatestOffset() is None
    reader.latestOffset(start, ReadAllAvailable())
    assert reader.reportLatestOffset() == {"middle": {"splits": 1}}


def test_a_source_knows_at_once_what_is_committed(plan: DriverPlan) -> None:
    """Spark reports a micro-batch when the next one is planned; on a quiet topic that is never."""
    reader = StreamReader(plan)
    start = json.loads(json.dumps(reader.initialOffset()))
    end = json.loads(json.dumps(reader.latestOffset(start, ReadAllAvailable())))
    assert end != start and FromTheMiddle.called == []
    SplitStates(plan.query.checkpoint_folder.store).save(end["epoch"], {})
    for _ in range(2):
        reader.latestOffset(end, ReadAllAvailable())
    reader.commit(end)
    assert FromTheMiddle.called == [{"a": 5}]
    StreamReader(plan).latestOffset(end, ReadAllAvailable())  # begun anew from the checkpoint
    assert FromTheMiddle.called == [{"a": 5}, {"a": 5}]


def test_a_new_generation_begins_where_the_last_one_stood(plan: DriverPlan) -> None:
    first = StreamReader(plan)
    start = json.loads(json.dumps(first.initialOffset()))
    ends = [start]
    for _ in range(2):
        ends.append(json.loads(json.dumps(first.latestOffset(ends[-1], ReadAllAvailable()))))
        SplitStates(plan.query.checkpoint_folder.store).save(ends[-1]["epoch"], {})
    _, at, planned = ends
    origin = Origin(0, 1, (), at, planned)
    reader = StreamReader(
        replace(plan, query=replace(plan.query, generation=Generation(1, 2, origin)))
    )
    assert json.dumps(reader.initialOffset()) == json.dumps(at)
    end = reader.latestOffset(at, ReadAllAvailable())
    assert json.dumps(end) == json.dumps(planned)
    assert ranges(reader.partitions(at, end)) == ranges(first.partitions(at, planned))
    assert reader.partitions(at, at) == [] != ranges(first.partitions(start, at))
    after = json.loads(json.dumps(end))
    following = [reader.latestOffset(after, ReadAllAvailable())["epoch"] for _ in range(2)]
    assert following == [after["epoch"], after["epoch"] + 1]  # a quiet look first


def test_asked_to_stop_nothing_more_is_planned_but_what_was_planned_before(
    plan: DriverPlan, tmp_path: Path
) -> None:
    stop = StopSignal(str(tmp_path))
    reader = StreamReader(replace(plan, query=replace(plan.query, stop=stop)))
    start = json.loads(json.dumps(reader.initialOffset()))
    end = json.loads(json.dumps(reader.latestOffset(start, ReadAllAvailable())))
    assert end != start and not stop.acknowledged.exists()
    stop.requested.touch()
    origin = Origin(0, -1, (), start, end)
    moved = replace(plan.query, stop=stop, generation=Generation(1, 0, origin))
    repeating = StreamReader(replace(plan, query=moved))
    assert repeating.latestOffset(start, ReadAllAvailable()) == end
    assert not stop.acknowledged.exists()
    SplitStates(plan.query.checkpoint_folder.store).save(end["epoch"], {})
    for _ in range(3):
        assert repeating.latestOffset(end, ReadAllAvailable()) == end
    assert stop.acknowledged.exists()
    assert FromTheMiddle.called == [{"a": 5}, "closed"]


def test_a_stream_that_writes_dataframes_keeps_what_splits_remember(plan: DriverPlan) -> None:
    said = {("middle", "a"): SplitState(5, {})}
    BatchSinkWriter(plan, 0)._saved_states(1, [said])
    assert SplitStates(plan.query.checkpoint_folder.store).load(1) == said
    batch = replace(plan, program=replace(plan.program, batch=True))
    BatchSinkWriter(batch, 0)._saved_states(2, [said])
    assert not SplitStates(plan.query.checkpoint_folder.store).has(2)


def test_an_offset_of_another_format_is_refused(plan: DriverPlan) -> None:
    old = {"epoch": 3, "now": 5, "sources": {"0": {"pos": {"a": 7}, "done": [], "ended": False}}}
    with pytest.raises(Exception, match="has format None") as caught:
        StreamReader(plan).latestOffset(old, ReadAllAvailable())
    assert CheckpointError.__name__ in f"{caught.type} {caught.value}"
