"""Broadcast streams: their records go to all tasks, and change the broadcast state there."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.common._arguments import with_article
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build import nodes as build
from headrace.datastream._build.broadcast_uses import require_declared
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._streams.connected import (
    describe_streams,
    not_all_keyed,
    row_type,
    two_inputs,
)
from headrace.datastream.functions import (
    BroadcastProcessFunction,
    Function,
    KeyedBroadcastProcessFunction,
)
from headrace.datastream.state import MapStateDescriptor
from headrace.errors import PlanError, WrongFunctionError
from headrace.graph.transformation import CallSite
from headrace.operators.broadcast.keyed import KeyedBroadcastProcessSpec
from headrace.operators.broadcast.plain import BroadcastProcessSpec
from headrace.operators.broadcast.states import DeclaredMap
from headrace.runtime.operator import OperatorSpec

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream


class BroadcastStream:
    """A stream whose records go to each task of the stream that it is connected with."""

    def __init__(
        self, input_stream: DataStream, broadcast_state_descriptors: list[MapStateDescriptor]
    ) -> None:
        self.input_stream = input_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors
        self._env = input_stream._env

    def _describe(self) -> str:
        return f"{self.input_stream._describe()}, broadcast"


class BroadcastConnectedStream:
    """A stream connected with a broadcast stream; call ``process`` for the results."""

    def __init__(
        self,
        non_broadcast_stream: DataStream,
        broadcast_stream: BroadcastStream,
        broadcast_state_descriptors: list[MapStateDescriptor],
    ) -> None:
        self.non_broadcast_stream = non_broadcast_stream
        self.broadcast_stream = broadcast_stream
        self.broadcast_state_descriptors = broadcast_state_descriptors

    def process(
        self,
        func: BroadcastProcessFunction[Any, Any, Any]
        | KeyedBroadcastProcessFunction[Any, Any, Any, Any],
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Apply a process function to the records of both streams, and to timers.

        On a keyed stream it is a ``KeyedBroadcastProcessFunction``, otherwise a
        ``BroadcastProcessFunction``. ``tag, value`` goes to a side output.
        """
        site = call_site()
        stream, rules = self.non_broadcast_stream, self.broadcast_stream.input_stream
        streams, keyed = describe_streams(stream, rules), stream._by_key is not None
        kind: type[Function] = BroadcastProcessFunction
        if keyed:
            kind = KeyedBroadcastProcessFunction
            if isinstance(func, BroadcastProcessFunction):
                raise WrongFunctionError(
                    f"{type(func).__name__} is a BroadcastProcessFunction, but the stream is keyed",
                    where={"stream": streams, "called": str(site)},
                    hint="derive it from KeyedBroadcastProcessFunction",
                )
        elif isinstance(func, KeyedBroadcastProcessFunction):
            raise not_all_keyed(func, (stream,), "process", site)
        function = to_user_function(
            func, kind, "process_element", "process", streams, site, accepts_callable=False
        )
        declared = self.broadcast_state_descriptors
        require_declared(func, [each.name for each in declared], streams, site)
        states = tuple(DeclaredMap(each.name, each.type_info, each._evolution) for each in declared)
        spec: OperatorSpec
        if keyed:
            spec = KeyedBroadcastProcessSpec(function, states)
        else:
            build.require_unkeyed(function, "process", streams, site)
            spec = BroadcastProcessSpec(function, states)
        edges = two_inputs(stream, rules, keyed=keyed)
        return stream._add(spec, site, "process", row_type(output_type), inputs=edges)


def check_descriptors(
    given: Sequence[Any], stream: str, site: CallSite
) -> list[MapStateDescriptor]:
    """Check the descriptors of broadcast states, and return them as a list.

    Raises:
        WrongFunctionError: an item is not a ``MapStateDescriptor``.
        PlanError: two descriptors have the same name.
    """
    where = {"stream": stream, "called": str(site)}
    names: set[str] = set()
    for each in given:
        if not isinstance(each, MapStateDescriptor):
            raise WrongFunctionError(
                f"broadcast() takes MapStateDescriptors, not {with_article(type(each).__name__)}",
                where=where,
            )
        if each.name in names:
            raise PlanError(f"two broadcast states are called {each.name!r}", where=where)
        names.add(each.name)
        if each._ttl_config is not None:
            warnings.warn(
                f"broadcast state {each.name!r} does not expire: its time-to-live has no effect,"
                " as in Flink",
                stacklevel=3,
            )
    return [*given]
