"""The interval join of two keyed streams, as Flink's Java API has it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from headrace.common._arguments import require_instance
from headrace.common._output_tag import OutputTag
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.common.typeinfo import TypeInformation
from headrace.datastream._build.call_site import call_site
from headrace.datastream._build.known_types import known_type
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream._functions.joins import ProcessJoinFunction
from headrace.errors import PlanError, UnsupportedError
from headrace.graph.transformation import Edge
from headrace.operators.joins.interval import IntervalJoinSpec

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream, KeyedStream


def edges_of_both(left: KeyedStream, right: KeyedStream) -> tuple[Edge, ...]:
    """Return the edges of two keyed streams to one operator; the left stream is its first input."""
    second = (replace(edge, input=1) for edge in right._keyed_edges())
    return (*left._keyed_edges(), *second)


@dataclass(frozen=True)
class IntervalJoin:
    """An interval join without bounds; ``between`` sets them."""

    _left: KeyedStream
    _right: KeyedStream
    _event_time: bool = True

    def in_event_time(self) -> IntervalJoin:
        """Return the join in event time, which is the default and the only supported time."""
        return replace(self, _event_time=True)

    def in_processing_time(self) -> IntervalJoin:
        """Return a join in processing time, which ``between`` refuses, as in Flink."""
        return replace(self, _event_time=False)

    def between(self, lower_bound: TimeAmount, upper_bound: TimeAmount) -> IntervalJoined:
        """Set the bounds (inclusive) of the right timestamp minus the left timestamp.

        With negative bounds the right record is earlier than the left one.

        Raises:
            PlanError: the lower bound is above the upper one.
            UnsupportedError: the join is in processing time.
        """
        where = {"stream": self._left._describe(), "called": str(call_site())}
        if not self._event_time:
            raise UnsupportedError(
                "an interval join is by event time only, as in Flink",
                where=where,
                hint="leave in_processing_time() out",
            )
        lower_ms = milliseconds_of(lower_bound, "the lower bound")
        upper_ms = milliseconds_of(upper_bound, "the upper bound")
        if lower_ms > upper_ms:
            raise PlanError(
                f"the lower bound ({lower_ms} ms) is above the upper bound ({upper_ms} ms)",
                where=where,
                hint="between(Time.seconds(-5), Time.seconds(5)), for example",
            )
        return IntervalJoined(self._left, self._right, lower_ms, upper_ms)


@dataclass(frozen=True)
class IntervalJoined:
    """An interval join with its bounds (ms, inclusive); call ``process`` for the results."""

    _left: KeyedStream
    _right: KeyedStream
    _lower_ms: int
    _upper_ms: int
    _lower_excluded: bool = False
    _upper_excluded: bool = False
    _left_late: OutputTag | None = None
    _right_late: OutputTag | None = None

    def lower_bound_exclusive(self) -> IntervalJoined:
        """Return the join without pairs that are exactly on the lower bound."""
        return replace(self, _lower_excluded=True)

    def upper_bound_exclusive(self) -> IntervalJoined:
        """Return the join without pairs that are exactly on the upper bound."""
        return replace(self, _upper_excluded=True)

    def side_output_left_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Return a join that sends late records of the left stream to a side output."""
        return replace(self, _left_late=require_instance(OutputTag, output_tag))

    def side_output_right_late_data(self, output_tag: OutputTag) -> IntervalJoined:
        """Return a join that sends late records of the right stream to a side output."""
        return replace(self, _right_late=require_instance(OutputTag, output_tag))

    def process(
        self,
        process_join_function: ProcessJoinFunction,
        output_type: TypeInformation | None = None,
    ) -> DataStream:
        """Apply a process function to each pair; results have the later of the two timestamps.

        A record is late if its timestamp is below the watermark. Without a side output late
        records are dropped, and counted as ``numLateRecordsDropped``.
        """
        site, left = call_site(), self._left
        function = to_user_function(
            process_join_function,
            ProcessJoinFunction,
            "process_element",
            "process",
            left._describe(),
            site,
            accepts_callable=False,
        )
        spec = IntervalJoinSpec(
            function,
            self._lower_ms + self._lower_excluded,
            self._upper_ms - self._upper_excluded,
            self._left_late.tag_id if self._left_late else None,
            self._right_late.tag_id if self._right_late else None,
            left_type=known_type(left._edges),
            right_type=known_type(self._right._edges),
        )
        inputs = edges_of_both(left, self._right)
        return left._add(spec, site, "process", output_type, inputs=inputs)
