"""The worked example of an operator with two inputs: what was last known when a record happened.

The first input has the records, the second has facts about their keys. A record waits until both
inputs have come as far as its timestamp. Then it is joined with the last fact that is not younger,
however the two streams were interleaved.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from headrace.operators.keyed import StatefulOperator
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    ProcessBlock,
    Traits,
)
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES
from headrace.runtime.user_function import UserFunction

WAITING = RESERVED_NAMES + "waiting"
FACTS = RESERVED_NAMES + "facts"


@dataclass(frozen=True)
class EnrichSpec(OperatorSpec):
    """``function(record, fact, age_ms)`` gives the result; ``fact`` is None where there is none."""

    function: UserFunction
    traits = Traits(keyed=True, state=True, event_timers=True, event_time=True, inputs=2)
    kind = "enrich"
    label = "Enrich"

    def build(self) -> Operator:
        """A new operator."""
        return EnrichOperator(self)


class EnrichOperator(StatefulOperator):
    """Keeps, per key, pairs (timestamp, value): the records that wait, and the facts."""

    def __init__(self, spec: EnrichSpec) -> None:
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Open the user's function, and say what is kept."""
        super().open(node, context, key_context)
        assert context.states is not None, "the operator is keyed"
        context.states.declare(WAITING)
        context.states.declare(FACTS)

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``processors``."""
        self._down, self._join = outputs.main, self._spec.function.as_callable()
        return self.reject_record

    def processors(self) -> tuple[ProcessBlock, ...]:
        """The records' input is the first, the facts' the second."""
        return self.process, self.remember

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Let records wait for the watermark."""
        timers = self.key_context.backend.event_timers
        for key, value, timestamp in zip(keys, values, timestamps or (), strict=True):
            assert timestamp is not None, "records have timestamps, as the operator needs them"
            self._keep(WAITING, key, (timestamp, value))
            timers.register(Timer(timestamp, key))

    def remember(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Keep facts."""
        for key, value, timestamp in zip(keys, values, timestamps or (), strict=True):
            self._keep(FACTS, key, (timestamp, value))

    def _keep(self, slot: str, key: Any, pair: tuple[int | None, Any]) -> None:
        backend = self.key_context.backend
        entry = backend.enter(key)
        entry.setdefault(slot, []).append(pair)
        backend.changed(key)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Both inputs have come to this moment: join the records that happened then."""
        node, key, timestamp = self.node, timer.key, timer.time_ms  # noqa: F841
        backend = self.key_context.backend
        entry = backend.enter(key)
        known = [fact for fact in entry.get(FACTS, ()) if fact[0] <= timestamp]
        since, fact = max(known, key=itemgetter(0), default=(timestamp, None))
        for at, value in entry[WAITING]:
            if at == timestamp:
                self._down(self._join(value, fact, timestamp - since), timestamp)
        entry[WAITING] = [pair for pair in entry[WAITING] if pair[0] > timestamp]
        # Facts before the one that counts now can count for no later record.
        entry[FACTS] = [fact for fact in entry.get(FACTS, ()) if fact[0] >= since]
        backend.changed(key)
