"""``SourceContract``: tests for sources."""

from __future__ import annotations

import pickle
import random
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.connector import (
    Budget,
    Chunk,
    ColumnChunk,
    Progress,
    Source,
    SplitEnumerator,
    SplitRange,
)
from headrace.runtime.columns.building import from_chunk
from headrace.testing._reading import (
    NO_LIMIT,
    START_MS,
    Planner,
    Reading,
    counts,
    read_source,
)


@dataclass
class _WithoutInitial(SplitEnumerator):
    """An enumerator whose ``initial`` fails the test."""

    inner: SplitEnumerator

    def initial(self, now_ms: int) -> Mapping[str, Any]:
        raise AssertionError("first positions are in the log, and must come from there")

    def advance(self, *given: Any) -> Progress:
        return self.inner.advance(*given)

    def ranges(self, *given: Any) -> Sequence[SplitRange]:
        return self.inner.ranges(*given)


def _records_and_timestamps(chunks: Iterable[Chunk | ColumnChunk]) -> list[tuple[Any, int | None]]:
    """Return all records with their timestamps; bad records are where they were read."""
    result: list[tuple[Any, int | None]] = []
    for chunk in chunks:
        if isinstance(chunk, ColumnChunk):
            columns = from_chunk(chunk)
            stamps = columns.timestamps or [None] * len(columns)
            result += zip(columns.rows(), stamps, strict=True)
            continue
        known = chunk.timestamps or [None] * len(chunk.values)
        records = [*zip(chunk.values, known, strict=True)]
        for at, bad in reversed(chunk.bad):
            records.insert(at, (bad, None))
        result += records
    return result


class SourceContract(ABC):
    """Tests for sources; inherit from it, and pytest runs them.

    An unbounded source must have no more records after those of ``expected``.
    """

    @abstractmethod
    def make_source(self, folder: Path) -> Source:
        """Write the input into ``folder``, and return a source that reads it. Called per test."""

    @abstractmethod
    def expected(self) -> Sequence[Any]:
        """Return all records of the source, in any order."""

    def grow(self, folder: Path) -> None:
        """Change the input in ``folder`` as it may change during a job: add or remove records.

        Called between two readings of the same micro-batches. By default it does nothing.
        """

    @pytest.fixture
    def directory(self, tmp_path: Path) -> Path:
        """Return the folder that enumerators may write to."""
        result = tmp_path / "enumerator"
        result.mkdir()
        return result

    @pytest.fixture
    def source(self, tmp_path: Path) -> Source:
        """Return the source under test, pickled and unpickled as for a worker."""
        folder = tmp_path / "input"
        folder.mkdir()
        made: Source = pickle.loads(pickle.dumps(self.make_source(folder)))
        return made

    def test_everything_is_read_once(self, source: Source, directory: Path) -> None:
        """Every record is read once."""
        assert counts(read_source(source, directory).all()) == counts(self.expected())

    @pytest.mark.parametrize("seed", range(6))
    def test_any_budgets_give_the_same_records(
        self, source: Source, directory: Path, seed: int
    ) -> None:
        """A split's records and their order do not depend on the micro-batches."""
        uncut = read_source(source, directory / "whole")
        draw = random.Random(seed)
        most = draw.choice([1, 3, 40, 1000])

        def budget() -> Budget:
            return Budget(draw.randint(1, most), draw.randint(1, most * 60))

        cut = read_source(
            source, directory / "cut", budget, pause=lambda split: draw.random() < 0.2
        )
        assert cut.values == uncut.values
        assert counts(cut.bad) == counts(uncut.bad)

    def test_a_restart_at_every_step_changes_nothing(self, source: Source, directory: Path) -> None:
        """An enumerator needs only the positions, as JSON, to continue."""
        uncut = read_source(source, directory / "whole")
        cut = read_source(source, directory / "cut", lambda: Budget(7, 200), restart=True)
        assert cut.values == uncut.values

    def test_a_range_read_twice_is_equal(self, source: Source, directory: Path) -> None:
        """A repeated task reads the same records."""
        ranges = read_source(source, directory, lambda: Budget(50, 2000)).ranges
        first, second = source.reader(), source.reader()
        for split_range in ranges:
            once = [(chunk.values, chunk.bad) for chunk in first.read(split_range)]
            again = [(chunk.values, chunk.bad) for chunk in second.read(split_range)]
            assert once == again

    def test_columns_are_the_records(self, source: Source, directory: Path) -> None:
        """Read as columns, a range has the same records as read one by one."""
        ranges = read_source(source, directory, lambda: Budget(50, 2000)).ranges
        reader = source.reader()
        for split_range in ranges:
            result = reader.read_columns(split_range)
            if result is None:
                continue
            assert reader.has_columns, "has_columns must be true, because read_columns works"
            assert _records_and_timestamps(result) == _records_and_timestamps(
                reader.read(split_range)
            )

    def test_a_micro_batch_planned_again_is_the_same(
        self, source: Source, directory: Path, tmp_path: Path
    ) -> None:
        """A micro-batch that is planned again has the same tasks, whatever happened since."""
        planner, read = Planner(source, directory), []
        for step in range(40):
            tasks = planner.step(Budget(5, 300) if step < 20 else NO_LIMIT, START_MS + step * 1000)
            if tasks is not None:
                reading = Reading()
                reading.read(source, tasks)
                read.append((repr(tasks), reading))
        planner.close()
        self.grow(tmp_path / "input")
        for (start, end), (tasks_before, reading) in zip(planner.micro_batches, read, strict=True):
            again, other = Planner(source, directory), Reading()
            tasks = again.plan(start, end)
            other.read(source, tasks)
            again.close()
            assert repr(tasks) == tasks_before
            assert (other.values, other.bad) == (reading.values, reading.bad)

    def test_every_split_starts_once(self, source: Source, directory: Path) -> None:
        """A split's first position is logged once, before it advances or finishes."""
        planner = Planner(source, directory)
        for step in range(40):
            planner.step(Budget(5, 300) if step < 20 else NO_LIMIT, START_MS + step * 1000)
        started: list[str] = []
        for _, end in planner.micro_batches:
            (progress,) = end.sources.values()
            started += progress.started
            assert {*progress.positions, *progress.finished} <= {*started}
        assert len(started) == len({*started})
        planner.close()

    def test_the_beginning_is_asked_for_once(self, source: Source, directory: Path) -> None:
        """``initial`` is called once; later runs take first positions from the log."""
        uncut = read_source(source, directory / "whole")
        first = Planner(source, directory / "cut")
        reading = Reading()
        reading.read(source, first.step(Budget(3, 100), START_MS + 1000) or [])
        rest = Planner(source, directory / "cut", first.offset, wrap=_WithoutInitial)
        for step in range(2, 60):
            if rest.offset.epoch:
                reading.read(source, rest.step(NO_LIMIT, START_MS + step * 1000) or [])
        first.close()
        rest.close()
        assert counts(reading.all()) == counts(uncut.all())

    def test_all_paused_means_no_progress(self, source: Source, directory: Path) -> None:
        """Paused splits keep their positions."""
        planner = Planner(source, directory)
        planner.step(Budget(1, 1), START_MS)
        before = planner.progress
        waiting = Planner(source, directory, planner.offset, pause=lambda split: True)
        waiting.step(NO_LIMIT, START_MS)
        after = waiting.progress
        assert {split: after.positions[split] for split in before.positions} == before.positions

    def test_an_idle_source_keeps_its_positions(self, source: Source, directory: Path) -> None:
        """Without new records no micro-batch is planned."""
        planner = Planner(source, directory)
        for step in range(1, 50):
            planner.step(NO_LIMIT, START_MS + step * 1000)
        assert planner.step(NO_LIMIT, START_MS + 100_000) is None
        assert planner.progress.ended == source.bounded
