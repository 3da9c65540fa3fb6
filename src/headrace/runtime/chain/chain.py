"""Operators fused into one task: each record is pushed from one to the next, depth first."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.block import Envelope
from headrace.runtime.chain.loops import Push, PushAll, Step, calling, pushing, pushing_all
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
)
from headrace.runtime.program import ChainProgram, JobProgram
from headrace.runtime.state.handles import Cell
from headrace.runtime.user_function import close_function, open_function
from headrace.runtime.watermarks import ChannelWatermarks


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
        self._mains: dict[int, Push] = {}
        self._steps: dict[int, Step | None] = {}
        self._signals: dict[int, Signal] = {}
        self._inputs: dict[int, ChannelWatermarks] = {}
        self._parents = self._count_parents()
        self._exchange_pushes = self._open_exchanges()
        order = program.order()
        for node_id in reversed(order):
            self._build(program.nodes[node_id])
        self.push_all = self._loop()
        self._ticking = [
            self.operators[i] for i in order if i in self.operators and _ticks(self.operators[i])
        ]
        self.root_outputs = self._root_outputs

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

    def _build(self, node: NodeProgram) -> None:
        outputs = self._outputs(node)
        self._mains[node.id] = outputs.main
        if node.spec is None:
            self._root_outputs = outputs
            self._pushes[node.id] = outputs.main
            self._signals[node.id] = outputs.signal
            return
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
        step = self._steps[node.id] = operator.step()
        if step is None or step.only_in_loops:
            self._pushes[node.id] = operator.bind(outputs)
        else:
            row = (step, *self._behind(node))
            self._pushes[node.id] = pushing(row, node.name)
        if node.id == self.program.root:
            self._root_outputs = outputs
        self._signals[node.id] = self._signal_into(node.id, operator, outputs.signal)

    def _signal_into(self, node_id: int, operator: Operator, signal: Signal) -> Signal:
        def into(watermark: int, idle: bool) -> None:
            operator.watermark(watermark, idle, signal)

        return into

    def _outputs(self, node: NodeProgram) -> Outputs:
        by_tag: dict[str | None, list[Push]] = {}
        signals: list[Signal] = []
        # Exchanges and sinks encode a record at once: they take it before an operator changes it.
        links = sorted(node.links, key=lambda link: link.kind == "node")
        # An operator may emit one object to several tags, in any order, or hold on to it.
        shared = node.spec is not None and (
            node.spec.traits.keeps_emitted or len({link.tag for link in links}) > 1
        )
        for index, link in enumerate(links):
            push, signal = self._link(node.id, link)
            if link.kind == "node" and (
                shared or any(link.tag == other.tag for other in links[index + 1 :])
            ):
                push = self._copying(push)
            by_tag.setdefault(link.tag, []).append(push)
            if signal is not None and signal not in signals:
                signals.append(signal)
        sides = {tag: _fan_out(pushes) for tag, pushes in by_tag.items() if tag is not None}
        return Outputs(_fan_out(by_tag.get(None, [])), sides, _fan_out_signal(signals))

    def _copying(self, push: Push) -> Push:
        """A push of a copy, where someone beside the receiver has the same record."""
        if self.outbox.object_reuse:
            return push

        def copy(value: Any, timestamp: int | None) -> None:
            push(copied(value), timestamp)

        return copy

    def _link(self, parent: int, link: Link) -> tuple[Push, Signal | None]:
        if link.kind == "node":
            signal = self._signals[link.index]
            if self._parents[link.index] > 1:
                signal = self._joined(parent, link.index, signal)
            return self._pushes[link.index], signal
        if link.kind == "exchange":
            return self._exchange_pushes[link.index], self._exchanges[link.index].mark
        endpoint = self._sinks.get(link.index)
        if endpoint is None:
            stage = self._job.sink_stage
            endpoint = Endpoint(self.outbox, stage, link.index, 1, False, None)
            self._sinks[link.index] = endpoint
        return pushing((sink_step(endpoint),), f"sink {link.index}"), None

    # Rows of operators: what stands behind a node in one generated function with it.

    def _loop(self) -> PushAll:
        """A function that takes a chunk of records at the root."""
        root = self.program.nodes[self.program.root]
        step = self._steps.get(root.id)
        if root.spec is None:
            row = self._behind(root, in_loop=True, fresh=True)
        elif step is not None:
            row = (step, *self._behind(root, in_loop=True, fresh=step.passes_on))
        else:
            row = (calling(self.push),)
        return pushing_all(row, root.name)

    def _behind(
        self, node: NodeProgram, in_loop: bool = False, fresh: bool = False
    ) -> tuple[Step, ...]:
        """The steps behind a node; a call of its main output where records part or are shared.

        ``fresh``: nobody but this row holds the records.
        """
        only = node.links[0] if len(node.links) == 1 else None
        if only is not None and only.tag is None:
            if only.kind == "exchange":
                program = next(e for e in self.program.exchanges if e.index == only.index)
                return (exchange_step(self._exchanges[only.index], program, fresh),)
            if only.kind == "sink":
                return (sink_step(self._sinks[only.index], fresh),)
            step = self._steps[only.index]
            kept = node.spec is not None and node.spec.traits.keeps_emitted
            if not kept and step is not None and (in_loop or not step.only_in_loops):
                child = self.program.nodes[only.index]
                return (step, *self._behind(child, in_loop, fresh and step.passes_on))
        return (calling(self._mains[node.id]),)

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
            endpoint.open_channel(f"{index}:{name}")
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
