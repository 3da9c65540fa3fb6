"""What a task writes: where it reads too, and with records that a sink has encoded."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.connector import CommitBy, Committer, Sink, SinkWriter, WriterContext
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.runners import program_classes
from headrace.runners.launch import program_of
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.query import source
from headrace.runners.spark.query.driver_plan import DriverPlan, QueryPlan
from headrace.runners.spark.query.source import StreamReader
from headrace.runners.spark.query.worker import ProgramRef, WorkerJob
from headrace.runners.spark.query.writing import TaskMessage, write_task, writes_where_it_reads
from headrace.testing import run_pipeline

EVENTS: list[Any] = []


@pytest.fixture(autouse=True)
def no_events() -> None:
    EVENTS.clear()


class Writer(SinkWriter):
    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        EVENTS.append([*values])

    def prepare_commit(self) -> Any:
        EVENTS.append("prepare")
        return "prepared"

    def abort(self) -> None:
        EVENTS.append("abort")


@dataclass(frozen=True)
class Aside(Sink):
    encode: Callable[[Any], Any] | None = None
    commits: CommitBy = CommitBy.DRIVER  # type: ignore[misc]

    @property
    def record_encoder(self) -> Callable[[Any], Any] | None:
        return self.encode

    def writer(self, context: WriterContext) -> SinkWriter:
        return Writer()

    def committer(self, context: Any) -> Committer:
        return NoCommitter()


class NoCommitter(Committer):
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """What was written is there."""


def read(
    stream: Callable[[StreamExecutionEnvironment], DataStream],
    sink: Sink | Sequence[Sink],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> TaskMessage:
    """What the one task of a job has for the commit, as it comes out of the sink's worker."""
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"parallelism.default": "1"})
    )
    for each in [sink] if isinstance(sink, Sink) else sink:
        stream(env).sink_to(each)
    program = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    program = replace(program, settings=replace(program.settings, flush_records=1000))
    assert writes_where_it_reads(program)
    job = WorkerJob(program, program_classes.ClassesByName())
    monkeypatch.setattr(source, "worker_job", lambda ref: job)
    query = QueryPlan(ProgramRef("run", b""), CheckpointFolder(str(folder)), 1, ("", 0), b"")
    reader = StreamReader(DriverPlan(program, query))
    start = reader.initialOffset()
    (*_, task) = reader.partitions(start, reader.latestOffset(start, None))  # type: ignore[arg-type]
    worker = pickle.loads(pickle.dumps(reader))
    found: TaskMessage = pickle.loads(write_task(query.program_ref, worker.read(task), 0).data)
    return found


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3])


@pytest.mark.parametrize("commits", [*CommitBy])
def test_a_task_that_reads_also_writes(
    commits: CommitBy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = read(numbers, Aside(commits=commits), tmp_path, monkeypatch)
    assert EVENTS == [[1, 2, 3], "prepare"]
    assert [*message.committables.values()] == ["prepared"]
    assert message.states and message.metrics


@pytest.mark.parametrize("commits", [*CommitBy])
def test_a_writer_is_aborted_when_reading_fails(
    commits: CommitBy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer whose transaction shall not wait is not made before all is read."""

    def fails(number: int) -> int:
        if number == 5000:
            raise ValueError("five thousand")
        return number

    def stream(env: StreamExecutionEnvironment) -> DataStream:
        return env.from_sequence(0, 9000).map(fails)

    with pytest.raises(Exception, match="five thousand"):
        read(stream, Aside(commits=commits), tmp_path, monkeypatch)
    if commits is CommitBy.TASK:
        assert EVENTS == []
    else:
        assert EVENTS[0][0] == 0 and EVENTS[-1] == "abort"


def test_nothing_is_written_where_it_is_read_after_a_shuffle(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers(env).key_by(lambda n: n).sum().sink_to(Aside())
    assert not writes_where_it_reads(
        program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")
    )


# Writers in threads.

MEETING = threading.Barrier(2)


class MeetingWriter(Writer):
    """Commits when another writer is about to commit, too."""

    def prepare_commit(self) -> Any:
        MEETING.wait(10)
        return super().prepare_commit()


class FailingWriter(Writer):
    def prepare_commit(self) -> Any:
        MEETING.wait(10)
        raise OSError("no broker answers")


@dataclass(frozen=True)
class InThread(Aside):
    commits: CommitBy = CommitBy.TASK  # type: ignore[misc]
    writers: type[Writer] = MeetingWriter

    @property
    def writes_in_thread(self) -> bool:
        return True

    def writer(self, context: WriterContext) -> SinkWriter:
        return self.writers()


def test_sinks_that_wait_for_servers_are_written_side_by_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = read(numbers, [InThread(), InThread()], tmp_path, monkeypatch)
    assert sorted(map(str, EVENTS)) == ["[1, 2, 3]", "[1, 2, 3]", "prepare", "prepare"]
    assert [*message.committables.values()] == ["prepared", "prepared"]


def test_a_sink_that_fails_beside_another_is_aborted_and_the_other_commits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sinks = [InThread(writers=FailingWriter), InThread()]
    with pytest.raises(Exception, match="no broker answers"):
        read(numbers, sinks, tmp_path, monkeypatch)
    assert EVENTS.count("abort") == 1
    assert EVENTS.count("prepare") == 1


# Encoders.


def doubled(value: int) -> bytes:
    if value == 2:
        raise ValueError("no two")
    return b"%d" % (2 * value)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_writer_gets_what_the_encoder_made(keyed: bool) -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        found = env.from_collection([1, 3])
        if keyed:
            found = found.key_by(lambda n: 0).reduce(lambda one, other: other)
        found.sink_to(Aside(doubled))
        found.map(lambda n: -n).sink_to(Aside())
        return found

    results = run_pipeline(program)
    assert [*results.values()] == [[1, 3]]  # others get the records
    assert sorted(EVENTS, key=str) == [[-1, -3], [b"2", b"6"], "prepare", "prepare"]


def test_a_record_that_cannot_be_encoded_is_reported_with_its_sink() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        found = env.from_collection([1, 2])
        found.sink_to(Aside(doubled)).name("orders").uid("orders-out")
        return found

    with pytest.raises(ValueError, match="no two") as caught:
        run_pipeline(program)
    (note,) = caught.value.__notes__
    assert note.startswith("sink:     orders (uid=orders-out), built at ")
    assert "record:   2" in note
