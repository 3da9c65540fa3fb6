"""What every source and sink must do, as test suites to inherit from.

    class TestMySource(SourceContract):
        def make_source(self, folder): return MySource(...)
        def expected(self): return [1, 2, 3]

pytest collects the inherited tests. ``folder`` is a fresh ``pathlib.Path`` for each test.
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

from headrace.connector import (
    Budget,
    Committer,
    CommitterContext,
    Progress,
    Sink,
    Source,
    SplitEnumerator,
    SplitRange,
    WriterContext,
)

LARGE = Budget(1_000_000_000, 1 << 50)
MAX_STEPS = 20_000
START_MS = 1_700_000_000_000

__all__ = ["Reading", "SinkContract", "SourceContract", "read_source"]


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
    enumerator, now_ms = source.enumerator(str(directory)), START_MS
    reading, reader = Reading(), source.reader()
    positions = _through_json(enumerator.initial(now_ms))
    finished: set[str] = set()
    quiet = 0
    while reading.steps < MAX_STEPS:
        reading.steps += 1
        now_ms += step_ms
        if restart:
            enumerator = source.enumerator(str(directory))
        paused = frozenset(filter(pause, positions))
        progress = enumerator.advance(positions, budget(), now_ms, paused)
        end = _through_json(progress.positions)
        _check_progress(positions, progress, paused, finished)
        for split_range in enumerator.ranges(positions, end, progress.finished):
            reading.ranges.append(split_range)
            values = reading.values.setdefault(split_range.split, [])
            for chunk in reader.read(pickle.loads(pickle.dumps(split_range))):
                assert chunk.timestamps is None or len(chunk.timestamps) == len(chunk.values)
                values += chunk.values
                reading.bad += [bad for _, bad in chunk.bad]
        finished |= progress.finished
        moved = _text(end) != _text(positions) or progress.finished
        quiet = 0 if moved or paused else quiet + 1
        positions = end
        if progress.ended or (not source.bounded and quiet > 2):
            enumerator.close()
            reader.close()
            return reading
    raise AssertionError(f"the source did not end within {MAX_STEPS} steps")


def _check_progress(
    start: Mapping[str, Any], progress: Progress, paused: frozenset[str], finished: set[str]
) -> None:
    gone = finished & ({*progress.positions} | progress.finished)
    assert not gone, f"finished splits are named again: {gone}"
    assert not {*progress.positions} & progress.finished, "a split is both finished and going on"
    lost = {*start} - {*progress.positions} - progress.finished
    assert not lost, f"splits vanished without being finished: {lost}"
    for split in paused:
        assert _text(progress.positions[split]) == _text(start[split]), f"{split} was paused"
    assert progress.ended <= (not progress.positions), "ended, with splits that go on"


def _through_json(positions: Mapping[str, Any]) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(_text(positions))
    return decoded


def _text(positions: Any) -> str:
    return json.dumps(dict(positions) if isinstance(positions, Mapping) else positions)


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

    def test_ranges_follow_from_the_positions(self, source: Source, directory: Path) -> None:
        """A new enumerator plans the same work between the same positions."""
        planner = source.enumerator(str(directory))
        start = planner.initial(START_MS)
        progress = planner.advance(start, Budget(40, 3000), START_MS + 1000, frozenset())
        planned = self._planned(planner, start, progress)
        assert self._planned(planner, start, progress) == planned
        assert self._planned(source.enumerator(str(directory)), start, progress) == planned

    def test_all_paused_means_no_progress(self, source: Source, directory: Path) -> None:
        """Splits that are paused keep their position."""
        planner = source.enumerator(str(directory))
        start = planner.initial(START_MS)
        progress = planner.advance(start, LARGE, START_MS, frozenset(start))
        assert _text(progress.positions) == _text(start)
        assert not progress.finished

    def test_an_idle_source_keeps_its_positions(self, source: Source, directory: Path) -> None:
        """Where nothing is new the positions come back equal, as JSON."""
        planner = source.enumerator(str(directory))
        positions: Mapping[str, Any] = planner.initial(START_MS)
        for step in range(1, 50):
            positions = planner.advance(
                positions, LARGE, START_MS + step * 1000, frozenset()
            ).positions
        idle = planner.advance(positions, LARGE, START_MS + 100_000, frozenset())
        assert _text(idle.positions) == _text(positions)
        assert idle.ended == source.bounded

    @staticmethod
    def _planned(planner: SplitEnumerator, start: Mapping[str, Any], progress: Progress) -> str:
        return repr(planner.ranges(start, progress.positions, progress.finished))


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
        """A new committer, as after a restart."""
        return sink.committer(CommitterContext("sink-1", "job"))

    def prepare(
        self, sink: Sink, batch_id: int, values: Sequence[Any], attempt: str = "a", tasks: int = 2
    ) -> list[Any]:
        """Write one micro-batch with several tasks; what they prepared."""
        prepared = []
        for task in range(tasks):
            writer = sink.writer(WriterContext("sink-1", "job", batch_id, task, attempt))
            for at in range(task, len(values), 3 * tasks):
                run = values[at : at + 3 * tasks : tasks]
                writer.write(run, [None] * len(run))
            prepared.append(writer.prepare_commit())
        return [pickle.loads(pickle.dumps(part)) for part in prepared if part is not None]

    def check(self, folder: Path, expected: Sequence[Any]) -> None:
        """Fail unless exactly these records are visible."""
        assert _counts(self.published(folder)) == _counts(expected)

    def test_nothing_is_visible_before_the_commit(self, sink: Sink, folder: Path) -> None:
        """A crash between prepare and commit leaves nothing visible."""
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
        """The last micro-batch may come again, from new attempts, cut into other tasks."""
        values = self.values(20)
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
        writer = sink.writer(WriterContext("sink-1", "job", 0, 0, "dead"))
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
