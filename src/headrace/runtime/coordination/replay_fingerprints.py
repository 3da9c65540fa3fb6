"""What must be as it was when another program repeats a micro-batch.

A micro-batch that was planned and not completed is repeated, and sinks may have published it. Two
things must then be as they were:

- A sink that commits by task finds its markers by partition. Each record must come to the same
  partition, and the records of a partition in the same order. What decides that is the sink's
  **route**: the exchanges upstream and, if one of them distributes records in turn, the steps
  before it.
- Timers fire in the same micro-batch, or their results are published twice or never. The time at
  the end of a micro-batch follows from its records if watermarks are made in source tasks. If they
  are made after an exchange, it also depends on which task gets which records: on a route.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any

from headrace.connector import CommitBy, ExecutedBy
from headrace.runtime.program import (
    ChainProgram,
    ExchangeProgram,
    JobProgram,
    SinkProgram,
    SourceProgram,
    VertexProgram,
)

_KEYED_MODES = ("key", "custom")


FOR_WATERMARKS = ""
"""Instead of a sink's id: the routes to the tasks that make watermarks after an exchange."""


def replay_fingerprints(
    program: JobProgram, known: Collection[str] | None = None
) -> dict[str, str]:
    """Return fingerprints by the id of each sink with task commits, and for ``FOR_WATERMARKS``.

    ``known``: the ids of the sources that count; None: all. A source that is new has nothing in a
    micro-batch that was planned without it.
    """
    fingerprints = _Fingerprints(program, known)
    found = {
        sink.id: fingerprints.sink_fingerprint(sink.id)
        for sink in program.sinks
        if commits_by_task(sink)
    }
    time = fingerprints.watermark_fingerprint()
    return {**found, FOR_WATERMARKS: time} if time else found


def commits_by_task(sink: SinkProgram) -> bool:
    """Return True for a sink whose writers commit."""
    return sink.sink.executed_by is ExecutedBy.TASKS and sink.sink.commits is CommitBy.TASK


class _Fingerprints:
    """Computes fingerprints upstream from sinks; those of vertices are cached."""

    def __init__(self, program: JobProgram, known: Collection[str] | None) -> None:
        self._program = program
        self._sources = [s for s in program.sources if known is None or s.id in known]
        self._vertices = [vertex for stage in program.stages for vertex in stage]
        self._found: dict[str, str] = {}

    def sink_fingerprint(self, sink_id: str) -> str:
        """Return the fingerprint of a sink, from everything upstream of it."""
        direct = [source for source in self._sources if _has_link_to_sink(source.chain, sink_id)]
        senders = (
            [self._round_robin_inputs(source) for source in direct] if self._program.stages else []
        )
        after = [
            self._vertex_fingerprint(v)
            for v in self._vertices
            if _has_link_to_sink(v.chain, sink_id)
        ]
        order = [source.id for source in self._sources]
        return _hash_parts([order, [source.id for source in direct], senders, sorted(after)])

    def watermark_fingerprint(self) -> str:
        """Return the routes to the vertices that make watermarks; empty where sources alone do."""
        found = [self._vertex_fingerprint(v) for v in self._vertices if v.chain.assigns_time]
        return _hash_parts(sorted(found)) if found else ""

    def _vertex_fingerprint(self, vertex: VertexProgram) -> str:
        found = self._found.get(vertex.id)
        if found is None:
            feeders: list[SourceProgram | VertexProgram] = [*self._sources, *self._vertices]
            paths = [
                self._exchange_fingerprint(feeder, exchange)
                for feeder in feeders
                for exchange in feeder.chain.exchanges
                if exchange.target == vertex.id
            ]
            # Steps without state may be renamed, so their ids do not count.
            head = vertex.id if vertex.keyed else ""
            found = self._found[vertex.id] = _hash_parts([head, vertex.groups, sorted(paths)])
        return found

    def _exchange_fingerprint(
        self, feeder: SourceProgram | VertexProgram, exchange: ExchangeProgram
    ) -> str:
        if exchange.mode not in _KEYED_MODES:
            sender = self._round_robin_inputs(feeder)
        elif isinstance(feeder, VertexProgram):
            sender = [self._vertex_fingerprint(feeder)]
        else:
            sender = [feeder.id]
        return _hash_parts([exchange.mode, exchange.groups, sender])

    def _round_robin_inputs(self, feeder: SourceProgram | VertexProgram) -> list[Any]:
        """Return what determines the receivers of a round-robin exchange.

        Steps before the exchange may drop records. Numbers of senders depend on how many sources
        there are, and on whether the receivers are those of the program before (its fingerprint).
        """
        kinds = [
            node.spec.kind
            for node in map(feeder.chain.nodes.__getitem__, feeder.chain.order())
            if node.spec is not None
        ]
        if isinstance(feeder, VertexProgram):
            return [self._vertex_fingerprint(feeder), kinds]
        program = self._program
        return [feeder.id, kinds, feeder.number, len(program.sources), program.fingerprint]


def _has_link_to_sink(chain: ChainProgram, sink_id: str) -> bool:
    """Return whether a chain sends records directly to a sink."""
    return any(
        link.kind == "sink" and link.target == sink_id
        for node in chain.nodes.values()
        for link in node.links
    )


def _hash_parts(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
