"""Operators whose functions have operator state (``CheckpointedFunction``)."""

from __future__ import annotations

from dataclasses import replace

from headrace.datastream.functions import CheckpointedFunction
from headrace.errors import UnsupportedError
from headrace.graph.transformation import CallSite, Edge, Forward, Rebalance
from headrace.operators.checkpointed import CheckpointedSpec
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.inspection import reachable_attributes
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.runtime.operator import OperatorSpec

_SPECS = (MapSpec, FlatMapSpec, FilterSpec, ProcessSpec)


def keeps_state(spec: OperatorSpec) -> bool:
    """Return whether a function of the operator is a ``CheckpointedFunction``."""
    return any(isinstance(each.target, CheckpointedFunction) for each in spec.functions)


def make_checkpointed_spec(
    spec: OperatorSpec, keyed: bool, call: str, stream: str, site: CallSite
) -> CheckpointedSpec:
    """Return the same operator, with operator state.

    Raises:
        UnsupportedError: operators of this kind have no operator state.
    """
    if keyed or not isinstance(spec, _SPECS):
        raise UnsupportedError(
            f"a CheckpointedFunction has no place in {call}() on this stream",
            where={"stream": stream, "called": str(site)},
            hint="state without a key is for map, flat_map, filter and process on streams without"
            " keys; a function after key_by() has keyed state",
        )
    return CheckpointedSpec(spec.function, type(spec))


def spread(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
    """Return edges to an operator with operator state, which needs separate tasks."""
    return tuple(
        replace(edge, partitioning=Rebalance()) if isinstance(edge.partitioning, Forward) else edge
        for edge in edges
    )


def has_one_instance(spec: OperatorSpec) -> bool:
    """Return whether each instance would need the elements of all others."""
    return isinstance(spec, CheckpointedSpec) and (
        "get_union_list_state" in reachable_attributes(spec.function.target)
    )
