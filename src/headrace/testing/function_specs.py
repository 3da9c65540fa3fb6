"""Which operator runs a function that a test hands to a harness."""

from __future__ import annotations

from typing import Any

from headrace.datastream.functions import (
    CheckpointedFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from headrace.errors import NotKeyedError, PlanError
from headrace.operators.checkpointed import CheckpointedSpec
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.keyed_function import KeyedFilterSpec, KeyedFlatMapSpec, KeyedMapSpec
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction

_METHODS: list[tuple[type, str, Any, Any]] = [
    (ProcessFunction, "process_element", ProcessSpec, KeyedProcessSpec),
    (KeyedProcessFunction, "process_element", None, KeyedProcessSpec),
    (MapFunction, "map", MapSpec, KeyedMapSpec),
    (FlatMapFunction, "flat_map", FlatMapSpec, KeyedFlatMapSpec),
    (FilterFunction, "filter", FilterSpec, KeyedFilterSpec),
    (ReduceFunction, "reduce", None, ReduceSpec),
]
"""A kind of function, its method, and the specs that run it without a key and with one."""


def spec_for(function: Any, keyed: bool) -> OperatorSpec:
    """The spec that runs a function; a spec is returned unchanged.

    Raises:
        NotKeyedError: the function needs a key, and the harness has none.
        PlanError: no operator runs this, or the operator has no use for the key.
    """
    if isinstance(function, OperatorSpec):
        if function.traits.keyed and not keyed:
            raise NotKeyedError(
                f"{function.label} needs a keyed stream", hint="test it with a KeyedHarness"
            )
        if keyed and not function.traits.keyed:
            raise PlanError(f"{function.label} has no key", hint="test it with a ProcessHarness")
        return function
    for kind, method, plain, with_key in _METHODS:
        if isinstance(function, kind):
            make = with_key if keyed else plain
            if isinstance(function, CheckpointedFunction) and not keyed and plain is not None:
                return CheckpointedSpec(UserFunction(function, method), plain)
            if make is None:
                raise NotKeyedError(
                    f"a {kind.__name__} needs a keyed stream", hint="test it with a KeyedHarness"
                )
            spec: OperatorSpec = make(UserFunction(function, method))
            return spec
    raise PlanError(
        f"a harness runs function objects and operator specs, not {function!r}",
        hint="wrap a plain function: MapSpec(UserFunction(f)), or test it by calling it",
    )
