"""Operators with a broadcast input: rules that every task knows, with keys and without.

Those of the API, which run a user's function, are in ``headrace.operators.broadcast``.

A record is a tuple that ends with its timestamp. A rule is ``(name, amount, timestamp)``; its
amount is added to what its name has, and a rule without an amount removes the name.
"""

from __future__ import annotations

from dataclasses import dataclass
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
from headrace.runtime.state.broadcast_state import BroadcastStateMap, BroadcastStateStore
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES

WAITING = RESERVED_NAMES + "waiting"


def learn(rules: BroadcastStateMap, rule: Any) -> None:
    name, amount, _ = rule
    if amount is None:
        rules.remove(name)
    else:
        rules.put(name, rules.get(name, 0) + amount)


def states_of(context: TaskContext) -> BroadcastStateStore:
    assert context.broadcast_states is not None, "the operator has a broadcast input"
    return context.broadcast_states


@dataclass(frozen=True)
class KeyedRulesSpec(OperatorSpec):
    """Gives ``(key, record, rules, count)``: the rules and the number of the key's records so far.

    ``waits``: not before the watermark reaches the record. ``tells``: what each task learns is
    given out as well.
    """

    waits: bool = False
    tells: bool = False
    traits = Traits(
        keyed=True, state=True, event_timers=True, event_time=True, inputs=2, broadcast_state=True
    )
    kind = "keyed-rules"
    label = "KeyedRules"

    def build(self) -> Operator:
        """A new operator."""
        return KeyedRulesOperator(self)


class KeyedRulesOperator(StatefulOperator):
    """Keeps the records of a key, and shares the rules."""

    def __init__(self, spec: KeyedRulesSpec) -> None:
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Say what is kept."""
        super().open(node, context, key_context)
        assert context.states is not None, "the operator is keyed"
        context.states.declare(WAITING)
        self._rules = states_of(context).map("rules")

    def bind(self, outputs: Outputs) -> Push:
        """Keyed operators take blocks; see ``processors``."""
        self._down = outputs.main
        return self.reject_record

    def processors(self) -> tuple[ProcessBlock, ...]:
        """The records' input is the first, the rules' the second."""
        return self.process, self.learn

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Give out each record with the rules, or let it wait."""
        backend = self.key_context.backend
        for key, value, timestamp in zip(keys, values, timestamps or (), strict=True):
            assert timestamp is not None, "records have timestamps"
            held = backend.enter(key).setdefault(WAITING, [])
            held.append(value)
            backend.changed(key)
            if self._spec.waits:
                backend.event_timers.register(Timer(timestamp, key))
            else:
                rules = tuple(self._rules.items())
                self._down((key, value, rules, len(held)), timestamp)

    def learn(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Take rules, for the whole task."""
        for rule, timestamp in zip(values, timestamps or (), strict=True):
            learn(self._rules, rule)
            if self._spec.tells:
                self._down(("learned", rule), timestamp)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Give out the records of a moment."""
        held = self.key_context.backend.enter(timer.key)[WAITING]
        rules = tuple(sorted(self._rules.items()))
        for value in held:
            if value[-1] == timer.time_ms:
                self._down((timer.key, value, rules, len(held)), timer.time_ms)


@dataclass(frozen=True)
class RulesSpec(OperatorSpec):
    """Gives ``(record, rules, how many records this instance saw)``, and what was learned."""

    traits = Traits(inputs=2, broadcast_state=True)
    kind = "rules"
    label = "Rules"

    def build(self) -> Operator:
        """A new operator."""
        return RulesOperator()


class RulesOperator(Operator):
    """Shares the rules."""

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        """Ask for the rules."""
        super().open(node, context, key_context)
        self._rules = states_of(context).map("rules")

    def bind_inputs(self, outputs: Outputs) -> tuple[Push, ...]:
        """A push per input."""
        down, rules = outputs.main, self._rules

        def take(value: Any, timestamp: int | None) -> None:
            down((value, tuple(rules.items())), timestamp)

        def take_rule(rule: Any, timestamp: int | None) -> None:
            learn(rules, rule)
            down(("learned", rule), timestamp)

        return take, take_rule
