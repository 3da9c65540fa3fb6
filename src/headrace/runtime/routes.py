"""By which way records reach the sinks that commit by task.

Such a sink knows a repeated micro-batch by its partitions: one that has committed drops what comes
again. So a micro-batch that another program repeats must bring each record to the same partition,
and the records of a partition in the same order. What decides that is a sink's **route**: the
exchanges upstream, and where records are dealt out in turn also what stands before them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any

from headrace.connector import CommitBy, ServedBy
from headrace.runtime.program import (
    ChainProgram,
    ExchangeProgram,
    JobProgram,
    SourceProgram,
    VertexProgram,
)

_BY_KEY = ("key", "custom")


def routes(program: JobProgram, known: Collection[str] | None = None) -> dict[str, str]:
    """The routes of the sinks that commit by task: texts to be compared, by the sink's id.

    ``known``: the ids of the sources that count; None: all. A source that is new has nothing in a
    micro-batch that was planned without it.
    """
    finder = _Finder(program, known)
    return {
        sink.id: finder.to_sink(sink.id)
        for sink in program.sinks
        if sink.sink.served_by is ServedBy.TASKS and sink.sink.commits is CommitBy.TASK
    }


class _Finder:
    """Walks upstream from sinks; what was found of a vertex is kept."""

    def __init__(self, program: JobProgram, known: Collection[str] | None) -> None:
        self._program = program
        self._sources = [s for s in program.sources if known is None or s.id in known]
        self._vertices = [vertex for stage in program.stages for vertex in stage]
        self._found: dict[str, str] = {}

    def to_sink(self, sink_id: str) -> str:
        """The route of a sink. The order of sources decides into which tasks they are cut."""
        direct = [source for source in self._sources if _feeds(source.chain, sink_id)]
        senders = [self._by_turns(source) for source in direct] if self._program.stages else []
        after = [self._to_vertex(v) for v in self._vertices if _feeds(v.chain, sink_id)]
        order = [source.id for source in self._sources]
        return _digest([order, [source.id for source in direct], senders, sorted(after)])

    def _to_vertex(self, vertex: VertexProgram) -> str:
        found = self._found.get(vertex.id)
        if found is None:
            feeders: list[SourceProgram | VertexProgram] = [*self._sources, *self._vertices]
            ways = [
                self._way(feeder, exchange)
                for feeder in feeders
                for exchange in feeder.chain.exchanges
                if exchange.target == vertex.id
            ]
            # Steps without state may be renamed, so their ids do not count.
            head = vertex.id if vertex.keyed else ""
            found = self._found[vertex.id] = _digest([head, vertex.groups, sorted(ways)])
        return found

    def _way(self, feeder: SourceProgram | VertexProgram, exchange: ExchangeProgram) -> str:
        if exchange.mode not in _BY_KEY:
            sender = self._by_turns(feeder)
        elif isinstance(feeder, VertexProgram):
            sender = [self._to_vertex(feeder)]
        else:
            sender = [feeder.id]
        return _digest([exchange.mode, exchange.groups, sender])

    def _by_turns(self, feeder: SourceProgram | VertexProgram) -> list[Any]:
        """What decides where a record goes that is dealt out by its place, not by its key.

        Steps before it may drop records. Numbers of senders come from the number of sources, and
        from whether the receivers are those of the program before (its fingerprint).
        """
        kinds = [
            node.spec.kind
            for node in map(feeder.chain.nodes.__getitem__, feeder.chain.order())
            if node.spec is not None
        ]
        if isinstance(feeder, VertexProgram):
            return [self._to_vertex(feeder), kinds]
        program = self._program
        return [feeder.id, kinds, feeder.number, len(program.sources), program.fingerprint]


def _feeds(chain: ChainProgram, sink_id: str) -> bool:
    return any(
        link.kind == "sink" and link.target == sink_id
        for node in chain.nodes.values()
        for link in node.links
    )


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]
