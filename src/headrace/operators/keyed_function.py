"""Map, flat-map and filter functions with keyed state."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.operators.filter import FilterOperator, FilterSpec
from headrace.operators.flat_map import FlatMapOperator, FlatMapSpec
from headrace.operators.keyed import SteppedOperator
from headrace.operators.map import MapOperator, MapSpec
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Step
from headrace.runtime.operator import NodeProgram, Operator, Outputs, Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext

_KEYED = Traits(keyed=True, state=True)


@dataclass(frozen=True)
class KeyedMapSpec(MapSpec):
    """``function(value)`` returns the new value and may use keyed state."""

    kind = "keyed-map"
    traits = _KEYED

    def build(self) -> Operator:
        return KeyedFunctionOperator(MapOperator(self))


@dataclass(frozen=True)
class KeyedFlatMapSpec(FlatMapSpec):
    """``function(value)`` returns an iterable or None and may use keyed state."""

    kind = "keyed-flat-map"
    traits = _KEYED

    def build(self) -> Operator:
        return KeyedFunctionOperator(FlatMapOperator(self))


@dataclass(frozen=True)
class KeyedFilterSpec(FilterSpec):
    """``function(value)`` returns True for records to keep and may use keyed state."""

    kind = "keyed-filter"
    traits = _KEYED

    def build(self) -> Operator:
        return KeyedFunctionOperator(FilterOperator(self))


class KeyedFunctionOperator(SteppedOperator):
    """Runs the step of an operator without keys under the key of each record."""

    def __init__(self, unkeyed: Operator) -> None:
        self._unkeyed = unkeyed

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        self._unkeyed.node = node

    def steps(self, outputs: Outputs) -> tuple[Step, ...]:
        step = self._unkeyed.step()
        assert step is not None, "these operators are steps"
        return (step,)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Do nothing, because functions of this operator cannot set timers."""
