"""A keyed stage: one key group per call, its state in Spark's state store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    StatefulProcessor,
    StatefulProcessorHandle,
)

from headrace.runners.spark.worker import (
    ProgramRef,
    WorkerJob,
    payload_bytes,
    payload_of,
    telling,
    to_arrow,
    worker_job,
)
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.keyed_task import TaskInput, sender_of
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.paged import PagedBackend

MakeBackend = Any


def run_group(
    job: WorkerJob, stage: int, group: int, received: list[Envelope], backend_of: MakeBackend
) -> Iterator[Envelope]:
    """One key group's part of a stage: what is for it is worked on, the rest passes through.

    ``received`` is sorted by (sender, seq); payloads of envelopes that pass through stay bytes.
    """
    mine: dict[int, list[Envelope]] = {}
    for envelope in received:
        if envelope.stage == stage:
            mine.setdefault(envelope.target, []).append(envelope)
        else:
            yield envelope
    for target in sorted(mine):
        vertex = job.program.vertex(target)
        blocks = [payload_of(Kind.DATA, envelope.payload) for envelope in mine[target]]
        task = TaskInput(group, blocks, max(block.now_ms for block in blocks))
        yield from job.keyed_task(vertex, group).advance(task, backend_of(vertex, group))
    if mine:
        metrics = job.metrics_envelope(sender_of(min(mine), group), group)
        if metrics is not None:
            yield metrics


class _SparkPages:
    """A ``PageStore`` in Spark's state store, under a prefix of one vertex."""

    def __init__(self, pages: Any, prefix: str) -> None:
        self._pages, self._prefix = pages, prefix

    def get(self, name: str) -> bytes | None:
        found = self._pages.getValue((self._prefix + name,))
        return None if found is None else bytes(found[0])

    def put(self, name: str, data: bytes) -> None:
        self._pages.updateValue((self._prefix + name,), (data,))

    def remove(self, name: str) -> None:
        self._pages.removeKey((self._prefix + name,))


class StageProcessor(StatefulProcessor):
    """Spark calls it once per key group and micro-batch."""

    def __init__(self, ref: ProgramRef, stage: int) -> None:
        self._ref, self._stage = ref, stage

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state store."""
        self._pages = handle.getMapState("pages", "name string", "data binary")

    def handleInputRows(
        self,
        key: Any,
        rows: Any,  # an iterator of Row; Spark's annotation allows DataFrames as well
        timerValues: Any,
    ) -> Iterator[Row]:
        """Work through a key group's envelopes."""
        received = [
            Envelope(r.stage, r.key_group, r.target, r.kind, r.sender, r.seq, bytes(r.payload))
            for r in rows
        ]
        received.sort(key=lambda e: (e.sender, e.seq))
        job = worker_job(self._ref)
        page_bytes = job.program.settings.page_bytes

        def backend_of(vertex: Any, group: int) -> StateBackend:
            store = _SparkPages(self._pages, f"{vertex.id}/")
            return PagedBackend(store, vertex.groups, page_bytes)

        output = run_group(job, self._stage, int(key[0]), received, backend_of)
        for e in telling(output):
            yield Row(
                stage=e.stage,
                key_group=e.group,
                target=e.target,
                kind=e.kind,
                sender=e.sender,
                seq=e.seq,
                payload=payload_bytes(e),
            )

    def close(self) -> None:
        """Nothing to release: workers are kept."""


class BatchStage:
    """A stage over a whole partition, sorted by key group: state on the heap, group by group."""

    def __init__(self, ref: ProgramRef, stage: int) -> None:
        self._ref, self._stage = ref, stage

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The stage's envelopes for those of a partition."""
        yield from to_arrow(telling(self._envelopes(batches)))

    def _envelopes(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Envelope]:
        job = worker_job(self._ref)
        group: int | None = None
        received: list[Envelope] = []
        for batch in batches:
            columns = [column.to_pylist() for column in batch.columns]
            for row in zip(*columns, strict=True):
                envelope = Envelope._make(row)
                if envelope.stage != self._stage:
                    yield envelope
                    continue
                if envelope.group != group:
                    if group is not None:
                        yield from self._run(job, group, received)
                    group, received = envelope.group, []
                received.append(envelope)
        if group is not None:
            yield from self._run(job, group, received)

    def _run(self, job: WorkerJob, group: int, received: list[Envelope]) -> Iterator[Envelope]:
        return run_group(job, self._stage, group, received, lambda vertex, group: HeapBackend())
