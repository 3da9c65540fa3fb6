"""The nodes of a program."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from headrace.graph.transformation import Edge, SinkTransformation, Transformation


class NodeList:
    """All nodes that a program has made; the operators and sinks of the next job."""

    def __init__(self) -> None:
        self._transformations: list[Transformation] = []
        self._operators: set[Transformation] = set()
        self._pending_operators: list[Transformation] = []
        self._pending_sinks: list[SinkTransformation] = []

    def _register(self, node: Transformation) -> None:
        self._transformations.append(node)

    def _register_operator(self, node: Transformation) -> None:
        self._register(node)
        self._operators.add(node)
        self._pending_operators.append(node)

    def _abandon(self, node: Transformation) -> None:
        """Leave an operator out of the next job that only another plan of a call needs."""
        self._pending_operators.remove(node)

    def _register_sink(self, node: SinkTransformation) -> None:
        self._register(node)
        self._pending_sinks.append(node)

    def _list_sinks(self, *collecting: SinkTransformation) -> tuple[SinkTransformation, ...]:
        """Return the sinks of the next job so far, and those that ``collecting`` adds to it.

        As in Flink, operators that no sink follows belong to the job: what they emit is dropped.
        """
        sinks = (*self._pending_sinks, *collecting)
        return (*sinks, *map(self._dropping_sink, self._ends_without_sink(sinks)))

    def _take_sinks(self, *collecting: SinkTransformation) -> tuple[SinkTransformation, ...]:
        """Return the sinks of the job that starts now; the next job begins without any."""
        sinks = self._list_sinks(*collecting)
        self._drop_pending()
        return sinks

    def _drop_pending(self) -> None:
        self._pending_operators.clear()
        self._pending_sinks.clear()

    @contextmanager
    def _job_apart(self) -> Iterator[None]:
        """Leave what is added meanwhile out of the program's next job, unless a sink reads it.

        A job that starts meanwhile has none of the program's sinks.
        """
        operators, sinks = self._pending_operators, self._pending_sinks
        self._pending_operators, self._pending_sinks = [], []
        try:
            yield
        finally:
            self._pending_operators, self._pending_sinks = operators, sinks

    def _ends_without_sink(self, sinks: Iterable[Transformation]) -> Iterator[Transformation]:
        read = _feeders(sinks)
        unread = [node for node in self._pending_operators if node not in read]
        inner = _feeders(unread)
        return (node for node in unread if node not in inner)

    def _dropping_sink(self, operator: Transformation) -> SinkTransformation:
        """Return a sink that drops what an operator emits."""
        from headrace.datastream.connectors.function import FunctionSink

        last = operator
        for node in self._transformations:  # conversions and timestamps after it
            if node not in self._operators and [each.source for each in node.inputs] == [last]:
                last = node
        name, sink = f"{operator.name}: dropped", FunctionSink(_drop)
        return SinkTransformation((Edge(last),), None, name, operator.site, None, sink=sink)


def _feeders(nodes: Iterable[Transformation]) -> set[Transformation]:
    """Return all nodes before the given ones."""
    found: set[Transformation] = set()
    left = [edge.source for node in nodes for edge in node.inputs]
    while left:
        node = left.pop()
        if node not in found:
            found.add(node)
            left += [edge.source for edge in node.inputs]
    return found


def _drop(records: Sequence[Any]) -> None:
    """Do nothing with records."""
