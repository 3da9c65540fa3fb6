"""Decides where the records of a chain are counted, for the counts in and out of each operator.

Counting is needed at few places. The input of a chain is counted by chunks, and its output by
blocks. An operator that emits one record for each has equal counts. So a counter is needed only
where the
number can change and no later place shows it: for example between a flat map and a filter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from headrace.metrics._measures import Measure, MeasuredSum, Tally
from headrace.metrics._operator_counts import RECORDS_IN, RECORDS_OUT
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.loops import Step
from headrace.runtime.operator import Link
from headrace.runtime.program import ChainProgram, JobProgram


class OutputPort(NamedTuple):
    """An output of a node: the main one (``tag`` None), or a side output that something reads."""

    node: str
    tag: str | None


class ChainCounts:
    """The record counts of a chain's outputs.

    ``one_to_one``: returns whether a node emits one record for each. ``writer``: returns the
    measure of a link that leaves the chain.
    """

    def __init__(
        self,
        program: ChainProgram,
        one_to_one: Callable[[str], bool],
        writer: Callable[[Link], Measure],
    ) -> None:
        self.received = Tally()
        """The number of records that the root got; the caller of ``push`` increases it."""
        self._program, self._is_one_to_one, self._writer = program, one_to_one, writer
        self._links: dict[OutputPort, dict[tuple[str, str], Link]] = {}
        self._ports: dict[str, list[OutputPort]] = {node_id: [] for node_id in program.nodes}
        self._into: dict[tuple[str, str], list[OutputPort]] = {}
        for node in program.nodes.values():
            for link in node.links:
                port, target = OutputPort(node.id, link.tag), (link.kind, link.target)
                if port not in self._links:
                    self._links[port] = {}
                    self._ports[node.id].append(port)
                self._links[port][target] = link
                self._into.setdefault(target, []).append(port)
        self._tallies: dict[OutputPort, Tally] = {}
        self._exits: dict[OutputPort, Link | None] = {}
        self._measures: dict[OutputPort, tuple[Measure, ...]] = {}
        order = program.order()
        for node_id in reversed(order):
            for port in self._ports[node_id]:
                self._exits[port] = self._find_exit(port)
        for node_id in order:
            for port in self._ports[node_id]:
                self._measures[port] = self._measures_of(port)

    def tally(self, node_id: str, tag: str | None = None) -> Tally | None:
        """Return the tally to count an output's records in; None if another measure counts them."""
        return self._tallies.get(OutputPort(node_id, tag))

    def register(self, metrics: MetricGroup, job: JobProgram) -> None:
        """Register the metrics of all operators and sinks, which read the measures."""
        for node in self._program.nodes.values():
            group = metrics.of_operator(node.id, node.name).measured
            group.of_kind(RECORDS_IN, MeasuredSum).add(self._input_measures(node.id))
            outputs = [self._measures[port] for port in self._ports[node.id]]
            if outputs or node.links:
                group.of_kind(RECORDS_OUT, MeasuredSum).add(
                    each for found in outputs for each in found
                )
        names = {sink.id: sink.name for sink in job.sinks}
        for kind, target in self._into:
            if kind == "sink" and target in names:
                group = metrics.of_operator(target, names[target]).measured
                link = Link(kind, target)
                group.of_kind(RECORDS_IN, MeasuredSum).add((self._writer(link),))

    def _input_measures(self, node_id: str) -> tuple[Measure, ...]:
        if node_id == self._program.root:
            return (self.received,)
        feeders = self._into.get(("node", node_id), ())
        return tuple(each for port in feeders for each in self._measures[port])

    def _measures_of(self, port: OutputPort) -> tuple[Measure, ...]:
        """Return the measures whose sum counts an output; the nodes upstream must be done."""
        exit_link = self._exits[port]
        if exit_link is not None:
            return (self._writer(exit_link),)
        if port.tag is None and self._output_equals_input(port.node):
            return self._input_measures(port.node)
        return (self._tallies.setdefault(port, Tally()),)

    def _find_exit(self, port: OutputPort) -> Link | None:
        """Return the link out of the chain that takes all records of an output and no others.

        The nodes downstream must be done.
        """
        links = [link for target, link in self._links[port].items() if self._into[target] == [port]]
        for link in links:
            if link.kind != "node":
                return link
        following = next((x.target for x in links if self._is_one_to_one(x.target)), None)
        return None if following is None else self._exits.get(OutputPort(following, None))

    def _output_equals_input(self, node_id: str) -> bool:
        node = self._program.nodes[node_id]
        return node.spec is None or self._is_one_to_one(node_id)


def count_step(tally: Tally, in_loop: bool) -> Step:
    """Return a step that counts records; in a loop over a chunk, it counts in a local variable."""
    if not in_loop:
        return Step(("$tally.count += 1",), {"tally": tally}, forwards_record=True)
    return Step(
        ("$count += 1",),
        {"tally": tally},
        prologue=("$count = 0",),
        epilogue=("$tally.count += $count",),
        forwards_record=True,
    )
