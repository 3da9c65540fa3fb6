"""Counts the bytes that tasks exchange."""

from __future__ import annotations

from headrace.metrics._measures import MeasuredSum, Tally
from headrace.metrics._operator_counts import BYTES_IN, BYTES_OUT
from headrace.metrics.metricbase import MetricGroup
from headrace.runners.spark.query.packets import EncodedPayload, MessageRows
from headrace.runtime.block import Envelope, Kind
from headrace.runtime.exchange.send_context import SENDERS_PER_VERTEX
from headrace.runtime.program import JobProgram
from headrace.runtime.tasks.source_task import TICK

FIRST_OF_DATAFRAMES = 1 << 18
"""The first sender number of DataFrames, after those of source tasks and before those of keyed
tasks."""


class Traffic:
    """Counts encoded records, for the sending and for the reading task.

    The reader counts both, so that only committed records are counted. A broadcast record counts
    once for each task that reads it.
    """

    def __init__(self, program: JobProgram, metrics: MetricGroup) -> None:
        self._metrics = metrics
        vertices = [vertex for stage in program.stages for vertex in stage]
        self._names = {vertex.id: vertex.chain.nodes[vertex.id].name for vertex in vertices}
        self._names |= {sink.id: sink.name for sink in program.sinks}
        self._names |= {source.id: source.name for source in program.sources}
        self._vertices = {vertex.number: vertex.id for vertex in vertices}
        self._sources = [source.id for source in program.sources]
        self._tallies: dict[tuple[str, str], Tally] = {}

    def count(self, envelope: Envelope) -> None:
        """Count an envelope from a packet."""
        payload = envelope.payload
        if (
            envelope.kind == Kind.DATA
            and envelope.seq != TICK
            and isinstance(payload, EncodedPayload | MessageRows)
        ):
            size_bytes = payload.size_bytes
            self._get_tally(envelope.target, BYTES_IN).count += size_bytes
            self._get_tally(
                self._find_sending_operator(envelope.sender), BYTES_OUT
            ).count += size_bytes

    def _find_sending_operator(self, sender: int) -> str:
        """Return the id of the first operator in the task with a sender number."""
        if sender >= SENDERS_PER_VERTEX:
            return self._vertices[sender // SENDERS_PER_VERTEX - 1]
        if sender >= FIRST_OF_DATAFRAMES:
            sender -= FIRST_OF_DATAFRAMES
        return self._sources[sender % len(self._sources)]

    def _get_tally(self, operator: str, metric: str) -> Tally:
        tally = self._tallies.get((operator, metric))
        if tally is None:
            tally = self._tallies[operator, metric] = Tally()
            group = self._metrics.of_operator(operator, self._names[operator]).measured
            group.of_kind(metric, MeasuredSum).add((tally,))
        return tally
