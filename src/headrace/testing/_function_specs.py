"""The operator that runs a user's function in a test harness."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datastream.functions import (
    AsyncFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from headrace.datastream.state import MapStateDescriptor
from headrace.errors import NotKeyedError, PlanError
from headrace.operators.asynchronous.operator import AsyncWaitSpec
from headrace.operators.broadcast.keyed import KeyedBroadcastProcessSpec
from headrace.operators.broadcast.plain import BroadcastProcessSpec
from headrace.operators.broadcast.states import DeclaredMap
from headrace.operators.checkpointed import CheckpointedSpec
from headrace.operators.connected.keyed import (
    KeyedCoFlatMapSpec,
    KeyedCoMapSpec,
    KeyedCoProcessSpec,
)
from headrace.operators.connected.plain import CoFlatMapSpec, CoMapSpec, CoProcessSpec
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
    (CoMapFunction, "map1", CoMapSpec, KeyedCoMapSpec),
    (CoFlatMapFunction, "flat_map1", CoFlatMapSpec, KeyedCoFlatMapSpec),
    (CoProcessFunction, "process_element1", CoProcessSpec, KeyedCoProcessSpec),
    (KeyedCoProcessFunction, "process_element1", None, KeyedCoProcessSpec),
]
"""The class of a function, its method, and its specs on streams without keys and with keys."""


def spec_for(function: Any, keyed: bool, states: Sequence[MapStateDescriptor] = ()) -> OperatorSpec:
    """Return the spec of the operator that runs ``function``; a spec is returned unchanged.

    ``states`` are the broadcast states of a function with a broadcast input.

    Raises:
        NotKeyedError: the function needs keys, or the broadcast function is for the other kind of
            stream.
        PlanError: no operator runs this object, or the operator does not use keys.
    """
    if isinstance(function, OperatorSpec):
        if function.traits.keyed and not keyed:
            raise NotKeyedError(
                f"{function.label} needs a keyed stream", hint="test it with a KeyedHarness"
            )
        if keyed and not function.traits.keyed:
            raise PlanError(
                f"{function.label} does not use keys", hint="test it with a ProcessHarness"
            )
        return function
    if isinstance(function, AsyncFunction):
        if keyed:
            raise PlanError(
                "an AsyncFunction does not use keys", hint="test it with a ProcessHarness"
            )
        return AsyncWaitSpec(UserFunction(function, "async_invoke"), True, 0, 1)
    if isinstance(function, BroadcastProcessFunction | KeyedBroadcastProcessFunction):
        return _broadcast_spec(function, keyed, states)
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
        hint="wrap a plain function as MapSpec(UserFunction(f)), or test it by calling it",
    )


def _broadcast_spec(
    function: Any, keyed: bool, states: Sequence[MapStateDescriptor]
) -> OperatorSpec:
    if isinstance(function, KeyedBroadcastProcessFunction) is not keyed:
        wanted, harness = ("unkeyed", "Process") if keyed else ("keyed", "Keyed")
        raise NotKeyedError(
            f"{type(function).__name__} is for {wanted} streams",
            hint=f"test it with a {harness}Harness",
        )
    make = KeyedBroadcastProcessSpec if keyed else BroadcastProcessSpec
    declared = tuple(DeclaredMap(each.name, each.type_info, each._evolution) for each in states)
    return make(UserFunction(function, "process_element"), declared)
