"""A checkpoint that is older than the results in its sinks: noticed before anything is planned."""

from __future__ import annotations

import itertools
import shutil
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Encoder
from headrace.connector import CommitBy, CommitterContext, Sink, SinkWriter, WriterContext
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, RollingPolicy
from headrace.errors import CheckpointError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runners.sinks import make_committer
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.older_copy import make_sinks_consistent
from headrace.runtime.program import JobProgram, SinkProgram
from tests.connectors.sqlite_log import SqliteLogSink, connect
from tests.connectors.test_sqlite_log import content, make_log
from tests.unit.runners.spark.checkpoint.test_checkpoint import spark_commits

NO_SPARK: Any = None  # none of these sinks is Spark's
TASKS = 2
_attempts = itertools.count()


@dataclass(frozen=True)
class AnySink(Sink):
    """A sink that cannot say which micro-batches it has; or that may not be asked."""

    commits = CommitBy.TASK
    may_be_asked: bool = True

    def writer(self, context: WriterContext) -> SinkWriter:
        raise NotImplementedError

    def last_batch(self, context: CommitterContext) -> int | None:
        assert self.may_be_asked, "a checkpoint that is new has nothing in a sink"
        return super().last_batch(context)


class Job:
    """A job of some sinks, of which a test does what Spark does."""

    def __init__(self, folder: Path, *sinks: Sink) -> None:
        self.base, self.sinks = folder / "checkpoint", sinks
        self.folder = self.base / "job"

    def program(self) -> JobProgram:
        env = StreamExecutionEnvironment(Configuration.from_dict({"parallelism.default": "3"}))
        sums = env.from_sequence(1, 9).key_by(lambda v: v).sum().uid("sums")
        for number, sink in enumerate(self.sinks):
            sums.sink_to(sink).uid(f"sink {number}")
        return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")

    def start(self, write_again: bool = False, fresh: bool = False) -> JobProgram:
        """What a start comes to: the program with the ids that its sinks write under."""
        program = self.program()
        with Checkpoint.open(str(self.base), program, fresh) as checkpoint:
            make_sinks_consistent(checkpoint, NO_SPARK, write_again)
            return replace(checkpoint.program, scope=checkpoint.scope)

    def log(self, committed: int, planned: int | None = None) -> None:
        """Spark's log with these micro-batches."""
        shutil.rmtree(self.folder / "spark", ignore_errors=True)
        spark_commits(self.folder / "spark", *range(committed + 1), planned=planned)

    def refused(self) -> str:
        with pytest.raises(CheckpointError, match="is older than the results in its") as caught:
            self.start()
        assert caught.value.where == {"checkpoint": str(self.folder)}
        hint = str(caught.value.hint)
        assert "headrace.restore.write-again: true" in hint and "--fresh" in hint
        return caught.value.message


def write(program: JobProgram, sink: SinkProgram, batch: int, values: Sequence[Any]) -> None:
    """One micro-batch, by tasks in turns; a task without records has no writer."""
    prepared, sink_id, attempt = [], program.sink_id(sink), f"attempt-{next(_attempts)}"
    for task in range(TASKS):
        if mine := values[task::TASKS]:
            context = WriterContext(sink_id, program.name, batch, task, attempt, TASKS)
            writer = sink.sink.writer(context)
            writer.write(mine, [None] * len(mine))
            prepared.append(writer.prepare_commit())
            context.worker.close()
    if sink.sink.commits is CommitBy.DRIVER:
        make_committer(program, sink).commit(batch, prepared)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    make_log(tmp_path / "log.db")
    return tmp_path / "log.db"


def mark(log: Path, program: JobProgram, last: Sequence[int], number: int = 0) -> None:
    """What a sink's tasks have committed last."""
    sink_id = program.sink_id(program.sinks[number])
    with closing(connect(str(log))) as client:
        marks = [(sink_id, task, batch) for task, batch in enumerate(last)]
        client.executemany("REPLACE INTO marker VALUES (?, ?, ?)", marks)


@pytest.mark.parametrize(
    ("markers", "committed", "planned"),
    [
        ([], 32, None),  # nothing was ever written
        ([32, 31], 32, None),  # a task had no records
        ([12], 32, None),
        ([33, 32], 32, 33),  # a driver died between the sink's commit and Spark's note
        ([33], 32, 33),
        ([32], 32, 33),  # or before the commit
        ([0], -1, 0),
    ],
)
def test_a_job_goes_on_from_its_newest_checkpoint(
    log: Path, tmp_path: Path, markers: list[int], committed: int, planned: int | None
) -> None:
    job = Job(tmp_path, SqliteLogSink(str(log)))
    scope = job.start().scope
    job.log(committed, planned)
    mark(log, job.start(), markers)
    assert job.start().scope == job.start(write_again=True).scope == scope


@pytest.mark.parametrize(
    ("markers", "committed", "planned", "said"),
    [
        ([58, 58], 32, None, "ends with micro-batch 32, and 'SqliteLogSink' (uid=sink 0)"),
        ([3, 58, 32], 32, None, "has micro-batch 58"),  # one task alone, of a wider run perhaps
        ([58], 32, 33, "ends with micro-batch 33, and"),
        ([33], 32, None, "ends with micro-batch 32, and"),  # one ahead, and never planned here
        ([34], 32, 33, "has micro-batch 34"),
        ([0], -1, None, "ends with no micro-batch, and"),  # a copy from before the first one
    ],
)
def test_an_older_copy_is_refused_with_both_numbers(
    log: Path, tmp_path: Path, markers: list[int], committed: int, planned: int | None, said: str
) -> None:
    job = Job(tmp_path, SqliteLogSink(str(log)))
    mark(log, job.start(), markers)
    if committed >= 0 or planned is not None:
        job.log(committed, planned)
    for _ in range(2):
        assert said in job.refused()
    job.start(fresh=True)


def test_with_write_again_all_sinks_write_under_new_ids(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.db"
    make_log(other)
    job = Job(tmp_path, SqliteLogSink(str(log)), SqliteLogSink(str(other)), AnySink())
    before = job.start()
    job.log(32)
    mark(log, before, [32])
    mark(other, before, [58], 1)
    assert "'SqliteLogSink' (uid=sink 1) has micro-batch 58" in job.refused()
    again = job.start(write_again=True)
    assert "later results are written a second time" in capsys.readouterr().err
    assert again.scope != before.scope
    mark(log, again, [33])
    job.log(33)
    assert job.start().scope == job.start(write_again=True).scope == again.scope
    mark(log, again, [41])  # another copy, of the restored job
    assert "ends with micro-batch 33, and 'SqliteLogSink' (uid=sink 0)" in job.refused()


def test_sinks_of_a_new_checkpoint_are_not_asked(tmp_path: Path) -> None:
    job = Job(tmp_path, AnySink(may_be_asked=False))
    job.start()
    with pytest.raises(AssertionError, match="a checkpoint that is new"):
        job.start()
    job.start(fresh=True)


def test_a_sink_that_is_away_or_new_in_the_copy_changes_nothing(log: Path, tmp_path: Path) -> None:
    """Its rows are not in danger before it is written to again: then it is asked."""
    job = Job(tmp_path, AnySink(), SqliteLogSink(str(log)))
    before = job.start()
    mark(log, before, [58], 1)
    job.log(32)
    sinks, job.sinks = job.sinks, job.sinks[:1]
    assert job.start().scope == before.scope
    job.sinks = sinks
    assert "has micro-batch 58" in job.refused()


def rows(first: int, last: int) -> list[str]:
    return [f"row {number}" for number in range(first, last)]


def kinds_of_sinks(tmp_path: Path) -> dict[str, Sink]:
    make_log(tmp_path / "log.db")
    lines = FileSink.for_row_format(str(tmp_path / "out"), Encoder.simple_string_encoder())
    rolled = RollingPolicy.default_rolling_policy(part_size=300)
    return {
        "a log": SqliteLogSink(str(tmp_path / "log.db")),
        "files": lines.with_rolling_policy(RollingPolicy.on_checkpoint_rolling_policy()).build(),
        "rolled files": lines.with_rolling_policy(rolled).build(),
        "one file": lines.with_rolling_policy(RollingPolicy.default_rolling_policy()).build(),
    }


def visible(tmp_path: Path) -> Counter[str]:
    files = (path for path in (tmp_path / "out").rglob("part-*") if path.is_file())
    lines = [line for path in files for line in path.read_text().splitlines()]
    return Counter([*content(tmp_path / "log.db"), *lines])


@pytest.mark.parametrize(
    ("kind", "to_repeat"),
    [
        ("a log", True),
        ("files", False),
        ("rolled files", False),
        ("rolled files", True),
        ("one file", True),
    ],
)
def test_each_row_of_the_restored_line_is_written_once(
    kind: str, to_repeat: bool, tmp_path: Path
) -> None:
    """A copy of micro-batch 3 is put back after micro-batch 8. Then micro-batches are larger."""
    job = Job(tmp_path, kinds_of_sinks(tmp_path)[kind])
    program = job.start()
    for batch in range(9):
        write(program, program.sinks[0], batch, rows(batch * 10, batch * 10 + 10))
        job.log(batch)
    shutil.copytree(job.folder, tmp_path / "newest")
    job.log(3, 4 if to_repeat else None)
    planned = 4 if to_repeat else 3
    assert f"ends with micro-batch {planned}, and" in job.refused()
    assert "has micro-batch 8" in job.refused()
    beside = visible(tmp_path) & Counter(rows(40, 90))
    again = job.start(write_again=True)
    for batch, (first, last) in {4: (40, 50), 5: (50, 75), 6: (75, 120)}.items():
        again = job.start()
        write(again, again.sinks[0], batch, rows(first, last))
        job.log(batch - 1, batch)  # killed: a sink has it, and Spark has not noted it
        again = job.start()
        write(again, again.sinks[0], batch, rows(first, last))
        job.log(batch)
    if again.sinks[0].sink.commits is CommitBy.DRIVER:
        make_committer(again, again.sinks[0]).finish()
    assert visible(tmp_path) == Counter(rows(0, 120)) + beside
    shutil.rmtree(job.folder)
    shutil.move(tmp_path / "newest", job.folder)
    assert job.start().scope == program.scope  # and the newest one could go on as it was
