"""The nodes of a program."""

from __future__ import annotations

from headrace.graph.transformation import SinkTransformation, Transformation


class NodeList:
    """All nodes that a program has made, and the sinks of the next job."""

    def __init__(self) -> None:
        self._transformations: list[Transformation] = []
        self._pending_sinks: list[SinkTransformation] = []

    def _register(self, node: Transformation) -> None:
        self._transformations.append(node)

    def _register_sink(self, node: SinkTransformation) -> None:
        self._register(node)
        self._pending_sinks.append(node)

    def _list_sinks(self) -> tuple[SinkTransformation, ...]:
        """Return the sinks of the next job so far."""
        return tuple(self._pending_sinks)

    def _take_sinks(self) -> tuple[SinkTransformation, ...]:
        """Return the sinks of the job that starts now; the next job begins without sinks."""
        sinks = self._list_sinks()
        self._pending_sinks.clear()
        return sinks
