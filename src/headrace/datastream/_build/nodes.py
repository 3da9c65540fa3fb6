"""Creates nodes: checks and additions that many methods of the API share."""

from __future__ import annotations

from headrace.common._arguments import with_article
from headrace.common.typeinfo import TypeInformation
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream._build.node_list import NodeList
from headrace.datastream._build.operator_settings import follower_name
from headrace.datastream._build.pickling import require_picklable
from headrace.datastream.functions import Function
from headrace.errors import NotKeyedError, PlanError
from headrace.graph.transformation import CallSite, Edge, Transformation
from headrace.operators.coerce import CoerceSpec
from headrace.operators.inspection import inspect_function
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction


def check_type(declared: TypeInformation | None, call: str) -> TypeInformation | None:
    """Check that a declared type is a ``TypeInformation`` or None, and return it.

    Raises:
        PlanError: the argument is another object.
    """
    if declared is not None and not isinstance(declared, TypeInformation):
        raise PlanError(
            f"the type given to {call}() is {declared!r}",
            hint="types are made by Types: Types.INT()",
        )
    return declared


def add_operator(
    nodes: NodeList,
    inputs: tuple[Edge, ...],
    spec: OperatorSpec,
    site: CallSite,
    call: str,
    stream: str,
    output_type: TypeInformation | None = None,
) -> Transformation:
    """Add an operator to the program; returns its node.

    Raises:
        UnpicklableFunctionError: a function of the spec cannot be sent to a worker.
    """
    for function in spec.functions:
        require_sendable(function, call, stream, site)
    node = Transformation(inputs, spec, spec.label, site, output_type)
    nodes._register_operator(node)
    return node


def add_coercion(
    nodes: NodeList, edge: Edge, declared: TypeInformation | None, site: CallSite
) -> Transformation | None:
    """Add a node that converts records to a declared type; None if that is never necessary."""
    if declared is None or declared.coercer() is None:
        return None
    spec = CoerceSpec(declared)
    node = Transformation((edge,), spec, spec.label, site, declared)
    node.name = follower_name(node, edge.source.name)
    nodes._register(node)
    return node


def add_followers(
    nodes: NodeList,
    node: Transformation,
    declared: TypeInformation | None,
    site: CallSite,
    watermarks: TimestampsSpec | None = None,
) -> tuple[Transformation, ...]:
    """Add the nodes after an operator: conversion to a type, then timestamps."""
    coercion = add_coercion(nodes, Edge(node), declared, site)
    followers = () if coercion is None else (coercion,)
    if watermarks is None:
        return followers
    last = (node, *followers)[-1]
    timestamps = Transformation((Edge(last),), watermarks, "", site, last.output_type)
    timestamps.name = follower_name(timestamps, node.name)
    nodes._register(timestamps)
    return (*followers, timestamps)


def timestamps_spec(
    strategy: WatermarkStrategy, call: str, stream: str, site: CallSite
) -> TimestampsSpec:
    """Return the spec for a watermark strategy.

    Raises:
        PlanError: ``strategy`` is not a ``WatermarkStrategy``.
        UnpicklableFunctionError: the strategy cannot be sent to a worker.
    """
    if not isinstance(strategy, WatermarkStrategy):
        raise PlanError(
            f"{call}() takes a WatermarkStrategy, not {with_article(type(strategy).__name__)}",
            where={"stream": stream, "called": str(site)},
            hint="WatermarkStrategy.for_monotonous_timestamps(), for example",
        )
    require_picklable(strategy, "the watermark strategy", stream, site)
    return TimestampsSpec(strategy)


def require_sendable(function: UserFunction, call: str, stream: str, site: CallSite) -> None:
    """Check that a function can be pickled, to be sent to workers.

    Raises:
        UnpicklableFunctionError: pickling fails.
    """
    require_picklable(function.target, f"{function.name!r}, given to {call}(),", stream, site)


def require_unkeyed(function: UserFunction, call: str, stream: str, site: CallSite) -> None:
    """Check that a function for a stream without keys uses no keyed state and no timers.

    Raises:
        NotKeyedError: the function uses keyed state or timers.
    """
    uses = inspect_function(function.target) if isinstance(function.target, Function) else None
    if uses is None or not uses.keyed:
        return
    states = ", ".join(sorted(uses.keyed_state))
    what = f"keyed state ({states})" if states else "timers"
    raise NotKeyedError(
        f"{function.name} uses {what}, but the stream is not keyed",
        where={"stream": stream, "called": str(site)},
        hint=f".key_by(...) before .{call}(...)",
    )
