"""In a batch only final results count: operators that can emit each result emit the last ones."""

from __future__ import annotations

from dataclasses import replace

from headrace.runtime.operator import NodeProgram
from headrace.runtime.program import ChainProgram, JobProgram


def with_last_results(program: JobProgram) -> JobProgram:
    """A batch whose operators emit only their last results; a streaming program as it is."""
    if not program.batch:
        return program
    stages = (
        tuple(replace(vertex, chain=_emitting_last(vertex.chain)) for vertex in stage)
        for stage in program.stages
    )
    sources = (replace(each, chain=_emitting_last(each.chain)) for each in program.sources)
    return replace(program, sources=tuple(sources), stages=tuple(stages))


def _emitting_last(chain: ChainProgram) -> ChainProgram:
    return replace(chain, nodes={id_: _last_of(node) for id_, node in chain.nodes.items()})


def _last_of(node: NodeProgram) -> NodeProgram:
    return node if node.spec is None else replace(node, spec=node.spec.emitting_last())
