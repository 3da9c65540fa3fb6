"""In a batch, each operator is the one for a batch: it need not ask in which mode it runs."""

from __future__ import annotations

from dataclasses import replace

from headrace.runtime.program import ChainProgram, JobProgram


def for_batches(program: JobProgram) -> JobProgram:
    """The program with the specs for its mode."""
    if not program.batch:
        return program
    sources = tuple(replace(each, chain=_in_batch(each.chain)) for each in program.sources)
    stages = tuple(
        tuple(replace(each, chain=_in_batch(each.chain)) for each in stage)
        for stage in program.stages
    )
    return replace(program, sources=sources, stages=stages)


def _in_batch(chain: ChainProgram) -> ChainProgram:
    nodes = {
        node_id: node if node.spec is None else replace(node, spec=node.spec.in_batch())
        for node_id, node in chain.nodes.items()
    }
    return replace(chain, nodes=nodes)
