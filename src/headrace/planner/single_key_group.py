"""One group per vertex, for a runner that has only one process."""

from __future__ import annotations

from dataclasses import replace

from headrace.runtime.program import ChainProgram, JobProgram


def collapse_key_groups(program: JobProgram) -> JobProgram:
    """The same program with a single key group in every keyed vertex; subtasks stay apart."""
    keyed = {v.id for stage in program.stages for v in stage if v.keyed}

    def chain(old: ChainProgram) -> ChainProgram:
        return replace(
            old,
            exchanges=tuple(
                replace(e, groups=1) if e.target in keyed else e for e in old.exchanges
            ),
        )

    collapsed = {v.id: 1 if v.keyed else v.groups for stage in program.stages for v in stage}
    return replace(
        program,
        sources=tuple(replace(s, chain=chain(s.chain)) for s in program.sources),
        stages=tuple(
            tuple(
                replace(
                    v,
                    chain=chain(v.chain),
                    groups=collapsed[v.id],
                    input_channels=tuple(
                        c for c in v.input_channels if "@" not in c or _kept(c, program, collapsed)
                    ),
                )
                for v in stage
            )
            for stage in program.stages
        ),
    )


def _kept(channel: str, program: JobProgram, collapsed: dict[int, int]) -> bool:
    """True when the group that a channel names still exists."""
    exchange, group = channel.split("@")
    for stage in program.stages:
        for vertex in stage:
            if any(str(e.index) == exchange for e in vertex.chain.exchanges):
                return int(group) < collapsed[vertex.id]
    return True
