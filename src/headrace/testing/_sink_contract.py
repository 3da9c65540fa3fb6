"""``SinkContract``: tests for sinks with exactly-once delivery."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headrace.connector import (
    ColumnChunk,
    CommitBy,
    Committer,
    CommitterContext,
    Sink,
    SinkWriter,
    WorkerResources,
    WriterContext,
)
from headrace.testing._reading import (
    counts,
)
from headrace.testing._writers import writer_of


class SinkContract(ABC):
    """Tests for sinks with exactly-once delivery; inherit from it, and pytest runs them.

    A sink that accepts columns must also override ``columns``.
    """

    @abstractmethod
    def make_sink(self, folder: Path) -> Sink:
        """Return the sink, which writes below ``folder``. Called once per test."""

    @abstractmethod
    def values(self, count: int) -> list[Any]:
        """Return ``count`` different records."""

    @abstractmethod
    def published(self, folder: Path) -> list[Any]:
        """Return the records that a reader sees, in any order, equal to those that were written."""

    def columns(self, count: int) -> ColumnChunk | None:
        """Return the records of ``values(count)`` as columns; None for a sink without columns."""
        return None

    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        """Return the folder that the sink writes to."""
        found = tmp_path / "output"
        found.mkdir()
        return found

    @pytest.fixture
    def sink(self, folder: Path) -> Sink:
        """Return the sink under test, pickled and unpickled as for a worker."""
        made: Sink = pickle.loads(pickle.dumps(self.make_sink(folder)))
        return made

    def committer(self, sink: Sink, sink_id: str = "sink-1") -> Committer:
        """Return a new committer, as after a restart; if tasks commit, one that does nothing."""
        if sink.commits is CommitBy.TASK:
            return _NoCommitter()
        return sink.committer(CommitterContext(sink_id, "job"))

    def last_batch(self, sink: Sink, sink_id: str = "sink-1") -> int | None:
        """Return the last micro-batch that was committed under this id; None if unknown."""
        return sink.last_batch(CommitterContext(sink_id, "job"))

    def writer(
        self,
        sink: Sink,
        batch_id: int,
        task: int = 0,
        attempt: str = "a",
        tasks: int = 2,
        worker: WorkerResources | None = None,
        sink_id: str = "sink-1",
    ) -> SinkWriter:
        """Return a new writer, by default in a new worker."""
        worker = worker or WorkerResources()
        context = WriterContext(sink_id, "job", batch_id, task, attempt, tasks, worker)
        return writer_of(sink, context)

    def prepare(
        self,
        sink: Sink,
        batch_id: int,
        values: Sequence[Any],
        attempt: str = "a",
        tasks: int = 2,
        sink_id: str = "sink-1",
    ) -> list[Any]:
        """Write one micro-batch with several tasks, and return their committables.

        Each task is in a new worker.
        """
        prepared = []
        for task in range(tasks):
            worker = WorkerResources()
            writer = self.writer(sink, batch_id, task, attempt, tasks, worker, sink_id)
            for at in range(task, len(values), 3 * tasks):
                run = values[at : at + 3 * tasks : tasks]
                writer.write(run, [None] * len(run))
            prepared.append(writer.prepare_commit())
            worker.close()
        return [pickle.loads(pickle.dumps(part)) for part in prepared if part is not None]

    def check(self, folder: Path, expected: Sequence[Any]) -> None:
        """Assert that exactly the records ``expected`` are visible."""
        assert counts(self.published(folder)) == counts(expected)

    def test_nothing_is_visible_before_the_commit(self, sink: Sink, folder: Path) -> None:
        """Records are invisible until their micro-batch is committed."""
        if sink.commits is CommitBy.TASK:
            worker = WorkerResources()
            self.writer(sink, 0, worker=worker).write(self.values(10), [None] * 10)
            worker.close()
        else:
            self.prepare(sink, 0, self.values(10))
        self.check(folder, [])

    def test_all_micro_batches_are_visible_once(self, sink: Sink, folder: Path) -> None:
        """At the end every record of every task and micro-batch is visible once."""
        values, committer = self.values(30), self.committer(sink)
        for batch in range(3):
            committer.commit(batch, self.prepare(sink, batch, values[batch * 10 :][:10]))
        committer.commit(3, [])
        committer.finish()
        self.check(folder, values)
        committer.finish()
        self.check(folder, values)

    def test_columns_are_written_as_their_records(self, sink: Sink, folder: Path) -> None:
        """Columns and records in one micro-batch publish the same records."""
        chunk = self.columns(10)
        assert (chunk is not None) == sink.takes_columns, "columns() gives what the sink takes"
        if chunk is None:
            return
        values, writer = self.values(10), self.writer(sink, 0)
        for start, stop in ((0, 3), (5, 10)):
            part = chunk.batch.slice(start, stop - start)
            times = None if chunk.timestamps is None else chunk.timestamps[start:stop]
            writer.write_columns(ColumnChunk(part, chunk.shape, timestamps=times))
            if start == 0:
                writer.write(values[3:5], [None] * 2)
        committer = self.committer(sink)
        committer.commit(0, [pickle.loads(pickle.dumps(writer.prepare_commit()))])
        committer.finish()
        self.check(folder, values)

    def test_a_new_committer_for_every_call(self, sink: Sink, folder: Path) -> None:
        """A committer keeps nothing in memory that a later call needs."""
        values = self.values(30)
        for batch in range(3):
            prepared = self.prepare(sink, batch, values[batch * 10 :][:10], f"a{batch}")
            self.committer(sink).commit(batch, prepared)
        self.committer(sink).finish()
        self.check(folder, values)

    def test_pending_data_continues_under_another_id(self, sink: Sink, folder: Path) -> None:
        """Records that are written and not yet published move to another checkpoint."""
        values, first = self.values(30), self.committer(sink)
        for batch in range(2):
            first.commit(batch, self.prepare(sink, batch, values[batch * 10 :][:10]))
        pending = [*first.snapshot()]
        assert pending == [*self.committer(sink).snapshot()]
        assert sink.keeps_state or not pending
        self.committer(sink, "sink-2").restore(pending)
        second = self.committer(sink, "sink-2")
        second.restore(pending)  # repeated after a crash
        assert len(pending) == len([*second.snapshot()])
        second.commit(2, self.prepare(sink, 2, values[20:], sink_id="sink-2"))
        self.committer(sink, "sink-2").finish()
        self.check(folder, values)

    def test_the_last_micro_batch_is_known(self, sink: Sink, folder: Path) -> None:
        """``last_batch`` is right for each sink id, whichever tasks wrote; or always None."""
        values, committer, none = self.values(40), self.committer(sink), self.last_batch(sink)
        assert none in (None, -1)
        for batch in range(3):
            prepared = self.prepare(sink, batch, values[batch * 10 :][:10])
            if sink.commits is CommitBy.DRIVER and none is not None:
                assert self.last_batch(sink) == batch - 1
            committer.commit(batch, prepared)
            assert self.last_batch(sink) == (None if none is None else batch)
        worker = WorkerResources()
        second_of_two = self.writer(sink, 3, 1, worker=worker)
        second_of_two.write(values[30:], [None] * 10)
        part = second_of_two.prepare_commit()
        worker.close()
        committer.commit(3, [] if part is None else [part])
        self.writer(sink, 4).abort()
        assert self.last_batch(sink) == (None if none is None else 3)
        assert self.last_batch(sink, "sink-2") == none
        committer.finish()
        assert self.last_batch(sink) == (None if none is None else 3)

    def test_an_older_copy_goes_on_under_another_id(self, sink: Sink, folder: Path) -> None:
        """The checkpoint of micro-batch 1 is restored after micro-batch 4 was committed.

        Records before the copy are visible once. Later records are written a second time.
        """
        values, first = self.values(50), self.committer(sink)
        for batch in range(5):
            first.commit(batch, self.prepare(sink, batch, values[batch * 10 :][:10]))
        if self.last_batch(sink) is None:
            assert self.last_batch(sink, "sink-2") is None
            return
        after = counts(values[20:])
        already_visible = counts(self.published(folder)) & after
        pending = [*self.committer(sink).snapshot(1)]
        second = self.committer(sink, "sink-2")
        second.restore(pending)
        assert self.last_batch(sink, "sink-2") == -1
        for batch, run in ((2, values[20:25]), (3, values[25:])):
            second.commit(batch, self.prepare(sink, batch, run, sink_id="sink-2"))
        assert self.last_batch(sink, "sink-2") == 3
        second.finish()
        assert counts(self.published(folder)) == counts(values) + already_visible

    @pytest.mark.parametrize("tasks", [2, 1, 3])
    def test_a_repeated_commit_changes_nothing(self, sink: Sink, folder: Path, tasks: int) -> None:
        """The last micro-batch may be repeated, by new attempts and with other tasks.

        Where tasks commit, a repeated micro-batch has the same tasks.
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
        """Records of a task that fails are not visible."""
        values = self.values(10)
        writer = self.writer(sink, 0, attempt="dead")
        writer.write(values, [None] * len(values))
        writer.abort()
        committer = self.committer(sink)
        committer.commit(0, self.prepare(sink, 0, values, "alive"))
        committer.finish()
        self.check(folder, values)

    def test_an_aborted_micro_batch_leaves_nothing(self, sink: Sink, folder: Path) -> None:
        """A micro-batch that fails and is repeated is visible once."""
        values, committer = self.values(10), self.committer(sink)
        committer.abort(0, self.prepare(sink, 0, values))
        if sink.commits is CommitBy.DRIVER:
            self.check(folder, [])
        committer.commit(0, self.prepare(sink, 0, values, "b"))
        committer.finish()
        self.check(folder, values)

    def test_a_crash_between_prepare_and_commit(self, sink: Sink, folder: Path) -> None:
        """Attempts that died after prepare_commit are not visible."""
        values = self.values(10)
        self.prepare(sink, 0, values, "dead")
        committer = self.committer(sink)
        committer.commit(0, self.prepare(sink, 0, values, "alive"))
        committer.finish()
        self.check(folder, values)

    def test_one_task_of_two_is_run_again(self, sink: Sink, folder: Path) -> None:
        """One task fails after the other has prepared; both are repeated."""
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
        """What writers share in a worker still works after one of them was aborted."""
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


class _NoCommitter(Committer):
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Do nothing: tasks have committed."""
        assert not committables, "a writer that commits by itself must have no committables"
