"""What the as-of join and the interval join share."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

from headrace.common._types.data import TypeData
from headrace.common.typeinfo import TypeInformation
from headrace.errors import MissingWatermarksError
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, OperatorSpec, Traits
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, TIMES, VALUE, type_data_of
from headrace.runtime.user_function import UserFunction

TIMER_SLOT = RESERVED_NAMES + "join"
"""The state with the time of a key's timer."""

LEFT, RIGHT = TIMER_SLOT + ".left", TIMER_SLOT + ".right"


JOIN_TRAITS = Traits(
    keyed=True,
    state=True,
    event_timers=True,
    event_time=True,
    side_outputs=True,
    retains_emitted=True,
    inputs=2,
)
"""Traits that all joins have."""


@dataclass(frozen=True)
class JoinSpec(OperatorSpec):
    """A join in event time; the left stream is the first input.

    ``left_type``, ``right_type``: the declared types of the records.
    """

    function: UserFunction
    _: KW_ONLY
    left_type: TypeInformation | None = None
    right_type: TypeInformation | None = None
    traits = replace(JOIN_TRAITS, watermarks_in_batch=True)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        return (self.function,)


class JoinOperator(StatefulOperator):
    """Buffers the records of both sides by key, ordered by timestamp."""

    timer_type: ClassVar[TypeData]
    """The type of the state ``TIMER_SLOT``."""

    def __init__(self, spec: JoinSpec) -> None:
        self._types = {LEFT: type_data_of(spec.left_type), RIGHT: type_data_of(spec.right_type)}

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "a join is keyed"
        context.states.declare(TIMER_SLOT, VALUE, self.timer_type)
        for side, declared in self._types.items():
            context.states.declare(side, TIMES, declared)


class PairContext:
    """The context of a ``ProcessJoinFunction``."""

    __slots__ = ("left_ms", "result_ms", "right_ms")

    def __init__(self) -> None:
        self.left_ms = self.result_ms = 0
        self.right_ms: int | None = None

    def get_left_timestamp(self) -> int:
        """Return the timestamp (ms) of the left record."""
        return self.left_ms

    def get_right_timestamp(self) -> int | None:
        """Return the timestamp (ms) of the right record; None if there is none."""
        return self.right_ms

    def get_timestamp(self) -> int:
        """Return the timestamp (ms) of the results."""
        return self.result_ms


def missing_timestamp_error(name: str, side: str, value: Any) -> MissingWatermarksError:
    """Return the error for a record without a timestamp, which cannot be joined."""
    return MissingWatermarksError(
        f"{name} joins by event time, but a record of its {side} stream has no timestamp",
        where={"record": repr(value)[:120]},
        hint="the source sets no timestamps: add to the watermark strategy"
        " .with_timestamp_assigner(lambda record: <ms>)",
    )


def round_up_to_grid(moment_ms: int, grid_ms: int) -> int:
    """Return the first multiple of ``grid_ms`` at or after a time, so that timers coincide."""
    return -(-moment_ms // grid_ms) * grid_ms
