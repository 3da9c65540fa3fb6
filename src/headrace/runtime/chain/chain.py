"""Operators fused into one task: each record is pushed from one to the next, depth first."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Envelope
from headrace.runtime.chain.loops import Nesting, Push, PushAll, Step, calling, pushing, pushing_all
from headrace.runtime.context import TaskContext, TaskFacts
from headrace.runtime.detached import copied
from headrace.runtime.exchange import (
    Endpoint,
    KeyedEndpoint,
    Outbox,
    exchange_step,
    sink_step,
)
from headrace.runtime.failure import annotate
from headrace.runtime.operator import (
    Link,
    NodeProgram,
    Operator,
    Outputs,
    Signal,
    drop_record,
)
from headrace.runtime.program import ChainProgram, JobProgram
from headrace.runtime.state.handles import Cell
from headrace.runtime.user_function import close_function, open_function
from headrace.runtime.watermarks import ChannelWatermarks

_FEW_FUNCTIONS = 50
_USUAL_CALLS = 1000
_CALLS_PER_FUNCTION = 8


class Chain:
    """A running chain: push records in at the root, take envelopes out at the end.

    One chain is built per worker process and job run and used for one task run after another:
    ``begin``, then any of ``push``, ``signal`` and ``tick``, then ``drain``. Its user functions
    are copies of the program's: no other chain, and no second operator, has the same objects.
    """

    def __init__(
        self,
        program: ChainProgram,
        job: JobProgram,
        facts: TaskFacts,
        metrics: MetricGroup,
        merged_marks: bool,
    ) -> None:
        program = self.program = _with_own_functions(program)
        self.outbox = Outbox(job.settings.object_reuse)
        self.cell = Cell()
        self.operators: dict[int, Operator] = {}
        self.contexts: dict[int, TaskContext] = {}
        self._facts, self._metrics, self._job = facts, metrics, job
        # A chain that makes watermarks has one sequence of them per group.
        self.merged = merged_marks and not program.assigns_time
        way_out = KeyedEndpoint if self.merged else Endpoint
        self._exchanges = {
            e.index: way_out(
                self.outbox, e.stage, e.target, e.groups, e.mode == "key", str(e.index)
            )
            for e in program.exchanges
        }
        self._sinks: dict[int, Endpoint] = {}
        self._pushes: dict[int, Push] = {}
        self._steps: dict[int, Step | None] = {}
        self._signals: dict[int, Signal] = {}
        self._outputs_made: dict[int, Outputs] = {}
        self._nested: dict[int, Nesting] = {}
        self._next: dict[int, int | None] = {}
        """By node: the one whose step follows in the same generated function, or None."""
        self._inputs: dict[int, ChannelWatermarks] = {}
        self._parents = self._count_parents()
        self._exchange_pushes = self._open_exchanges()
        order = program.order()
        for node_id in reversed(order):
            self._open(program.nodes[node_id])
        called = self._called()
        for node_id in reversed(order):
            self._build(program.nodes[node_id], node_id in called)
        _allow_calls(len(self._pushes))
        self.push_all = self._loop()
        self._ticking = [
            self.operators[i] for i in order if i in self.operators and _ticks(self.operators[i])
        ]

    # Building, from the ends to the root.

    def _count_parents(self) -> dict[int, int]:
        counts: dict[int, int] = {}
        for node in self.program.nodes.values():
            for target in {link.index for link in node.links if link.kind == "node"}:
                counts[target] = counts.get(target, 0) + 1
        return counts

    def _open_exchanges(self) -> dict[int, Push]:
        pushes: dict[int, Push] = {}
        for program in self.program.exchanges:
            for function in (program.selector, program.partitioner):
                if function is not None:
                    open_function(function, self._context(program.label, program.site, None))
            step = exchange_step(self._exchanges[program.index], program)
            pushes[program.index] = pushing((step,), program.label)
        return pushes

    def _context(self, name: str, site: str, cell: Cell | None) -> TaskContext:
        return TaskContext(name, site, self._facts, self._metrics.add_group(name), cell)

    def _open(self, node: NodeProgram) -> None:
        """Make the node's operator, and find out which node follows it in a row."""
        if node.spec is None:
            self._steps[node.id] = None
        else:
            operator = node.spec.build()
            keyed = node.spec.traits.keyed
            context = self._context(node.name, node.site, self.cell if keyed else None)
            self.contexts[node.id] = context
            self.operators[node.id] = operator
            try:
                operator.open(node, context, self.cell)
            except Exception as error:
                annotate(error)
                raise
            self._steps[node.id] = operator.step()
        self._next[node.id] = self._follower(node)

    def _follower(self, node: NodeProgram) -> int | None:
        """The node whose step can follow this one's, unless the code would be too deep.

        The nodes after this one were opened before, so rows are cut from their ends on.
        """
        step = self._steps[node.id]
        own = self._nested[node.id] = step.nesting if step is not None else Nesting()
        only = node.links[0] if len(node.links) == 1 else None
        kept = node.spec is not None and node.spec.traits.keeps_emitted
        if only is None or only.tag is not None or only.kind != "node" or kept:
            return None
        if self._steps[only.index] is None or not (whole := own + self._nested[only.index]).fits:
            return None
        self._nested[node.id] = whole
        return only.index

    def _called(self) -> set[int]:
        """The nodes that are called with a record, by another one or from outside."""
        links = [
            (node.id, link.index)
            for node in self.program.nodes.values()
            for link in node.links
            if link.kind == "node"
        ]
        called = {target for source, target in links if self._next[source] != target}
        return called | {self.program.root}

    def _build(self, node: NodeProgram, called: bool) -> None:
        """Make the functions that take the node's watermarks and, where it is called, records."""
        step, operator = self._steps[node.id], self.operators.get(node.id)
        if operator is None:
            outputs = self._outputs(node)
            self._pushes[node.id], self._signals[node.id] = outputs.main, outputs.signal
            return
        if step is None or step.only_in_loops:
            self._pushes[node.id] = operator.bind(self._outputs(node))
        elif called:
            self._pushes[node.id] = pushing((step, *self._row_after(node)), node.name)
        self._signals[node.id] = _signal_into(operator, self._signal_after(node))

    def _outputs(self, node: NodeProgram) -> Outputs:
        made = self._outputs_made.get(node.id)
        if made is None:
            made = self._outputs_made[node.id] = self._make_outputs(node)
        return made

    def _make_outputs(self, node: NodeProgram) -> Outputs:
        by_tag: dict[str | None, list[Push]] = {}
        # Exchanges and sinks encode a record at once: they take it before an operator changes it.
        links = sorted(node.links, key=lambda link: link.kind == "node")
        # An operator may emit one object to several tags, in any order, or hold on to it.
        shared = node.spec is not None and (
            node.spec.traits.keeps_emitted or len({link.tag for link in links}) > 1
        )
        for index, link in enumerate(links):
            push = self._push_into(link)
            if link.kind == "node" and (
                shared or any(link.tag == other.tag for other in links[index + 1 :])
            ):
                push = self._copying(push)
            by_tag.setdefault(link.tag, []).append(push)
        sides = {tag: _fan_out(pushes) for tag, pushes in by_tag.items() if tag is not None}
        return Outputs(_fan_out(by_tag.get(None, [])), sides, self._signal_after(node))

    def _push_into(self, link: Link) -> Push:
        if link.kind == "node":
            if link.index not in self._pushes:  # one that only follows in a row
                child = self.program.nodes[link.index]
                step = self._steps[link.index]
                assert step is not None
                self._pushes[link.index] = pushing((step, *self._row_after(child)), child.name)
            return self._pushes[link.index]
        if link.kind == "exchange":
            return self._exchange_pushes[link.index]
        return pushing((sink_step(self._sink(link.index)),), f"sink {link.index}")

    def _sink(self, index: int) -> Endpoint:
        if index not in self._sinks:
            stage = self._job.sink_stage
            self._sinks[index] = Endpoint(self.outbox, stage, index, 1, False, None)
        return self._sinks[index]

    def _signal_after(self, node: NodeProgram) -> Signal:
        """What takes a node's watermarks: every node and exchange that it feeds, each once."""
        signals: list[Signal] = []
        links = sorted(node.links, key=lambda link: link.kind == "node")
        for kind, index in dict.fromkeys((link.kind, link.index) for link in links):
            if kind == "exchange":
                signals.append(self._exchanges[index].mark)
            elif kind == "node":
                signal = self._signals[index]
                several = self._parents[index] > 1
                signals.append(self._joined(node.id, index, signal) if several else signal)
        return _fan_out_signal(signals)

    def _copying(self, push: Push) -> Push:
        """A push that hands on a copy, as the receiver is not the only one with the record."""
        if self.outbox.object_reuse:
            return push

        def copy(value: Any, timestamp: int | None) -> None:
            push(copied(value), timestamp)

        return copy

    # Rows of operators: what follows a node in one generated function with it.

    def _loop(self) -> PushAll:
        """A function that takes a chunk of records at the root."""
        root = self.program.nodes[self.program.root]
        step = self._steps[root.id]
        if root.spec is None:
            row = self._row_after(root, in_loop=True, fresh=True)
        elif step is not None:
            row = (step, *self._row_after(root, in_loop=True, fresh=step.passes_on))
        else:
            row = (calling(self.push),)
        return pushing_all(row, root.name)

    def _row_after(
        self, node: NodeProgram, in_loop: bool = False, fresh: bool = False
    ) -> tuple[Step, ...]:
        """The steps after a node, up to an exchange, a sink, or a call of what follows.

        ``fresh``: nobody but this row holds the records.
        """
        row: list[Step] = []
        while (following := self._next[node.id]) is not None:
            step = self._steps[following]
            assert step is not None, "a node without a step follows nobody"
            if step.only_in_loops and not in_loop:
                break
            row.append(step)
            fresh = fresh and step.passes_on
            node = self.program.nodes[following]
        return (*row, self._end_of_row(node, fresh))

    def _end_of_row(self, node: NodeProgram, fresh: bool) -> Step:
        only = node.links[0] if len(node.links) == 1 else None
        if only is not None and only.tag is None:
            if only.kind == "exchange":
                program = next(e for e in self.program.exchanges if e.index == only.index)
                return exchange_step(self._exchanges[only.index], program, fresh)
            if only.kind == "sink":
                return sink_step(self._sink(only.index), fresh)
        return calling(self._outputs(node).main)

    def _joined(self, parent: int, child: int, signal: Signal) -> Signal:
        inputs = self._inputs.setdefault(child, ChannelWatermarks())
        channel = str(parent)
        inputs.state[channel] = (MIN_WATERMARK, False)

        def into(watermark: int, idle: bool) -> None:
            if inputs.update(channel, watermark, idle):
                signal(inputs.current, inputs.idle)

        return into

    # Running.

    @property
    def push(self) -> Push:
        """Takes a record (value, timestamp in ms or None) at the root."""
        return self._pushes[self.program.root]

    @property
    def root_outputs(self) -> Outputs:
        """Where the root emits."""
        return self._outputs(self.program.nodes[self.program.root])

    def signal(self, watermark: int, idle: bool = False) -> None:
        """Pass a watermark (and idleness) through the chain and out to its receivers."""
        self._signals[self.program.root](watermark, idle)

    def tick(self) -> None:
        """A chunk has passed: let watermark generators emit."""
        for operator in self._ticking:
            operator.tick()

    def begin(
        self,
        sender: int,
        now_ms: int,
        home: int = 0,
        home_groups: int = 1,
        watermark: int | None = None,
        joins: bool = False,
    ) -> None:
        """Start a task run.

        ``home``: the group at work out of ``home_groups`` (in a source: where blocks for sinks
        stay together). ``watermark``: that of a keyed task, None in a source. ``joins``: what the
        run before it gathered for exchanges leaves with this run's; only in a ``merged`` chain.
        """
        self.cell.now_ms = now_ms
        self.outbox.begin(sender, now_ms, home, home_groups, watermark, joins)
        for endpoint in self._sinks.values():
            endpoint.begin(None, False)
        merged = self.merged
        for index, endpoint in self._exchanges.items():
            endpoint.begin(str(index) if merged else f"{index}@{home}", merged, joins)

    @property
    def endpoints(self) -> Iterable[Endpoint]:
        """Where the chain's records leave it for other tasks."""
        return self._exchanges.values()

    def begin_shared_channel(self, prefix: str) -> None:
        """Records and marks belong to one channel that all tasks of this run share."""
        for index, endpoint in self._exchanges.items():
            endpoint.begin(f"{prefix}{index}", merged=True)

    def begin_channel(self, name: str, states: Mapping[int, Any]) -> None:
        """From now on records and marks belong to a split; operators go on from its states."""
        for index, endpoint in self._exchanges.items():
            endpoint.channel = f"{index}:{name}"
            endpoint.watermark = None
        self.restore(states)

    def restore(self, states: Mapping[int, Any]) -> None:
        """Let operators that keep time of their own go on from ``snapshot``'s result.

        One chain serves many splits or key groups: what is not restored here leaks between them.
        """
        for node_id, operator in self.operators.items():
            operator.restore(states.get(node_id))
        for node_id, inputs in self._inputs.items():
            channels, current = states.get(-node_id, ({}, MIN_WATERMARK))
            state = {c: channels.get(c, (MIN_WATERMARK, False)) for c in inputs.state}
            inputs.restart(state, current)

    def snapshot(self) -> dict[int, Any]:
        """What operators must find again in the next micro-batch, by node id.

        The watermarks of a node's inputs, where it has several, lie under its id made negative.
        """
        states = {node_id: operator.snapshot() for node_id, operator in self.operators.items()}
        for node_id, inputs in self._inputs.items():
            states[-node_id] = (dict(inputs.state), inputs.current)
        return {node_id: state for node_id, state in states.items() if state is not None}

    def waiting(self) -> int:
        """How many records are gathered for other tasks and sinks."""
        return sum(e.records() for e in (*self._exchanges.values(), *self._sinks.values()))

    def drain(self) -> Iterator[Envelope]:
        """Give out what was gathered."""
        for endpoint in self._exchanges.values():
            yield from endpoint.drain()
        yield from self.drain_sinks()

    def drain_sinks(self) -> Iterator[Envelope]:
        """Give out what was gathered for sinks, in the name of the group at work."""
        for endpoint in self._sinks.values():
            yield from endpoint.drain()

    def close(self) -> None:
        """Close the user functions."""
        with contextlib.ExitStack() as stack:
            for program in self.program.exchanges:
                for function in (program.selector, program.partitioner):
                    if function is not None:
                        stack.callback(close_function, function)
            for operator in self.operators.values():
                stack.callback(operator.close)


def _with_own_functions(program: ChainProgram) -> ChainProgram:
    nodes = {
        number: node if node.spec is None else replace(node, spec=node.spec.copied())
        for number, node in program.nodes.items()
    }
    exchanges = tuple(
        replace(
            exchange,
            selector=exchange.selector and exchange.selector.copied(),
            partitioner=exchange.partitioner and exchange.partitioner.copied(),
        )
        for exchange in program.exchanges
    )
    return replace(program, nodes=nodes, exchanges=exchanges)


def _signal_into(operator: Operator, signal: Signal) -> Signal:
    if type(operator).watermark is Operator.watermark:
        return signal  # passed on as it is: a long row of operators is no deep call

    def into(watermark: int, idle: bool) -> None:
        operator.watermark(watermark, idle, signal)

    return into


def _allow_calls(functions: int) -> None:
    """Let a record pass through so many functions, each called by the one before it.

    Python's own limit is 1000 calls in each other. They take no room on the processor's stack.
    """
    if functions > _FEW_FUNCTIONS:
        needed = _USUAL_CALLS + _CALLS_PER_FUNCTION * functions
        sys.setrecursionlimit(max(sys.getrecursionlimit(), needed))


def _ticks(operator: Operator) -> bool:
    return type(operator).tick is not Operator.tick


def _fan_out(pushes: list[Push]) -> Push:
    if not pushes:
        return drop_record
    if len(pushes) == 1:
        return pushes[0]

    def push(value: Any, timestamp: int | None) -> None:
        for each in pushes:
            each(value, timestamp)

    return push


def _fan_out_signal(signals: list[Signal]) -> Signal:
    if len(signals) == 1:
        return signals[0]

    def signal(watermark: int, idle: bool) -> None:
        for each in signals:
            each(watermark, idle)

    return signal
