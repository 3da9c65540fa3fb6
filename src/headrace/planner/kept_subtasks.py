"""A program with as many instances of operators with state as an earlier one had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from headrace.planner.plan import with_fingerprint
from headrace.runtime.channel import Channel
from headrace.runtime.program import ChainProgram, JobProgram, VertexProgram


def with_kept_subtasks(program: JobProgram, before: Mapping[str, int]) -> JobProgram:
    """Set the number of instances of operators with operator state to that of an earlier program.

    The state of an instance belongs to its subtask, so with fewer subtasks some state would not be
    read. ``before``: the earlier numbers, by operator id. With a lower parallelism, several
    instances share a task.
    """
    counts = {
        vertex.id: before[vertex.id]
        for stage in program.stages
        for vertex in stage
        if vertex.has_operator_state and before.get(vertex.id, vertex.groups) != vertex.groups
    }
    if not counts:
        return program
    of_exchange = {
        exchange.id: counts[vertex.id]
        for stage in program.stages
        for vertex in stage
        if vertex.id in counts
        for exchange in vertex.chain.exchanges
    }

    def chain(old: ChainProgram) -> ChainProgram:
        exchanges = (replace(e, groups=counts.get(e.target, e.groups)) for e in old.exchanges)
        return replace(old, exchanges=tuple(exchanges))

    def channels(old: tuple[Channel, ...]) -> tuple[Channel, ...]:
        made: dict[Channel, None] = {}
        for channel in old:
            count = of_exchange.get(channel.exchange)
            if count is None or channel.group is None:
                made[channel] = None
            else:
                made.update((channel._replace(group=group), None) for group in range(count))
        return (*made,)

    def vertex(old: VertexProgram) -> VertexProgram:
        count = counts.get(old.id)
        return replace(
            old,
            groups=old.groups if count is None else count,
            parallelism=old.parallelism if count is None else count,
            input_channels=channels(old.input_channels),
        )

    found = program.with_chains(chain)
    stages = tuple(tuple(map(vertex, stage)) for stage in found.stages)
    return with_fingerprint(replace(found, stages=stages))
