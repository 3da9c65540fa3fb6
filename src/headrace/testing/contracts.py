"""What every source and sink must do, as test suites to inherit from.

    class TestMySource(SourceContract):
        def make_source(self, folder): return MySource(...)
        def expected(self): return [1, 2, 3]

pytest collects the inherited tests. ``folder`` is a fresh ``pathlib.Path`` for each test. Sources
are read through the engine's own coordinator.
"""

from __future__ import annotations

import json
import pickle
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import (
    Budget,
    CommitBy,
    Committer,
    CommitterContext,
    Progress,
    Sink,
    SinkWriter,
    Source,
    SplitEnumerator,
    SplitRange,
    WorkerResources,
    WriterContext,
)
from headrace.runtime.alignment import Alignment
from headrace.runtime.coordinator import Coordinator
from headrace.runtime.offset import Offset, SourceProgress
from headrace.runtime.source_task import SourceTaskInput
from headrace.testing.pipeline import _job

LARGE = Budget(1_000_000_000, 1 << 50)
MAX_STEPS = 20_000
START_MS = 1_700_000_000_000

__all__ = ["Planner", "Reading", "SinkContract", "SourceContract", "read_source"]


@dataclass
class Reading:
    """What a source gave, split by split: ``values`` and ``bad``, in order; and the ranges read."""

    values: dict[str, list[Any]] = field(default_factory=dict)
    bad: list[Any] = field(default_factory=list)
    ranges: list[SplitRange] = field(default_factory=list)
    steps: int = 0

    def all(self) -> list[Any]:
        """The values of all splits."""
        return [value for values in self.values.values() for value in values]

    def read(self, source: Source, tasks: Sequence[SourceTaskInput]) -> None:
        """Read what source tasks are to read."""
        reader = source.reader()
        for split_range in (r for task in tasks for work in task.work for r in work.ranges):
            self.ranges.append(split_range)
            values = self.values.setdefault(split_range.split, [])
            for chunk in reader.read(pickle.loads(pickle.dumps(split_range))):
                assert chunk.timestamps is None or len(chunk.timestamps) == len(chunk.values)
                values += chunk.values
                self.bad += [bad for _, bad in chunk.bad]
        reader.close()


class Planner:
    """The engine's coordinator over one source: plans micro-batch after micro-batch.

    ``offset`` is where it stands. ``taken`` are the micro-batches so far, as (start, end).
    ``pause`` holds a split back for a step. ``wrap`` puts something around the enumerator.
    """

    def __init__(
        self,
        source: Source,
        directory: Path,
        offset: Offset | None = None,
        pause: Callable[[str], bool] = lambda split: False,
        wrap: Callable[[SplitEnumerator], SplitEnumerator] = lambda enumerator: enumerator,
    ) -> None:
        job, _ = _job(
            lambda env: env.from_source(source, WatermarkStrategy.no_watermarks(), source.name),
            batch=False,
            parallelism=2,
            key_groups=None,
        )
        self._id = job.sources[0].id
        self._pauses = _Pauses(self._id, pause)
        enumerator = wrap(source.enumerator(str(directory)))
        self._coordinator = Coordinator(job, {self._id: enumerator}, lambda epoch: {}, self._pauses)
        self.offset = offset or through_json(self._coordinator.initial(START_MS))
        self.taken: list[tuple[Offset, Offset]] = []

    @property
    def progress(self) -> SourceProgress:
        """How far the source is read."""
        return self.offset.source(self._id)

    @property
    def paused(self) -> bool:
        """Whether the last step held a split back."""
        return self._pauses.some

    def step(self, budget: Budget, now_ms: int) -> list[SourceTaskInput] | None:
        """Plan the next micro-batch, which is then over; None where nothing is new."""
        start = self.offset
        end = self._coordinator.latest(start, now_ms, budget)
        if end is start:
            return None
        self.offset = through_json(end)
        self.taken.append((start, self.offset))
        tasks = self._coordinator.plan(start, self.offset)
        self._coordinator.committed(self.offset)
        return tasks

    def plan(self, start: Offset, end: Offset) -> list[SourceTaskInput]:
        """The tasks of a micro-batch that was planned before."""
        return self._coordinator.plan(start, end)

    def close(self) -> None:
        """Close the enumerator."""
        self._coordinator.close()


class _Pauses(Alignment):
    """Pauses splits as a test wants it."""

    def __init__(self, source_id: Any, pause: Callable[[str], bool]) -> None:
        super().__init__((), lambda epoch: {})
        self._id, self._pause = source_id, pause
        self.some = False

    def paused(self, offset: Offset) -> Mapping[Any, frozenset[str]]:
        found = frozenset(filter(self._pause, offset.source(self._id).positions))
        self.some = bool(found)
        return {self._id: found}


@dataclass
class _AskedOnce(SplitEnumerator):
    """An enumerator that must not be asked for the beginning again."""

    inner: SplitEnumerator

    def initial(self, now_ms: int) -> Mapping[str, Any]:
        raise AssertionError("first positions are in the log, and must come from there")

    def advance(self, *given: Any) -> Progress:
        return self.inner.advance(*given)

    def ranges(self, *given: Any) -> Sequence[SplitRange]:
        return self.inner.ranges(*given)


def read_source(
    source: Source,
    directory: Path,
    budget: Callable[[], Budget] = lambda: LARGE,
    *,
    step_ms: int = 1000,
    restart: bool = False,
    pause: Callable[[str], bool] = lambda split: False,
) -> Reading:
    """Read a source until it has ended or, if it never does, gives nothing new.

    ``restart`` takes a new enumerator at every step, as after a crash. ``pause`` holds a split back
    for a step.
    """
    planner, now_ms = Planner(source, directory, pause=pause), START_MS
    reading = Reading()
    quiet = 0
    while reading.steps < MAX_STEPS:
        reading.steps += 1
        now_ms += step_ms
        if restart:
            planner.close()
            planner = Planner(source, directory, planner.offset, pause)
        tasks = planner.step(budget(), now_ms)
        reading.read(source, tasks or [])
        quiet = 0 if tasks is not None or planner.paused else quiet + 1
        if planner.progress.ended or (not source.bounded and quiet > 2):
            planner.close()
            return reading
    raise AssertionError(f"the source did not end within {MAX_STEPS} steps")


def through_json(offset: Offset) -> Offset:
    """The offset as a checkpoint gives it back; it must be the same."""
    text = json.dumps(offset.to_json())
    found = Offset.from_json(json.loads(text))
    assert found == offset
    assert json.dumps(found.to_json()) == text
    return found


def _counts(values: Sequence[Any]) -> Counter[str]:
    return Counter(map(repr, values))


class SourceContract(ABC):
    """The laws of sources. An unbounded source must run dry after ``expected``."""

    @abstractmethod
    def make_source(self, folder: Path) -> Source:
        """The source; what it reads is put into ``folder``. Called once per test."""

    @abstractmethod
    def expected(self) -> Sequence[Any]:
        """All values that it gives, in any order."""

    def grow(self, folder: Path) -> None:
        """Change the outside world: add records to what is in ``folder``, remove what may go.

        Called between two readings of the same micro-batches. Nothing happens unless overridden.
        """

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        """The folder that enumerators may write to."""
        found = tmp_path / "enumerator"
        found.mkdir()
        return found

    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        """The source under test, as it arrives in another process."""
        folder = tmp_path / "input"
        folder.mkdir()
        made: Source = pickle.loads(pickle.dumps(self.make_source(folder)))
        return made

    def test_everything_is_read_once(self, source: Source, directory: Path) -> None:
        """Everything is read once."""
        assert _counts(read_source(source, directory).all()) == _counts(self.expected())

    @pytest.mark.parametrize("seed", range(6))
    def test_any_budgets_give_the_same_records(
        self, source: Source, directory: Path, seed: int
    ) -> None:
        """However it is cut, every split gives the same values in the same order."""
        whole = read_source(source, directory / "whole")
        draw = random.Random(seed)
        most = draw.choice([1, 3, 40, 1000])

        def budget() -> Budget:
            return Budget(draw.randint(1, most), draw.randint(1, most * 60))

        cut = read_source(
            source, directory / "cut", budget, pause=lambda split: draw.random() < 0.2
        )
        assert cut.values == whole.values
        assert _counts(cut.bad) == _counts(whole.bad)

    def test_a_restart_at_every_step_changes_nothing(self, source: Source, directory: Path) -> None:
        """Positions as JSON are all that an enumerator needs to go on."""
        whole = read_source(source, directory / "whole")
        cut = read_source(source, directory / "cut", lambda: Budget(7, 200), restart=True)
        assert cut.values == whole.values

    def test_a_range_read_twice_is_equal(self, source: Source, directory: Path) -> None:
        """A task that is run again reads the same."""
        ranges = read_source(source, directory, lambda: Budget(50, 2000)).ranges
        first, second = source.reader(), source.reader()
        for split_range in ranges:
            once = [(chunk.values, chunk.bad) for chunk in first.read(split_range)]
            again = [(chunk.values, chunk.bad) for chunk in second.read(split_range)]
            assert once == again

    def test_a_micro_batch_planned_again_is_the_same(
        self, source: Source, directory: Path, tmp_path: Path
    ) -> None:
        """Both ends of what is read are in the log: nothing that happens later changes it."""
        planner, read = Planner(source, directory), []
        for step in range(40):
            tasks = planner.step(Budget(5, 300) if step < 20 else LARGE, START_MS + step * 1000)
            if tasks is not None:
                reading = Reading()
                reading.read(source, tasks)
                read.append((repr(tasks), reading))
        planner.close()
        self.grow(tmp_path / "input")
        for (start, end), (tasks_before, reading) in zip(planner.taken, read, strict=True):
            again, other = Planner(source, directory), Reading()
            tasks = again.plan(start, end)
            other.read(source, tasks)
            again.close()
            assert repr(tasks) == tasks_before
            assert (other.values, other.bad) == (reading.values, reading.bad)

    def test_every_split_starts_once(self, source: Source, directory: Path) -> None:
        """Its first position is in the log before it goes on or finishes."""
        planner = Planner(source, directory)
        for step in range(40):
            planner.step(Budget(5, 300) if step < 20 else LARGE, START_MS + step * 1000)
        started: list[str] = []
        for _, end in planner.taken:
            (progress,) = end.sources.values()
            started += progress.started
            assert {*progress.positions, *progress.finished} <= {*started}
        assert len(started) == len({*started})
        planner.close()

    def test_the_beginning_is_asked_for_once(self, source: Source, directory: Path) -> None:
        """After the first micro-batch its first positions come from the log."""
        whole = read_source(source, directory / "whole")
        first = Planner(source, directory / "cut")
        reading = Reading()
        reading.read(source, first.step(Budget(3, 100), START_MS + 1000) or [])
        rest = Planner(source, directory / "cut", first.offset, wrap=_AskedOnce)
        for step in range(2, 60):
            if rest.offset.epoch:
                reading.read(source, rest.step(LARGE, START_MS + step * 1000) or [])
        first.close()
        rest.close()
        assert _counts(reading.all()) == _counts(whole.all())

    def test_all_paused_means_no_progress(self, source: Source, directory: Path) -> None:
        """Splits that are paused keep their position."""
        planner = Planner(source, directory)
        planner.step(Budget(1, 1), START_MS)
        before = planner.progress
        waiting = Planner(source, directory, planner.offset, pause=lambda split: True)
        waiting.step(LARGE, START_MS)
        after = waiting.progress
        assert {split: after.positions[split] for split in before.positions} == before.positions

    def test_an_idle_source_keeps_its_positions(self, source: Source, directory: Path) -> None:
        """Where nothing is new no micro-batch is planned."""
        planner = Planner(source, directory)
        for step in range(1, 50):
            planner.step(LARGE, START_MS + step * 1000)
        assert planner.step(LARGE, START_MS + 100_000) is None
        assert planner.progress.ended == source.bounded


class SinkContract(ABC):
    """The laws of sinks that promise exactly once."""

    @abstractmethod
    def make_sink(self, folder: Path) -> Sink:
        """The sink; it writes below ``folder``. Called once per test."""

    @abstractmethod
    def values(self, count: int) -> list[Any]:
        """So many different records."""

    @abstractmethod
    def published(self, folder: Path) -> list[Any]:
        """What a reader sees, in any order: equal to the records that were written."""

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """The folder that the sink writes to."""
        found = tmp_path / "output"
        found.mkdir()
        return found

    @pytest.fixture
    def sink(self, folder: Path) -> Sink:
        """The sink under test, as it arrives in another process."""
        made: Sink = pickle.loads(pickle.dumps(self.make_sink(folder)))
        return made

    def committer(self, sink: Sink) -> Committer:
        """A new committer, as after a restart; an idle one where tasks commit."""
        if sink.commits is CommitBy.TASK:
            return _CommittedByTasks()
        return sink.committer(CommitterContext("sink-1", "job"))

    def writer(
        self,
        sink: Sink,
        batch_id: int,
        task: int = 0,
        attempt: str = "a",
        tasks: int = 2,
        worker: WorkerResources | None = None,
    ) -> SinkWriter:
        """A new writer; in a worker process of its own, unless told in which."""
        worker = worker or WorkerResources()
        context = WriterContext("sink-1", "job", batch_id, task, attempt, tasks, worker)
        return sink.writer(context)

    def prepare(
        self, sink: Sink, batch_id: int, values: Sequence[Any], attempt: str = "a", tasks: int = 2
    ) -> list[Any]:
        """Write one micro-batch with several tasks; what they prepared.

        Each task is in a worker process of its own, which is then over.
        """
        prepared = []
        for task in range(tasks):
            worker = WorkerResources()
            writer = self.writer(sink, batch_id, task, attempt, tasks, worker)
            for at in range(task, len(values), 3 * tasks):
                run = values[at : at + 3 * tasks : tasks]
                writer.write(run, [None] * len(run))
            prepared.append(writer.prepare_commit())
            worker.close()
        return [pickle.loads(pickle.dumps(part)) for part in prepared if part is not None]

    def check(self, folder: Path, expected: Sequence[Any]) -> None:
        """Fail unless exactly these records are visible."""
        assert _counts(self.published(folder)) == _counts(expected)

    def test_nothing_is_visible_before_the_commit(self, sink: Sink, folder: Path) -> None:
        """A crash before the commit leaves nothing visible."""
        if sink.commits is CommitBy.TASK:
            worker = WorkerResources()
            self.writer(sink, 0, worker=worker).write(self.values(10), [None] * 10)
            worker.close()
        else:
            self.prepare(sink, 0, self.values(10))
        self.check(folder, [])

    def test_all_micro_batches_are_visible_once(self, sink: Sink, folder: Path) -> None:
        """Every record of every task and micro-batch is there at the end."""
        values, committer = self.values(30), self.committer(sink)
        for batch in range(3):
            committer.commit(batch, self.prepare(sink, batch, values[batch * 10 :][:10]))
        committer.commit(3, [])
        committer.finish()
        self.check(folder, values)
        committer.finish()
        self.check(folder, values)

    def test_a_new_committer_for_every_call(self, sink: Sink, folder: Path) -> None:
        """What a committer must remember is not in its memory."""
        values = self.values(30)
        for batch in range(3):
            prepared = self.prepare(sink, batch, values[batch * 10 :][:10], f"a{batch}")
            self.committer(sink).commit(batch, prepared)
        self.committer(sink).finish()
        self.check(folder, values)

    @pytest.mark.parametrize("tasks", [2, 1, 3])
    def test_a_repeated_commit_changes_nothing(self, sink: Sink, folder: Path, tasks: int) -> None:
        """The last micro-batch may come again, from new attempts, cut into other tasks.

        Where tasks commit, a micro-batch has the same tasks each time.
        """
        values = self.values(20)
        tasks = 2 if sink.commits is CommitBy.TASK else tasks
        self.committer(sink).commit(0, self.prepare(sink, 0, values[:10]))
        again = self.prepare(sink, 0, values[:10], "b", tasks)
        self.committer(sink).commit(0, again)
        committer = self.committer(sink)
        committer.commit(0, again)
        committer.commit(1, self.prepare(sink, 1, values[10:]))
        committer.finish()
        self.check(folder, values)

    def test_the_same_committables_twice(self, sink: Sink, folder: Path) -> None:
        """A commit that is called twice publishes once."""
        values, committer = self.values(10), self.committer(sink)
        prepared = self.prepare(sink, 0, values)
        committer.commit(0, prepared)
        committer.commit(0, prepared)
        committer.finish()
        self.check(folder, values)

    def test_an_aborted_task_leaves_nothing(self, sink: Sink, folder: Path) -> None:
        """A task that fails half way is not seen."""
        values = self.values(10)
        writer = self.writer(sink, 0, attempt="dead")
        writer.write(values, [None] * len(values))
        writer.abort()
        committer = self.committer(sink)
        committer.commit(0, self.prepare(sink, 0, values, "alive"))
        committer.finish()
        self.check(folder, values)

    def test_an_aborted_micro_batch_leaves_nothing(self, sink: Sink, folder: Path) -> None:
        """A micro-batch that fails and is run again is seen once."""
        values, committer = self.values(10), self.committer(sink)
        committer.abort(0, self.prepare(sink, 0, values))
        if sink.commits is CommitBy.DRIVER:
            self.check(folder, [])
        committer.commit(0, self.prepare(sink, 0, values, "b"))
        committer.finish()
        self.check(folder, values)

    def test_a_crash_between_prepare_and_commit(self, sink: Sink, folder: Path) -> None:
        """Attempts that died behind prepare_commit are not seen."""
        values = self.values(10)
        self.prepare(sink, 0, values, "dead")
        committer = self.committer(sink)
        committer.commit(0, self.prepare(sink, 0, values, "alive"))
        committer.finish()
        self.check(folder, values)

    def test_one_task_of_two_is_run_again(self, sink: Sink, folder: Path) -> None:
        """One task fails after the other has prepared; both are run again."""
        values, committer = self.values(10), self.committer(sink)
        first = self.writer(sink, 0, 0, "dead")
        first.write(values[0::2], [None] * 5)
        first.prepare_commit()
        second = self.writer(sink, 0, 1, "dead")
        second.write(values[1::2], [None] * 5)
        second.abort()
        committer.commit(0, self.prepare(sink, 0, values, "alive"))
        committer.finish()
        self.check(folder, values)

    def test_writers_of_one_worker_follow_each_other(self, sink: Sink, folder: Path) -> None:
        """What they share is as good in the next micro-batch, also after one that failed."""
        values, committer, worker = self.values(30), self.committer(sink), WorkerResources()
        for batch in range(3):
            run = values[batch * 10 :][:10]
            dead = self.writer(sink, batch, attempt=f"dead{batch}", tasks=1, worker=worker)
            dead.write(run, [None] * 10)
            dead.abort()
            writer = self.writer(sink, batch, attempt=f"{batch}", tasks=1, worker=worker)
            writer.write(run, [None] * 10)
            prepared = writer.prepare_commit()
            committer.commit(batch, [] if prepared is None else [prepared])
        worker.close()
        committer.finish()
        self.check(folder, values)


class _CommittedByTasks(Committer):
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Nothing is left to do."""
        assert not committables, "a writer that commits by itself gives nothing to a committer"
