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
from headrace.runtime.channel import ALL_TASKS, Channel
from headrace.runtime.context import TaskContext, TaskFacts
from headrace.runtime.detached import copied
from headrace.runtime.exchange import (
    BYTES_GATHERED,
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
    metrics_owner,
)
from headrace.runtime.program import ChainProgram, JobProgram
from headrace.runtime.state.handles import KeyContext
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
        self.outbox = Outbox(job.settings.object_reuse, facts.overflow())
        self.outbox.relieve = self._put_aside
        self.cell = KeyContext()
        self.operators: dict[str, Operator] = {}
        self.contexts: dict[str, TaskContext] = {}
        self._facts, self._metrics, self._job = facts, metrics, job
        # A chain that makes watermarks has one sequence of them per group.
        self.merged = merged_marks and not program.assigns_time
        way_out = KeyedEndpoint if self.merged else Endpoint
        self._exchanges = {
            e.id: way_out(self.outbox, e.stage, e.target, e.groups, e.mode == "key", e.id)
            for e in program.exchanges
        }
        self._sinks: dict[str, Endpoint] = {}
        self._pushes: dict[str, Push] = {}
        self._steps: dict[str, Step | None] = {}
        self._signals: dict[str, Signal] = {}
        self._outputs_made: dict[str, Outputs] = {}
        self._nested: dict[str, Nesting] = {}
        self._next: dict[str, str | None] = {}
        """By node: the one whose step follows in the same generated function, or None."""
        self._inputs: dict[str, ChannelWatermarks] = {}
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

    def _count_parents(self) -> dict[str, int]:
        counts: dict[str, int] = {}
        for node in self.program.nodes.values():
            for target in {link.target for link in node.links if link.kind == "node"}:
                counts[target] = counts.get(target, 0) + 1
        return counts

    def _open_exchanges(self) -> dict[str, Push]:
        pushes: dict[str, Push] = {}
        for program in self.program.exchanges:
            for function in (program.selector, program.partitioner):
                if function is not None:
                    open_function(function, self._context(program.label, program.site, None))
            step = exchange_step(self._exchanges[program.id], program)
            pushes[program.id] = pushing((step,), program.label)
        return pushes

    def _context(
        self, name: str, site: str, cell: KeyContext | None, operator: str | None = None
    ) -> TaskContext:
        metrics = self._metrics.of_operator(operator or name, name)
        return TaskContext(name, site, self._facts, metrics, cell)

    def _open(self, node: NodeProgram) -> None:
        """Make the node's operator, and find out which node follows it in a row."""
        if node.spec is None:
            self._steps[node.id] = None
        else:
            operator = node.spec.build()
            keyed = node.spec.traits.keyed
            cell = self.cell if keyed else None
            context = self._context(node.name, node.site, cell, metrics_owner(node))
            self.contexts[node.id] = context
            self.operators[node.id] = operator
            try:
                operator.open(node, context, self.cell)
            except Exception as error:
                annotate(error)
                raise
            self._steps[node.id] = operator.step()
        self._next[node.id] = self._follower(node)

    def _follower(self, node: NodeProgram) -> str | None:
        """The node whose step can follow this one's, unless the code would be too deep.

        The nodes after this one were opened before, so rows are cut from their ends on.
        """
        step = self._steps[node.id]
        own = self._nested[node.id] = step.nesting if step is not None else Nesting()
        only = node.links[0] if len(node.links) == 1 else None
        kept = node.spec is not None and node.spec.traits.keeps_emitted
        if only is None or only.tag is not None or only.kind != "node" or kept:
            return None
        if self._steps[only.target] is None or not (whole := own + self._nested[only.target]).fits:
            return None
        self._nested[node.id] = whole
        return only.target

    def _called(self) -> set[str]:
        """The nodes that are called with a record, by another one or from outside."""
        links = [
            (node.id, link.target)
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
            if link.target not in self._pushes:  # one that only follows in a row
                child = self.program.nodes[link.target]
                step = self._steps[link.target]
                assert step is not None
                self._pushes[link.target] = pushing((step, *self._row_after(child)), child.name)
            return self._pushes[link.target]
        if link.kind == "exchange":
            return self._exchange_pushes[link.target]
        return pushing((sink_step(self._sink(link.target)),), f"sink {link.target}")

    def _sink(self, sink_id: str) -> Endpoint:
        if sink_id not in self._sinks:
            stage = self._job.sink_stage
            self._sinks[sink_id] = Endpoint(self.outbox, stage, sink_id, 1, False, None)
        return self._sinks[sink_id]

    def _signal_after(self, node: NodeProgram) -> Signal:
        """What takes a node's watermarks: every node and exchange that it feeds, each once."""
        signals: list[Signal] = []
        links = sorted(node.links, key=lambda link: link.kind == "node")
        for kind, index in dict.fromkeys((link.kind, link.target) for link in links):
            if kind == "exchange":
                signals.append(self._exchanges[index].mark)
            elif kind == "sink":
                signals.append(self._sink(index).mark)
            else:
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
                program = next(e for e in self.program.exchanges if e.id == only.target)
                return exchange_step(self._exchanges[only.target], program, fresh)
            if only.kind == "sink":
                return sink_step(self._sink(only.target), fresh)
        return calling(self._outputs(node).main)

    def _joined(self, parent: str, child: str, signal: Signal) -> Signal:
        inputs = self._inputs.setdefault(child, ChannelWatermarks())
        channel = Channel(parent)
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
        for exchange, endpoint in self._exchanges.items():
            endpoint.begin(Channel(exchange, group=None if merged else home), merged, joins)

    @property
    def endpoints(self) -> Iterable[Endpoint]:
        """Where the chain's records leave it, for other tasks and for sinks."""
        return (*self._exchanges.values(), *self._sinks.values())

    def begin_shared_channel(self) -> None:
        """Records and marks belong to one channel that all tasks of a DataFrame share."""
        for exchange, endpoint in self._exchanges.items():
            endpoint.begin(Channel(exchange, group=ALL_TASKS), merged=True)

    def begin_channel(self, split: str, states: Mapping[str, Any]) -> None:
        """From now on records and marks belong to a split; operators go on from its states."""
        for exchange, endpoint in self._exchanges.items():
            endpoint.open_channel(Channel(exchange, split))
        for endpoint in self._sinks.values():
            endpoint.watermark = None
        self.restore(states)

    def restore(self, states: Mapping[str, Any]) -> None:
        """Let operators that keep time of their own go on from ``snapshot``'s result.

        One chain serves many splits or key groups: what is not restored here leaks between them.
        """
        for node_id, operator in self.operators.items():
            operator.restore(states.get(node_id))
        for node_id, inputs in self._inputs.items():
            known, current = states.get(_inputs_of(node_id), ({}, MIN_WATERMARK))
            state = {c: known.get(c.exchange, (MIN_WATERMARK, False)) for c in inputs.state}
            inputs.restart(state, current)

    def snapshot(self) -> dict[str, Any]:
        """What operators must find again in the next micro-batch, by node id.

        The watermarks of a node's inputs, where it has several, lie beside it.
        """
        states = {node_id: operator.snapshot() for node_id, operator in self.operators.items()}
        for node_id, inputs in self._inputs.items():
            known = {channel.exchange: mark for channel, mark in inputs.state.items()}
            states[_inputs_of(node_id)] = (known, inputs.current)
        return {node_id: state for node_id, state in states.items() if state is not None}

    def waiting(self) -> int:
        """How many records are gathered for other tasks and sinks."""
        return sum(e.records() for e in (*self._exchanges.values(), *self._sinks.values()))

    @property
    def is_full(self) -> bool:
        """True when what waits should leave, by records or by bytes."""
        outbox = self.outbox
        if outbox.overflow or self.waiting() >= self._job.settings.flush_records:
            return True
        endpoints = (*self._exchanges.values(), *self._sinks.values())
        # Loops over a chunk do not weigh what they gather.
        found = sum(endpoint.weight_bytes() for endpoint in endpoints)
        return max(outbox.weight_bytes, found) >= BYTES_GATHERED

    def drain(self) -> Iterator[Envelope]:
        """Give out what was gathered."""
        yield from self.outbox.overflow.take()
        self.outbox.weight_bytes = 0
        for endpoint in self._exchanges.values():
            yield from endpoint.drain()
        yield from self._drain_sinks()

    def drain_sinks(self) -> Iterator[Envelope]:
        """Give out what was gathered for sinks, in the name of the group at work."""
        yield from self.outbox.overflow.take()
        yield from self._drain_sinks()

    def _drain_sinks(self) -> Iterator[Envelope]:
        for endpoint in self._sinks.values():
            yield from endpoint.drain()

    def _put_aside(self) -> None:
        """Empty the buffers in the middle of a call, when nothing can leave."""
        outbox = self.outbox
        outbox.weight_bytes = 0
        for endpoint in (*self._exchanges.values(), *self._sinks.values()):
            for envelope in endpoint.drain():
                outbox.overflow.put(envelope)

    def close(self) -> None:
        """Close the user functions."""
        with contextlib.ExitStack() as stack:
            for program in self.program.exchanges:
                for function in (program.selector, program.partitioner):
                    if function is not None:
                        stack.callback(close_function, function)
            for operator in self.operators.values():
                stack.callback(operator.close)


def _inputs_of(node_id: str) -> str:
    return f"{node_id}/inputs"


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
