"""The as-of join of two keyed streams, which Flink's DataStream API does not have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, get_args

from headrace.common._arguments import require_instance
from headrace.common._output_tag import OutputTag
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.known_types import known_type
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._functions.joins import (
    FlatJoinFunction,
    JoinFunction,
    ProcessJoinFunction,
)
from headrace.datastream._streams.interval_join import edges_of_both
from headrace.errors import PlanError
from headrace.operators.joins.as_of import AsOfJoinSpec, Call, Direction
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream, KeyedStream

HOW = ("left", "inner")


@dataclass(frozen=True)
class AsOfJoin:
    """An as-of join; ``apply`` or ``process`` returns the stream of its results."""

    _left: KeyedStream
    _right: KeyedStream
    _direction: Direction
    _tolerance_ms: int | None
    _exact: bool
    _inner: bool
    _late: OutputTag | None = None

    @classmethod
    def of(
        cls,
        left: KeyedStream,
        right: KeyedStream,
        direction: Direction,
        tolerance: TimeAmount | None,
        allow_exact_matches: bool,
        how: str,
    ) -> AsOfJoin:
        """Check the arguments of ``KeyedStream.as_of_join``, and return the join."""
        where = {"stream": left._describe(), "called": str(call_site())}
        for given, what, known in (
            (direction, "direction", get_args(Direction)),
            (how, "how", HOW),
        ):
            if given not in known:
                raise PlanError(
                    f"the {what} of an as-of join is one of {', '.join(known)}, not {given!r}",
                    where=where,
                )
        if tolerance is None and direction != "backward":
            raise PlanError(
                f"an as-of join that looks {direction} needs a tolerance: it is how long a record"
                " waits for one that comes later",
                where=where,
                hint="tolerance=Duration.of_seconds(5), for example",
            )
        tolerance_ms = None
        if tolerance is not None:
            tolerance_ms = milliseconds_of(tolerance, "the tolerance", at_least=0)
        inner = how == "inner"
        return cls(left, right, direction, tolerance_ms, bool(allow_exact_matches), inner)

    def side_output_late_data(self, output_tag: OutputTag) -> AsOfJoin:
        """Return a join that sends late records of the left stream to a side output."""
        return replace(self, _late=require_instance(OutputTag, output_tag))

    def apply(
        self,
        func: Callable[[Any, Any], Any] | JoinFunction | FlatJoinFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Apply a function to each pair; a FlatJoinFunction may return several results."""
        flat = isinstance(func, FlatJoinFunction)
        kind = FlatJoinFunction if flat else JoinFunction
        site = call_site()
        function = to_user_function(func, kind, "join", "apply", self._left._describe(), site)
        return self._add_join(function, "flat_join" if flat else "join", "apply", output_type)

    def process(
        self,
        process_join_function: ProcessJoinFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Apply a process function to each pair; ``tag, value`` goes to a side output."""
        function = to_user_function(
            process_join_function,
            ProcessJoinFunction,
            "process_element",
            "process",
            self._left._describe(),
            call_site(),
            accepts_callable=False,
        )
        return self._add_join(function, "process", "process", output_type)

    def _add_join(
        self, function: UserFunction, call: Call, method: str, output_type: TypeInformation | None
    ) -> DataStream:
        spec = AsOfJoinSpec(
            function,
            call,
            self._direction,
            self._tolerance_ms,
            self._exact,
            self._inner,
            self._late.tag_id if self._late else None,
            left_type=known_type(self._left._edges),
            right_type=known_type(self._right._edges),
        )
        inputs = edges_of_both(self._left, self._right)
        return self._left._add(spec, call_site(), method, output_type, inputs=inputs)
