"""Builds a chain: generated functions for rows of operators, the calls between them, the ends."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any

from headrace.metrics.metricbase import MetricGroup
from headrace.runtime.chain.counting import ChainCounts, count_step
from headrace.runtime.channel import Channel
from headrace.runtime.context import TaskContext, TaskInfo
from headrace.runtime.exchange.send_context import SendContext
from headrace.runtime.exchange.steps import exchange_step, sink_step
from headrace.runtime.exchange.writer import ExchangeWriter, KeyedExchangeWriter, writer_arguments
from headrace.runtime.failure import annotate
from headrace.runtime.loops import (
    Nesting,
    Push,
    PushAll,
    Step,
    call_step,
    compile_push,
    compile_push_all,
)
from headrace.runtime.operator import (
    Link,
    NodeProgram,
    Operator,
    Outputs,
    PushWatermark,
    drop_record,
)
from headrace.runtime.program import ChainProgram, ExchangeProgram, JobProgram
from headrace.runtime.record_copies import copy_record
from headrace.runtime.state.broadcast_state import BroadcastStateStore
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.user_function import open_function
from headrace.runtime.watermarks import InputWatermarks, NodeInputs

_FEW_FUNCTIONS = 50
_DEFAULT_RECURSION_LIMIT = 1000
_CALLS_PER_FUNCTION = 8


class ChainBuilder:
    """The functions and operators of a chain, made from its ends to its root.

    ``push_all_by_input``: for each input of the root, a function that takes a chunk of records;
    ``push_all`` is the first of them. ``merged``: the exchanges whose senders all go through one
    sequence of watermarks. ``inputs``: by node id, the watermarks of a node that several nodes
    feed, or that has several inputs. ``unannounced``: those that pass the next watermark on even if
    it changes nothing. ``ticking_operators``: operators whose ``tick`` follows a chunk.
    ``buffering_operators``: those that may hold results back (``complete``), each before those that
    it feeds.
    """

    def __init__(
        self,
        program: ChainProgram,
        job: JobProgram,
        task_info: TaskInfo,
        metrics: MetricGroup,
        send_context: SendContext,
        merged: Collection[str],
        root_inputs: InputWatermarks | None,
        broadcast_states: BroadcastStateStore | None,
    ) -> None:
        program = self.program = _with_copied_functions(program)
        self._task_info, self._metrics, self._job, self._send_context = (
            task_info,
            metrics,
            job,
            send_context,
        )
        self.key_context = KeyContext()
        self.operators: dict[str, Operator] = {}
        self.contexts: dict[str, TaskContext] = {}
        self.pushes: dict[str, Push] = {}
        self.watermark_pushes: dict[str, PushWatermark] = {}
        self.inputs: dict[str, NodeInputs] = {}
        self.unannounced: set[str] = set()
        self._root_inputs, self._broadcast_states = root_inputs, broadcast_states
        self.exchanges = {
            e.id: self._make_exchange_writer(e, e.id in merged) for e in program.exchanges
        }
        self.sinks: dict[str, ExchangeWriter] = {}
        self._sinks_of_columns = {
            link.target
            for node in program.nodes.values()
            for link in node.links
            if link.kind == "sink" and link.columns
        }
        self._input_pushes: dict[str, tuple[Push, ...]] = {}
        """By node with several inputs: a push for each input."""
        self._steps: dict[str, Step | None] = {}
        self._outputs_by_node: dict[str, Outputs] = {}
        self._uncounted_pushes: dict[str, Push] = {}
        """By node whose outputs are made: the main one, for who counts what goes there."""
        self._nesting: dict[str, Nesting] = {}
        self._fused_next: dict[str, str | None] = {}
        """By node: the one whose step follows in the same generated function, or None."""
        self._parents = self._count_parents()
        self._exchange_pushes = self._open_exchanges()
        order = program.order()
        for node_id in reversed(order):
            self._open_node(program.nodes[node_id])
        self.counts = ChainCounts(program, self._is_one_to_one, self._get_writer)
        called = self._find_called_nodes()
        for node_id in reversed(order):
            self._build_pushes(program.nodes[node_id], node_id in called)
        _raise_recursion_limit(len(self.pushes))
        self.push_all_by_input = self._make_loops()
        self.push_all = self.push_all_by_input[0]
        in_order = [self.operators[i] for i in order if i in self.operators]
        self.ticking_operators = [each for each in in_order if _is_overridden(each, Operator.tick)]
        self.buffering_operators = [
            each for each in in_order if _is_overridden(each, Operator.complete)
        ]
        self.counts.register(metrics, job)

    def _make_exchange_writer(self, program: ExchangeProgram, merged: bool) -> ExchangeWriter:
        """Return the writer of an exchange; ``merged``: all its senders share watermarks."""
        if program.columns:  # jobs with rows start without these
            if merged:
                from headrace.runtime.columns.keyed_exchange import KeyedColumnExchangeWriter

                return KeyedColumnExchangeWriter(self._send_context, program, self._job.partitions)
            from headrace.runtime.columns.exchange import ColumnExchangeWriter

            return ColumnExchangeWriter(self._send_context, program, self._job.partitions)
        given = writer_arguments(self._send_context, program)
        return KeyedExchangeWriter(*given) if merged else ExchangeWriter(*given)

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
                    open_function(function, self._make_context(program.label, program.site, None))
            step = exchange_step(self.exchanges[program.id], program)
            pushes[program.id] = compile_push((step,), program.label)
        return pushes

    def _make_context(
        self,
        name: str,
        site: str,
        key_context: KeyContext | None,
        operator: str | None = None,
        uid: str | None = None,
    ) -> TaskContext:
        """Create the runtime context of a node; without ``key_context`` it has no keyed state."""
        metrics = self._metrics.of_operator(operator or name, name)
        return TaskContext(name, site, self._task_info, metrics, key_context, uid)

    def _open_node(self, node: NodeProgram) -> None:
        """Create and open the node's operator, and find the node to fuse with it."""
        if node.spec is None:
            self._steps[node.id] = None
        else:
            operator = node.spec.build()
            if node.spec.traits.inputs > 1:
                operator.input_watermark = self._inputs_of(node).watermark
            keyed = node.spec.traits.keyed
            key_context = self.key_context if keyed else None
            context = self._make_context(node.name, node.site, key_context, node.id, node.uid)
            if node.id == self.program.root:
                context.broadcast_states = self._broadcast_states
            self.contexts[node.id] = context
            self.operators[node.id] = operator
            try:
                operator.open(node, context, self.key_context)
            except Exception as error:
                annotate(error)
                raise
            self._steps[node.id] = operator.step()
        self._fused_next[node.id] = self._fusable_successor(node)

    def _inputs_of(self, node: NodeProgram) -> NodeInputs | InputWatermarks:
        """Return the watermarks of an operator with several inputs; for the root, the task's."""
        assert node.spec is not None
        if node.id != self.program.root:
            return self.inputs.setdefault(node.id, NodeInputs(node.spec.traits.inputs))
        assert self._root_inputs is not None, "only a keyed task has a root with several inputs"
        return self._root_inputs

    def _fusable_successor(self, node: NodeProgram) -> str | None:
        """Return the node whose step can follow this one's, unless the code would be too deep.

        Nodes are opened from the ends on, so a row that is too long is cut from its end on.
        """
        step = self._steps[node.id]
        own = self._nesting[node.id] = step.nesting if step is not None else Nesting()
        only = node.links[0] if len(node.links) == 1 else None
        kept = node.spec is not None and node.spec.traits.retains_emitted
        if only is None or only.tag is not None or only.kind != "node" or kept:
            return None
        if (
            self._steps[only.target] is None
            or not (nesting := own + self._nesting[only.target]).fits
        ):
            return None
        self._nesting[node.id] = nesting
        return only.target

    def _is_one_to_one(self, node_id: str) -> bool:
        """Return whether a node emits one record for each that it gets."""
        step, operator = self._steps[node_id], self.operators.get(node_id)
        if step is not None:
            return step.one_to_one
        return operator is not None and operator.one_to_one

    def _get_writer(self, link: Link) -> ExchangeWriter:
        """Return the writer through which a link leaves the chain."""
        return (
            self.exchanges[link.target]
            if link.kind == "exchange"
            else self._sink_writer(link.target)
        )

    def _find_called_nodes(self) -> set[str]:
        """Return the nodes that are called with a record, by another one or from outside."""
        links = [
            (node.id, link.target)
            for node in self.program.nodes.values()
            for link in node.links
            if link.kind == "node"
        ]
        called = {target for source, target in links if self._fused_next[source] != target}
        return called | {self.program.root}

    def _build_pushes(self, node: NodeProgram, called: bool) -> None:
        """Create the node's functions for watermarks and, if ``called``, for single records."""
        step, operator = self._steps[node.id], self.operators.get(node.id)
        if operator is None:
            outputs = self.outputs(node)
            self.pushes[node.id], self.watermark_pushes[node.id] = (
                outputs.main,
                outputs.push_watermark,
            )
            return
        if node.spec is not None and node.spec.traits.inputs > 1:
            pushes = self._input_pushes[node.id] = operator.bind_inputs(self.outputs(node))
            self.pushes[node.id] = pushes[0]
        elif step is None or step.loop_only:
            self.pushes[node.id] = operator.bind(self.outputs(node))
        elif called:
            self.pushes[node.id] = compile_push((step, *self._steps_after(node)), node.name)
        self.watermark_pushes[node.id] = _make_watermark_pusher(
            operator, self._watermark_push_after(node)
        )

    def outputs(self, node: NodeProgram) -> Outputs:
        """Return the outputs of a node, created at the first call."""
        made = self._outputs_by_node.get(node.id)
        if made is None:
            made = self._outputs_by_node[node.id] = self._make_outputs(node)
        return made

    def _make_outputs(self, node: NodeProgram) -> Outputs:
        by_tag: dict[str | None, list[Push]] = {}
        # Exchanges and sinks encode a record at once: they take it before an operator changes it.
        links = sorted(node.links, key=lambda link: link.kind == "node")
        # An operator may emit one object to several tags, in any order, or hold on to it.
        must_copy = node.spec is not None and (
            node.spec.traits.retains_emitted or len({link.tag for link in links}) > 1
        )
        for index, link in enumerate(links):
            push = self._push_into(link)
            if link.kind == "node" and (
                must_copy
                or any(link.tag == other.tag for other in links[index + 1 :])
                or self._calls_async(link.target)
            ):
                push = self._copy_before(push)
            by_tag.setdefault(link.tag, []).append(push)
        self._uncounted_pushes[node.id] = _fan_out(by_tag.get(None, []))
        counted = {tag: self._count_output(node, tag, pushes) for tag, pushes in by_tag.items()}
        main = counted.pop(None, drop_record)
        sides = {tag: push for tag, push in counted.items() if tag is not None}
        made = Outputs(main, sides, self._watermark_push_after(node))
        made.row = partial(self._steps_after, node, in_loop=True)
        if len(links) == 1 and links[0].kind == "exchange":
            made.key_groups = self.exchanges[links[0].target].groups
        return made

    def _count_output(self, node: NodeProgram, tag: str | None, pushes: list[Push]) -> Push:
        """Return a push into an output; it counts records if no other measure counts them."""
        tally = self.counts.tally(node.id, tag)
        if tally is None:
            return _fan_out(pushes)
        count = count_step(tally, in_loop=False)
        targets = {link.target for link in node.links if link.tag == tag}
        for target in targets:
            step = self._steps.get(target)
            if pushes == [self.pushes.get(target)] and step and not step.loop_only:
                # Counts within the function of what follows: a call less for each record.
                child = self.program.nodes[target]
                return compile_push((count, step, *self._steps_after(child)), child.name)
        return compile_push((count, call_step(_fan_out(pushes))), f"output of {node.name}")

    def _calls_async(self, node_id: str) -> bool:
        spec = self.program.nodes[node_id].spec
        return spec is not None and spec.traits.calls_async

    def _push_into(self, link: Link) -> Push:
        if link.kind == "node":
            if link.target not in self.pushes:  # so far it only followed another node in a row
                child = self.program.nodes[link.target]
                step = self._steps[link.target]
                assert step is not None
                self.pushes[link.target] = compile_push(
                    (step, *self._steps_after(child)), child.name
                )
            if link.target in self._input_pushes:
                return self._input_pushes[link.target][link.input]
            return self.pushes[link.target]
        if link.kind == "exchange":
            return self._exchange_pushes[link.target]
        return compile_push((self._make_sink_step(link.target),), f"sink {link.target}")

    def _sink_writer(self, sink_id: str) -> ExchangeWriter:
        if sink_id not in self.sinks:
            stage = self._job.sink_stage
            make: type[ExchangeWriter] = ExchangeWriter
            if sink_id in self._sinks_of_columns:
                from headrace.runtime.columns.sinks import ColumnSinkWriter

                make = ColumnSinkWriter
            self.sinks[sink_id] = make(self._send_context, stage, sink_id, 1, False, None)
        return self.sinks[sink_id]

    def _make_sink_step(self, sink_id: str, unshared: bool = False) -> Step:
        # What one operator emits in a test has no sink.
        sink = next((sink for sink in self._job.sinks if sink.id == sink_id), None)
        return sink_step(self._sink_writer(sink_id), sink, unshared)

    def _watermark_push_after(self, node: NodeProgram) -> PushWatermark:
        """Return a function that passes a node's watermarks to all that it feeds, once to each."""
        watermark_pushes: list[PushWatermark] = []
        links = sorted(node.links, key=lambda link: link.kind == "node")
        ways = dict.fromkeys((link.kind, link.target, link.input) for link in links)
        for kind, index, number in ways:
            if kind == "exchange":
                watermark_pushes.append(self.exchanges[index].write_watermark)
            elif kind == "sink":
                watermark_pushes.append(self._sink_writer(index).write_watermark)
            else:
                push_watermark = self.watermark_pushes[index]
                if self._parents[index] > 1 or index in self.inputs:
                    push_watermark = self._merge_watermarks_into(
                        node.id, index, number, push_watermark
                    )
                watermark_pushes.append(push_watermark)
        return _fan_out_watermarks(watermark_pushes)

    def _copy_before(self, push: Push) -> Push:
        """Return a push that hands on a copy, since others have the record too."""
        if self._send_context.object_reuse:
            return push

        def copy(value: Any, timestamp: int | None) -> None:
            push(copy_record(value), timestamp)

        return copy

    # Rows of operators: what follows a node in one generated function with it.

    def _make_loops(self) -> tuple[PushAll, ...]:
        """Return the functions that take a chunk of records at the root, for each of its inputs."""
        root = self.program.nodes[self.program.root]
        step = self._steps[root.id]
        if root.spec is None:
            row = self._steps_after(root, in_loop=True, unshared=True)
        elif step is not None:
            row = (step, *self._steps_after(root, in_loop=True, unshared=step.forwards_record))
        else:
            pushes = self._input_pushes.get(root.id) or (self.pushes[root.id],)
            return tuple(compile_push_all((call_step(push),), root.name) for push in pushes)
        return (compile_push_all(row, root.name),)

    def _steps_after(
        self, node: NodeProgram, in_loop: bool = False, unshared: bool = False
    ) -> tuple[Step, ...]:
        """Return the steps after a node, up to an exchange, a sink, or a call of another node.

        ``unshared``: no other consumer has the records, so they need not be copied.
        """
        row = self._counting_step(node, in_loop)
        while (following := self._fused_next[node.id]) is not None:
            step = self._steps[following]
            assert step is not None, "a node without a step is never part of a row"
            if step.loop_only and not in_loop:
                break
            unshared = unshared and step.forwards_record
            node = self.program.nodes[following]
            row += [step, *self._counting_step(node, in_loop)]
        return (*row, self._last_step(node, unshared))

    def _counting_step(self, node: NodeProgram, in_loop: bool) -> list[Step]:
        tally = self.counts.tally(node.id)
        return [] if tally is None else [count_step(tally, in_loop)]

    def _last_step(self, node: NodeProgram, unshared: bool) -> Step:
        only = node.links[0] if len(node.links) == 1 else None
        if only is not None and only.tag is None:
            if only.kind == "exchange":
                program = next(e for e in self.program.exchanges if e.id == only.target)
                return exchange_step(self.exchanges[only.target], program, unshared)
            if only.kind == "sink":
                return self._make_sink_step(only.target, unshared)
        self.outputs(node)
        return call_step(self._uncounted_pushes[node.id])

    def push_rows_into(self, link: Link) -> PushAll:
        """Return a function that sends records over a link; the caller must not keep them."""
        if link.kind == "exchange":
            program = next(e for e in self.program.exchanges if e.id == link.target)
            row = (exchange_step(self.exchanges[link.target], program, unshared=True),)
            return compile_push_all(row, program.label)
        if link.kind == "sink":
            return compile_push_all(
                (self._make_sink_step(link.target, True),), f"sink {link.target}"
            )
        node, step = self.program.nodes[link.target], self._steps[link.target]
        if step is None or link.target in self._input_pushes:
            return compile_push_all((call_step(self._push_into(link)),), node.name)
        rest = self._steps_after(node, in_loop=True, unshared=step.forwards_record)
        return compile_push_all((step, *rest), node.name)

    def _merge_watermarks_into(
        self, parent: str, child: str, input_index: int, push_watermark: PushWatermark
    ) -> PushWatermark:
        """Return a watermark push from ``parent`` into input ``input_index`` of ``child``.

        It passes on the combined watermark of all of the child's inputs, when that changes.
        """
        inputs = self.inputs.setdefault(child, NodeInputs(1))
        channel = Channel(parent, group=input_index if inputs.several else None)
        inputs.add(channel)
        unannounced = self.unannounced

        def into(watermark: int, idle: bool) -> None:
            changed = inputs.update(channel, watermark, idle)
            if changed or child in unannounced:
                unannounced.discard(child)
                push_watermark(inputs.all.current, inputs.all.idle)

        return into


def _with_copied_functions(program: ChainProgram) -> ChainProgram:
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


def _make_watermark_pusher(operator: Operator, push_watermark: PushWatermark) -> PushWatermark:
    """Return a function that gives a watermark to ``operator``, which pushes it on.

    ``push_watermark`` passes it to the next operators.
    """
    if type(operator).watermark is Operator.watermark:
        return push_watermark  # no call in between: a long row of operators needs no deep stack

    def into(watermark: int, idle: bool) -> None:
        operator.watermark(watermark, idle, push_watermark)

    return into


def _raise_recursion_limit(functions: int) -> None:
    """Raise Python's limit so that a record can pass through this many functions.

    Each is called by the one before it, and Python allows 1000 nested calls. They take no room on
    the processor's stack.
    """
    if functions > _FEW_FUNCTIONS:
        needed = _DEFAULT_RECURSION_LIMIT + _CALLS_PER_FUNCTION * functions
        sys.setrecursionlimit(max(sys.getrecursionlimit(), needed))


def _is_overridden(operator: Operator, method: Callable[..., None]) -> bool:
    return getattr(type(operator), method.__name__) is not method


def _fan_out(pushes: list[Push]) -> Push:
    if not pushes:
        return drop_record
    if len(pushes) == 1:
        return pushes[0]

    def push(value: Any, timestamp: int | None) -> None:
        for each in pushes:
            each(value, timestamp)

    return push


def _fan_out_watermarks(watermark_pushes: list[PushWatermark]) -> PushWatermark:
    if len(watermark_pushes) == 1:
        return watermark_pushes[0]

    def push_watermark(watermark: int, idle: bool) -> None:
        for each in watermark_pushes:
            each(watermark, idle)

    return push_watermark
