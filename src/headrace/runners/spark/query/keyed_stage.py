"""Keyed stages: each call processes a bucket of key groups, with state in Spark's state store."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import pandas
import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from headrace.runners.spark.query.moved_state import ClaimedState
from headrace.runners.spark.query.packets import (
    MemoryContent,
    envelopes_in,
    payload_bytes,
    payload_of,
)
from headrace.runners.spark.query.spill import SpilledEnvelopes
from headrace.runners.spark.query.state_pages import BucketState
from headrace.runners.spark.query.stored import group_of, vertex_of
from headrace.runners.spark.query.wire import Row, bucket_keys, frames, rows_of, to_arrow
from headrace.runners.spark.query.worker import ProgramRef, WorkerJob, wire_rows, worker_job
from headrace.runtime.block import ALL_GROUPS, Block, Envelope
from headrace.runtime.program import VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.tasks.capture import RecordingBackend
from headrace.runtime.tasks.keyed_task import TaskInput, sender_of
from headrace.runtime.tasks.stage_call import MakeBackend, StageCall

_PREFETCHED_GROUPS = 64


def run_group(
    job: WorkerJob,
    groups: StageCall,
    group: int,
    received: Iterable[Envelope],
    backend_of: MakeBackend,
    extra_targets: Iterable[str] = (),
) -> Iterator[Envelope]:
    """Process one key group; ``received`` is sorted by (sender, seq).

    ``extra_targets``: vertices to run even without an envelope for this group.
    """
    by_target: dict[str, tuple[list[Block], list[int], list[bytes]]] = {}
    captures = job.captures
    for target in extra_targets:
        by_target[target] = ([], [], [])
    for envelope in received:
        blocks, senders, sent = by_target.setdefault(envelope.target, ([], [], []))
        blocks.append(payload_of(envelope))
        senders.append(envelope.sender)
        if captures is not None:
            sent.append(payload_bytes(envelope))
    for target in sorted(by_target):
        vertex = job.program.vertex(target)
        blocks, senders, sent = by_target.pop(target)
        now_ms = max((block.now_ms for block in blocks), default=0)
        task_input = TaskInput(group, blocks, now_ms, senders)
        task, backend = job.get_keyed_task(vertex, group), backend_of(vertex, group)
        if captures is None:
            yield from groups.run_group(task, task_input, backend)
        else:
            yield from captures.run_call(groups, task, task_input, backend, sent)


class _BroadcastEnvelopes:
    """The broadcast envelopes of one partition, in one call of a stage.

    ``index``: the number of the partition. If there are fewer subtasks than partitions, a partition
    may have no subtask. Then the vertex is run all the same and its output is dropped, so that the
    partition's copy of the broadcast state is up to date when subtasks are added.
    """

    def __init__(self, job: WorkerJob, index: int) -> None:
        self._job, self._index = job, index
        self._groups: dict[int, list[str]] = {}
        self._without_group: list[str] = []

    def receive(self, work: StageCall, received: Iterable[Envelope]) -> None:
        """Pass the envelopes, sorted by (sender, seq), to the tasks of their vertices."""
        by_target: dict[str, tuple[list[Block], list[int]]] = {}
        for envelope in received:
            blocks, senders = by_target.setdefault(envelope.target, ([], []))
            blocks.append(payload_of(envelope))
            senders.append(envelope.sender)
        for target, (blocks, senders) in by_target.items():
            vertex = self._job.program.vertex(target)
            work.broadcast(vertex, blocks, senders)
            groups = range(self._index, vertex.groups, self._job.program.partitions)
            for group in groups:
                self._groups.setdefault(group, []).append(target)
            if not groups and not vertex.keyed:
                self._without_group.append(target)

    def groups(self) -> Iterable[int]:
        """Return the groups that must be run."""
        return self._groups

    def targets(self, group: int) -> Sequence[str]:
        """Return the vertices for which a group must be run."""
        return self._groups.get(group, ())

    def run_without_group(self, work: StageCall, backend_of: MakeBackend) -> None:
        """Run the vertices that have no group here, to update their broadcast state."""
        for target in self._without_group:
            for _ in run_group(self._job, work, self._index, (), backend_of, [target]):
                pass  # other tasks send this output

    def drain(self, work: StageCall) -> Iterator[Envelope]:
        """Return the buffered output, without that of vertices that have no group here."""
        return work.drain(except_for=self._without_group)


class StageProcessor(StatefulProcessor):
    """Called by Spark once per bucket and micro-batch.

    ``claimed``: the state to take over from an older generation (``moved_state.py``).
    ``partitions``: the number of buckets.
    """

    def __init__(
        self, ref: ProgramRef, stage: int, partitions: int, claimed: ClaimedState | None = None
    ) -> None:
        self._ref, self._stage, self._claimed = ref, stage, claimed or {}
        self._partitions = partitions

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state store."""
        self._pages = handle.getMapState("pages", "name string", "data binary")

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:
        """Take over state records of a bucket, before its first packets; called for each frame.

        Records are written unchanged. Of headers, only the entries of the claimed operators are
        taken, and of this bucket's key groups.
        """
        state = BucketState(self._pages)
        index = bucket_keys(self._partitions).index(int(key[0]))
        rows = zip(initialState["stage"], initialState["name"], initialState["data"], strict=True)
        for stage, name, data in rows:
            claimed = self._claimed[stage]
            if name == HEADER:
                headers: dict[str, bytes] = pickle.loads(data)
                state.headers.update(
                    (prefix, header)
                    for prefix, header in headers.items()
                    if vertex_of(prefix) in claimed and self._is_here(group_of(prefix), index)
                )
            elif vertex_of(name) in claimed:
                state.calls.put(name, data)
        state.flush()

    def _is_here(self, group: int, index: int) -> bool:
        return group == ALL_GROUPS or group % self._partitions == index

    def handleInputRows(
        self,
        key: Any,
        rows: Any,  # an iterator of DataFrames; Spark's annotation allows rows as well
        timerValues: Any,
    ) -> Iterator[pandas.DataFrame]:
        """Process a bucket's packets.

        Results are yielded as DataFrames, each of which Spark sends at once. Spark would collect
        yielded rows in one record batch, which cannot exceed 2 GiB (Spark 4.3: ``convert_results``
        in ``pyspark/worker.py``).
        """
        job = worker_job(self._ref)
        index = bucket_keys(self._partitions).index(int(key[0]))
        yield from frames(wire_rows(job, self._process_rows(job, rows, index), self._stage + 1))

    def _process_rows(self, job: WorkerJob, rows: Any, index: int) -> Iterator[Envelope | Row]:
        """Process the packets for this stage, group by group, and pass other packets on."""
        received: SpilledEnvelopes[int] = SpilledEnvelopes()
        for frame in rows:
            for row in map(Row._make, frame.itertuples(index=False, name=None)):
                if row.stage == self._stage:
                    for envelope in received.open(row.payload, row.stage):
                        job.traffic.count(envelope)
                        received.store_opened(envelope.group, envelope)
                else:
                    yield row
        if not received:
            return
        state, settings = BucketState(self._pages, job.queryable), job.program.settings
        make = PagedBackend if job.captures is None else RecordingBackend

        def backend_of(vertex: VertexProgram, group: int) -> StateBackend:
            spread = vertex.max_parallelism_of(group)
            pages = state.of(vertex, group, settings.value_bytes)
            return make(pages, spread, settings.page_bytes)

        work, broadcasts = StageCall(backend_of), _BroadcastEnvelopes(job, index)
        targets = {*received.targets()}
        first = min(map(job.program.vertex, targets), key=lambda vertex: vertex.number)
        readers = {*received.readers()}
        if ALL_GROUPS in readers:
            readers.remove(ALL_GROUPS)
            broadcasts.receive(work, received.pop(ALL_GROUPS))
            readers.update(broadcasts.groups())
        sender = sender_of(first, min(readers, default=index))
        ordered = sorted(readers)
        for at in range(0, len(ordered), _PREFETCHED_GROUPS):
            state.prefetch(targets, ordered[at : at + _PREFETCHED_GROUPS])
            for group in ordered[at : at + _PREFETCHED_GROUPS]:
                of_group, extra = received.pop(group), broadcasts.targets(group)
                yield from run_group(job, work, group, of_group, backend_of, extra)
        received.close()
        # Collected before vertices without a group run, as their counts must not be reported.
        reports = job.reports(sender, sender)
        broadcasts.run_without_group(work, backend_of)
        yield from broadcasts.drain(work)
        state.flush()
        yield from reports
        if state.changes:
            yield job.changed_pages(state.changes, sender)

    def close(self) -> None:
        """Do nothing: workers are kept."""


class BatchStage:
    """Processes a whole partition, sorted by key group, with state on the heap.

    ``name``: that of the stage, which Spark's plans show.
    """

    def __init__(self, ref: ProgramRef, stage: int, name: str) -> None:
        self._ref, self._stage = ref, stage
        self.__name__ = name

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the stage's output for the packets of a partition."""
        job = worker_job(self._ref)
        yield from to_arrow(wire_rows(job, self._process_rows(job, batches), self._stage + 1))

    def _process_rows(
        self, job: WorkerJob, batches: Iterable[pa.RecordBatch]
    ) -> Iterator[Envelope | Row]:
        """Process the packets for this stage, group by group, and pass other packets on."""
        work = StageCall(_heap_backend)
        broadcasts: _BroadcastEnvelopes | None = None
        group: int | None = None
        received: list[Envelope] = []
        sender = 0
        for row in chain.from_iterable(map(rows_of, batches)):
            if row.stage != self._stage:
                yield row
                continue
            bucket = row.bucket
            (envelope,) = envelopes_in(MemoryContent(row.payload), row.stage)
            job.traffic.count(envelope)
            if broadcasts is None:
                keys = bucket_keys(job.program.partitions)
                broadcasts = _BroadcastEnvelopes(job, keys.index(bucket))
            if envelope.group != group:
                if group is not None:
                    yield from self._process_group(
                        job, work, group, received, broadcasts, envelope.group
                    )
                group, received = envelope.group, []
                sender = sender_of(job.program.vertex(envelope.target), max(group, bucket))
            received.append(envelope)
        if group is not None and broadcasts is not None:
            yield from self._process_group(job, work, group, received, broadcasts, None)
            yield from broadcasts.drain(work)
            yield from job.reports(sender, max(group, 0))

    def _process_group(
        self,
        job: WorkerJob,
        work: StageCall,
        group: int,
        received: list[Envelope],
        broadcasts: _BroadcastEnvelopes,
        following: int | None,
    ) -> Iterator[Envelope]:
        """Process a group, then the groups before ``following`` that only get broadcasts."""
        if group == ALL_GROUPS:
            broadcasts.receive(work, received)
        else:
            yield from run_group(
                job, work, group, received, _heap_backend, broadcasts.targets(group)
            )
        for other in sorted(broadcasts.groups()):
            if group < other and (following is None or other < following):
                yield from run_group(job, work, other, (), _heap_backend, broadcasts.targets(other))


def _heap_backend(vertex: VertexProgram, group: int) -> StateBackend:
    return HeapBackend()
