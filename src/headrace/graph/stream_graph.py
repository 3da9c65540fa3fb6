"""The logical graph of a program, checked: what is known to fail fails here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from headrace.errors import DuplicateUidError, MissingWatermarksError, PlanError
from headrace.graph.changelog import check_changelog_modes
from headrace.graph.transformation import (
    Broadcast,
    ByKey,
    Edge,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)


@dataclass(frozen=True)
class StreamGraph:
    """All nodes that a sink needs, every node after those that feed it."""

    nodes: tuple[Transformation, ...]

    @classmethod
    def of(cls, sinks: Sequence[SinkTransformation]) -> StreamGraph:
        """Return the checked graph of a program's sinks.

        Raises:
            PlanError: there is no sink, or the program cannot work (see its subclasses).
        """
        if not sinks:
            raise PlanError(
                "the program has no sink, so there is nothing to run",
                hint="end a stream with .print(), .sink_to(...) or .execute_and_collect()",
            )
        graph = cls(tuple(sort_topologically(sinks)))
        graph._check_uids()
        graph._check_sinks()
        graph._check_inputs()
        graph._check_watermarks()
        check_changelog_modes(graph.nodes)
        return graph

    @property
    def sources(self) -> list[SourceTransformation]:
        """The nodes without inputs."""
        return [node for node in self.nodes if isinstance(node, SourceTransformation)]

    @property
    def sinks(self) -> list[SinkTransformation]:
        """The nodes without outputs."""
        return [node for node in self.nodes if isinstance(node, SinkTransformation)]

    @property
    def bounded(self) -> bool:
        """Whether all sources are bounded."""
        return all(source.source.bounded for source in self.sources)

    def _check_uids(self) -> None:
        """Raise DuplicateUidError if two operators have the same uid."""
        seen: dict[str, Transformation] = {}
        for node in self.nodes:
            if node.uid is None:
                continue
            other = seen.setdefault(node.uid, node)
            if other is not node:
                raise DuplicateUidError(
                    f"two operators have the uid {node.uid!r}",
                    where={
                        "first": f"{other.name}, built at {other.site}",
                        "second": f"{node.name}, built at {node.site}",
                    },
                    hint="a uid names one operator's state: give each its own",
                )

    def _check_sinks(self) -> None:
        """Raise PlanError if two sinks use a name that only one sink can have."""
        seen: dict[str, SinkTransformation] = {}
        for node in self.sinks:
            name = node.sink.exclusive_name
            other = seen.setdefault(name, node)
            if name and other is not node:
                raise PlanError(
                    f"two sinks use the {name}, which only one sink can have",
                    where={
                        "first": f"{other.name}, built at {other.site}",
                        "second": f"{node.name}, built at {node.site}",
                    },
                    hint="give each sink its own, or .union(...) the streams before one sink (SQL:"
                    " UNION ALL in one INSERT)",
                )

    def _check_inputs(self) -> None:
        """Raise PlanError if an operator with several inputs lacks a stream or a key for one."""
        for node in self.nodes:
            if node.spec is None or node.spec.traits.inputs == 1:
                continue
            traits = node.spec.traits
            found = {edge.input for edge in node.inputs}
            if found != {*range(traits.inputs)}:
                raise PlanError(
                    f"{node.name!r} has {traits.inputs} inputs, numbered from 0, but streams for"
                    f" {', '.join(map(str, sorted(found))) or 'none'} only",
                    where={"operator": f"built at {node.site}"},
                )
            if traits.keyed:
                _check_keys(node)

    def _check_watermarks(self) -> None:
        """Raise MissingWatermarksError if an operator needs event time, but has no watermarks."""
        for node in self.nodes:
            if node.spec is None or not node.spec.traits.event_time:
                continue
            bare = _source_without_watermarks(node)
            if bare is None:
                continue
            raise MissingWatermarksError(
                f"{node.name!r} needs event time, but no watermark strategy is set upstream",
                where={
                    "operator": f"{node.name} (uid={node.uid or 'none'}), built at {node.site}",
                    "stream": f"{bare.name}, built at {bare.site}",
                },
                hint=".assign_timestamps_and_watermarks("
                "WatermarkStrategy.for_monotonous_timestamps()"
                ".with_timestamp_assigner(lambda record: <ms>)) before it",
            )


def _check_keys(node: Transformation) -> None:
    """Check that each input of a keyed operator has a key or is broadcast.

    Raises:
        PlanError: an input has no key.
    """
    keyed = [edge for edge in node.inputs if isinstance(edge.partitioning, ByKey)]
    bare = [edge for edge in node.inputs if not isinstance(edge.partitioning, ByKey | Broadcast)]
    if keyed and not bare:
        return
    where = {"operator": f"{node.name} (uid={node.uid or 'none'}), built at {node.site}"}
    where |= {
        f"input {edge.input}, without a key": f"{edge.source.name}, built at {edge.source.site}"
        for edge in bare
    }
    raise PlanError(
        f"{node.name!r} keeps state by key, but not each of its inputs has a key",
        where=where,
        hint=".key_by(...) each of the streams, or broadcast one to all tasks of the other",
    )


def sort_topologically(
    sinks: Iterable[Transformation],
    inputs: Callable[[Transformation], tuple[Edge, ...]] = lambda node: node.inputs,
) -> list[Transformation]:
    """Return all nodes upstream of sinks in topological order; ``inputs``: the edges of a node."""
    order: dict[Transformation, None] = {}
    stack = [(sink, False) for sink in reversed(list(sinks))]
    while stack:
        node, entered = stack.pop()
        if node in order:
            continue
        if entered:
            order[node] = None
            continue
        stack.append((node, True))
        stack.extend((edge.source, False) for edge in reversed(inputs(node)))
    return list(order)


def _source_without_watermarks(node: Transformation) -> Transformation | None:
    """Return a source whose records reach ``node`` without a watermark strategy, or None.

    For a bounded source a strategy that makes no watermarks is enough: its end is a watermark. One
    needs none at all where another input has watermarks: that input's records can set timers.
    """
    inputs: dict[int, list[Edge]] = {}
    for edge in node.inputs:
        inputs.setdefault(edge.input, []).append(edge)
    found = [find_source_without_watermarks(edges) for edges in inputs.values()]
    timed = None in found
    return next(
        (bare for bare in found if bare is not None and not (timed and _is_bounded(bare))), None
    )


def find_source_without_watermarks(edges: Sequence[Edge]) -> Transformation | None:
    """Return a source whose records come by these edges without a watermark strategy, or None."""
    for upstream in _walk_upstream(edges, through=lambda edge: not _assigns_time(edge.source)):
        spec = upstream.spec
        if spec is None or not spec.traits.assigns_time:
            if isinstance(upstream, SourceTransformation):
                return upstream
            continue
        strategy = getattr(spec, "strategy", None)
        if strategy is not None and not strategy.generates_watermarks and not _is_bounded(upstream):
            return upstream
    return None


def _assigns_time(node: Transformation) -> bool:
    return node.spec is not None and node.spec.traits.assigns_time


def _is_bounded(node: Transformation) -> bool:
    return all(
        upstream.source.bounded
        for upstream in (node, *_walk_upstream(node.inputs))
        if isinstance(upstream, SourceTransformation)
    )


def _walk_upstream(
    edges: Sequence[Edge], through: Callable[[Edge], bool] = lambda edge: True
) -> Iterator[Transformation]:
    """Yield the nodes that feed edges, each once, the first edge's first and nearest first.

    ``through``: whether to go on to what feeds the source of an edge.
    """
    seen: set[Transformation] = set()
    stack = list(reversed(edges))
    while stack:
        edge = stack.pop()
        if edge.source in seen:
            continue
        seen.add(edge.source)
        yield edge.source
        if through(edge):
            stack.extend(reversed(edge.source.inputs))
