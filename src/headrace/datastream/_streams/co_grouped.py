"""Joins of two streams by windows, as Flink's Java API has them: ``join`` and ``co_group``."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from headrace.common.time import TimeAmount
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._functions.joins import (
    CoGroupFunction,
    FlatJoinFunction,
    JoinFields,
    JoinFunction,
)
from headrace.datastream._streams.interval_join import edges_of_both
from headrace.datastream._streams.tagged import (
    CoGroupWindow,
    FlatJoinWindow,
    JoinWindow,
    TaggedKey,
    tag_one,
    tag_two,
)
from headrace.datastream._streams.windowed import WindowedStream
from headrace.datastream.window import Evictor, Trigger, WindowAssigner
from headrace.errors import PlanError
from headrace.operators.windows.contents import Elements, WindowCall
from headrace.operators.windows.joins.join import WindowJoinSpec, can_join
from headrace.operators.windows.spec import WindowSpec
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream, KeyedStream

Selector = Any
"""A KeySelector, a callable, or a field's position or name; as ``key_by`` takes it."""

MakeWindowFunction = Callable[[Any, "DataStream"], CoGroupWindow]
"""Makes a window function of what the program passed to ``apply``."""


@dataclass(frozen=True)
class WindowJoin:
    """A join of two streams by windows, which is built in steps.

    Call ``where``, ``equal_to`` and ``window`` in this order, and ``apply`` last. Each call before
    ``apply`` returns a new join.
    """

    _first: DataStream
    _second: DataStream
    _wrap: MakeWindowFunction
    _key: KeyedStream | None = None
    _other_key: KeyedStream | None = None
    _assigner: WindowAssigner[Any, Any] | None = None
    _trigger: Trigger[Any, Any] | None = None
    _evictor: Evictor[Any, Any] | None = None
    _lateness: TimeAmount | None = None

    def where(self, key_selector: Selector, key_type: TypeInformation | None = None) -> WindowJoin:
        """Return the join with the key of the first stream's records."""
        return replace(self, _key=self._first.key_by(key_selector, key_type))

    def equal_to(
        self, key_selector: Selector, key_type: TypeInformation | None = None
    ) -> WindowJoin:
        """Return the join with the key of the second stream; records with equal keys are joined.

        Raises:
            PlanError: the key of the first stream is missing, or has another declared type.
        """
        first = self._require_call(self._key, "where(...)", "equal_to")._by_key.key_type
        if None not in (first, key_type) and first != key_type:
            raise PlanError(
                f"the keys of the two streams have different types: {first} and {key_type}",
                where={"called": str(call_site())},
            )
        return replace(self, _other_key=self._second.key_by(key_selector, key_type))

    def window(self, assigner: WindowAssigner[Any, Any]) -> WindowJoin:
        """Return the join with windows; records in the same window are joined."""
        self._require_call(self._other_key, "equal_to(...)", "window")
        return replace(self, _assigner=assigner)

    def trigger(self, trigger: Trigger[Any, Any]) -> WindowJoin:
        """Return the join with a trigger; it receives all records as ``TaggedUnion``."""
        return replace(self, _trigger=trigger)

    def evictor(self, evictor: Evictor[Any, Any]) -> WindowJoin:
        """Return the join with an evictor; it receives all records as ``TaggedUnion``."""
        return replace(self, _evictor=evictor)

    def allowed_lateness(self, time_ms: TimeAmount) -> WindowJoin:
        """Return the join with windows that are kept for ``time_ms`` after their end."""
        return replace(self, _lateness=time_ms)

    def apply(self, func: Any, output_type: TypeInformation | None = None) -> DataStream:
        """Apply a function to each pair (``join``), or to both groups of a window (``co_group``).

        Results have the last timestamp of their window.
        """
        assigner = self._require_call(self._assigner, "window(...)", "apply")
        function = self._wrap(func, self._first)
        tagged = self._merge_tagged()
        windows = WindowedStream(tagged, assigner)
        if self._trigger is not None:
            windows.trigger(self._trigger)
        if self._evictor is not None:
            windows.evictor(self._evictor)
        if self._lateness is not None:
            windows.allowed_lateness(self._lateness)
        if type(func) is JoinFields and self._wrap is _wrap_join:
            found = self._of_two_inputs(
                func, windows._spec_of(_window_contents(function)), output_type
            )
            if found is not None:
                for edge in tagged._edges:
                    self._first._env._abandon(edge.source)
                return found
        return windows.apply(function, output_type)

    def _of_two_inputs(
        self, func: JoinFields, spec: WindowSpec, output_type: TypeInformation | None
    ) -> DataStream | None:
        """Return the join as an operator with two inputs; None if the windows need another one."""
        assert self._key is not None and self._other_key is not None
        if not can_join(spec):
            return None
        given = {each.name: getattr(spec, each.name) for each in fields(spec)}
        joining = WindowJoinSpec(**given, fields=func.fields, tags=(tag_one, tag_two))
        keys = self._key, self._other_key
        key_type = keys[0]._by_key.key_type or keys[1]._by_key.key_type
        inputs = edges_of_both(*(_with_key_type(key, key_type) for key in keys))
        kind = output_type or func.result_type(self._first._type(), self._second._type())
        return self._key._add(joining, call_site(), "apply", kind, inputs=inputs)

    def _merge_tagged(self) -> KeyedStream:
        """Return one stream of the records of both, with their keys."""
        keys = [
            self._require_call(key, call, "apply")._by_key
            for key, call in ((self._key, "where(...)"), (self._other_key, "equal_to(...)"))
        ]
        both = _tagged_stream(self._first, tag_one).union(_tagged_stream(self._second, tag_two))
        selector = TaggedKey(*(key.selector for key in keys))
        return both.key_by(selector, keys[0].key_type or keys[1].key_type)

    def _require_call(self, value: Any, missing: str, call: str) -> Any:
        """Return ``value``; raise PlanError if it is None: ``missing`` comes before ``call``."""
        if value is None:
            raise PlanError(
                f"{call}() comes after {missing}",
                where={"stream": self._first._describe(), "called": str(call_site())},
                hint=".where(...).equal_to(...).window(...).apply(...)",
            )
        return value


def _tagged_stream(stream: DataStream, tag: Callable[[Any], Any]) -> DataStream:
    """Return the tagged records of a stream.

    The tag is added in the tasks that made the records.
    """
    tagged = stream.map(tag)
    numbers = {edge.source.parallelism for edge in stream._edges}
    (number, *others) = numbers
    if number is not None and not others:
        tagged.set_parallelism(number)
    return tagged


def joined(first: DataStream, second: DataStream) -> WindowJoin:
    """Return a join whose function gets pairs of records."""
    return WindowJoin(first, second, _wrap_join)


def co_grouped(first: DataStream, second: DataStream) -> WindowJoin:
    """Create a join whose function gets two groups of a window's records, one for each stream."""
    return WindowJoin(first, second, _wrap_co_group)


def _with_key_type(stream: KeyedStream, key_type: TypeInformation | None) -> KeyedStream:
    """Return the stream with a key type, which may be the other stream's declared one."""
    result = copy(stream)
    result._by_key = replace(stream._by_key, key_type=key_type)
    return result


def _window_contents(function: CoGroupWindow) -> Elements:
    """Return the window contents for a function of all elements."""
    call = WindowCall(UserFunction(function, "apply"), with_key=True, with_context=False)
    return Elements(call)


def _wrap_join(func: Any, stream: DataStream) -> CoGroupWindow:
    if isinstance(func, FlatJoinFunction):
        return FlatJoinWindow(UserFunction(func, "join"))
    function = to_user_function(
        func, JoinFunction, "join", "apply", stream._describe(), call_site()
    )
    return JoinWindow(function)


def _wrap_co_group(func: Any, stream: DataStream) -> CoGroupWindow:
    function = to_user_function(
        func, CoGroupFunction, "co_group", "apply", stream._describe(), call_site()
    )
    return CoGroupWindow(function)
