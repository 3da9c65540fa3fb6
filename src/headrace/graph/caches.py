"""Cached streams in the graph of one job: computed and kept, or read from what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import Source
from headrace.graph.stream_graph import find_source_without_watermarks, sort_topologically
from headrace.graph.transformation import (
    CacheTransformation,
    Edge,
    Forward,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from headrace.operators.timestamps import TimestampsSpec


class CachesOfJob:
    """The sinks of one job, with every cached stream resolved.

    A stream that was stored before becomes a source, and its upstream is not computed. Other cached
    streams get a sink that stores them. Nodes downstream of a cache are copied, so that the next
    job finds the original program. Without a cache the sinks are unchanged. ``keeps`` False: every
    cached stream is computed, and none is stored. ``sinks``: those of the job, then those that
    store streams.
    """

    def __init__(self, sinks: Sequence[SinkTransformation], *, keeps: bool = True) -> None:
        self._keeps = keeps
        self._kept: dict[Transformation, Source | None] = {}
        self._edges: dict[Transformation, tuple[Edge, ...]] = {}
        self._nodes: dict[Transformation, Transformation] = {}
        self._keeping: list[SinkTransformation] = []
        for node in sort_topologically(sinks, self._computed_inputs):
            if isinstance(node, CacheTransformation):
                self._edges[node] = self._resolve_cache(node)
            else:
                self._nodes[node] = self._copy_node(node)
        own = [self._nodes[sink] for sink in sinks]
        self.sinks = (
            *(sink for sink in own if isinstance(sink, SinkTransformation)),
            *self._keeping,
        )

    def _computed_inputs(self, node: Transformation) -> tuple[Edge, ...]:
        """Return the inputs that this job computes for a node: none if the stream is cached."""
        if isinstance(node, CacheTransformation) and node not in self._kept:
            self._kept[node] = node.kept.find_source() if self._keeps else None
        return () if self._kept.get(node) else node.inputs

    def _resolve_cache(self, cache: CacheTransformation) -> tuple[Edge, ...]:
        """Return the edges that replace a cache in this job."""
        source = self._kept[cache]
        if source is not None:
            return (Edge(_make_reader(cache, source)),)
        into = tuple(new for edge in cache.inputs for new in self._replace_edge(edge))
        if self._keeps:
            sink, declared = cache.kept.create_sink(), cache.output_type
            self._keeping.append(
                SinkTransformation(into, None, cache.name, cache.site, declared, sink=sink)
            )
        return into

    def _copy_node(self, node: Transformation) -> Transformation:
        inputs = tuple(new for edge in node.inputs for new in self._replace_edge(edge))
        return node if inputs == node.inputs else replace(node, inputs=inputs)

    def _replace_edge(self, edge: Edge) -> tuple[Edge, ...]:
        """Return the edges that replace an edge: those of the cache if the edge is from a cache."""
        if edge.source not in self._edges:
            source = self._nodes[edge.source]
            return (edge if source is edge.source else replace(edge, source=source),)
        edges = self._edges[edge.source]
        if not isinstance(edge.partitioning, Forward):
            edges = tuple(replace(into, partitioning=edge.partitioning) for into in edges)
        return tuple(replace(into, input=edge.input) for into in edges)


def _make_reader(cache: CacheTransformation, source: Source) -> Transformation:
    """Return the node that reads a cached stream; records keep their timestamps.

    A stream that had event time has it again: its one watermark is the end of the input.
    """
    made = SourceTransformation(
        (), None, cache.name, cache.site, cache.output_type, id=cache.id, source=source
    )
    if find_source_without_watermarks(cache.inputs) is not None:
        return made
    spec = TimestampsSpec(WatermarkStrategy.no_watermarks())
    name = f"{spec.label}({cache.name})"
    return Transformation(
        (Edge(made),), spec, name, cache.site, made.output_type, id=cache.timestamps_id
    )
