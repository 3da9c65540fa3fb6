"""One group per vertex, for a runner that has only one process."""

from __future__ import annotations

from dataclasses import replace

from headrace.runtime.channel import Channel
from headrace.runtime.program import ChainProgram, JobProgram


def single_key_group(program: JobProgram) -> JobProgram:
    """Give every keyed vertex a single key group; the numbers of subtasks stay."""
    keyed = {vertex.id for stage in program.stages for vertex in stage if vertex.keyed}
    from_keyed = {
        exchange.id
        for stage in program.stages
        for vertex in stage
        if vertex.keyed
        for exchange in vertex.chain.exchanges
    }

    def chain(old: ChainProgram) -> ChainProgram:
        exchanges = (replace(e, groups=1) if e.target in keyed else e for e in old.exchanges)
        return replace(old, exchanges=tuple(exchanges))

    def stays(channel: Channel) -> bool:
        return not channel.group or channel.exchange not in from_keyed

    found = program.with_chains(chain)
    stages = (
        tuple(
            replace(
                vertex,
                groups=1 if vertex.keyed else vertex.groups,
                input_channels=tuple(filter(stays, vertex.input_channels)),
            )
            for vertex in stage
        )
        for stage in found.stages
    )
    return replace(found, stages=tuple(stages))
