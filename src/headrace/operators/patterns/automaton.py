"""The automaton of a pattern: states, and what an event does to a partial match in each."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from headrace.operators.patterns.conditions import Condition


class Action(Enum):
    """What a transition does with an event."""

    TAKE = "take"
    IGNORE = "ignore"
    PROCEED = "proceed"
    """Goes on to the target without the event, which the target then gets."""


class Role(Enum):
    """What a state means for a partial match that reaches it."""

    NORMAL = "normal"
    FINAL = "final"
    """The match is complete."""

    STOP = "stop"
    """An event came that must not come: the partial match is discarded."""

    PENDING = "pending"
    """The match is complete when its time is over."""


@dataclass(eq=False)
class Transition:
    """One transition of a state."""

    action: Action
    target: State
    condition: Condition


@dataclass(eq=False)
class State:
    """A state: its name is unique in the automaton; ``stage`` is the name of its stage.

    A partial match is stored with the name of its state.
    """

    name: str
    stage: str
    role: Role = Role.NORMAL
    transitions: list[Transition] = field(default_factory=list)

    def add(self, action: Action, target: State, condition: Condition) -> None:
        """Append a transition."""
        self.transitions.append(Transition(action, target, condition))


@dataclass(frozen=True, eq=False)
class Automaton:
    """The automaton of a pattern.

    Fields:
        start: the state of a match that has no event yet.
        states: all states by name.
        within_ms: how long a match may take; None: any time.
        gaps_ms: by a state's name, how long a partial match may stay in it after its last event.
    """

    start: State
    states: Mapping[str, State]
    within_ms: int | None
    gaps_ms: Mapping[str, int]

    def reachable(self) -> Iterator[State]:
        """Yield the states that can be reached, from the start on, each once."""
        seen, waiting = {self.start.name}, deque([self.start])
        while waiting:
            state = waiting.popleft()
            yield state
            for transition in state.transitions:
                if transition.target.name not in seen:
                    seen.add(transition.target.name)
                    waiting.append(transition.target)

    def in_order_of_proceed(self) -> Iterator[State]:
        """Yield the same states, each after those to which it goes on without an event.

        There is no circle of such transitions: the checks of a pattern refuse it.
        """
        seen: set[str] = set()
        for first in self.reachable():
            waiting = [(first, False)]
            while waiting:
                state, is_through = waiting.pop()
                if is_through:
                    yield state
                elif state.name not in seen:
                    seen.add(state.name)
                    waiting.append((state, True))
                    waiting += [
                        (each.target, False)
                        for each in state.transitions
                        if each.action is Action.PROCEED
                    ]
