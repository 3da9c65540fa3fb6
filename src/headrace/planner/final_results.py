"""In a batch only final results count: operators that can emit each result emit the last ones."""

from __future__ import annotations

from dataclasses import replace

from headrace.runtime.operator import NodeProgram
from headrace.runtime.program import ChainProgram, JobProgram


def with_final_results(program: JobProgram) -> JobProgram:
    """Make the operators of a batch emit final results only; a streaming program is unchanged."""
    return program.with_chains(_with_final_results) if program.batch else program


def _with_final_results(chain: ChainProgram) -> ChainProgram:
    return replace(
        chain, nodes={id_: _node_with_final_results(node) for id_, node in chain.nodes.items()}
    )


def _node_with_final_results(node: NodeProgram) -> NodeProgram:
    return node if node.spec is None else replace(node, spec=node.spec.with_final_results())
