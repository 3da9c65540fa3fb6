"""Limits on automata: what it costs to make one, and to match an event.

A pattern of data is compiled in each task while events wait. In some patterns the size is not that
of their text: each optional stage after a ``not_followed_by`` has copies of all stages after it,
and each optional group of optional stages doubles the ways in which a match may go on.
"""

from __future__ import annotations

from headrace.errors import MalformedPatternError
from headrace.operators.patterns.automaton import Action, Automaton, Role

MAX_STATES = 10_000
MAX_STOPS = 50_000
"""How many transitions may lead to what must not come."""

MAX_WAYS = 1_000
"""How many transitions an event may have from one state, with those of the states that follow."""

_HINT = "ask for fewer events, make fewer stages optional, or use several patterns"


def check_states(stage: str, states: int, stops: int) -> None:
    """Refuse an automaton that has become too large at a stage."""
    for count, most, of in (
        (states, MAX_STATES, "states"),
        (stops, MAX_STOPS, "transitions to what must not come"),
    ):
        if count > most:
            raise MalformedPatternError(
                f"stage {stage!r}: here the pattern has more than {most:,} {of}", hint=_HINT
            )


def check_ways(automaton: Automaton) -> None:
    """Refuse an automaton in which one event would have too many transitions."""
    ways = ways_of(automaton)
    for state in automaton.reachable():
        if ways[state.name] > MAX_WAYS:
            raise MalformedPatternError(
                f"stage {state.stage!r}: an event may go on from here in more than {MAX_WAYS:,}"
                " ways, as the stages after it are optional",
                hint=_HINT,
            )


def ways_of(automaton: Automaton) -> dict[str, int]:
    """Return how many transitions an event may have from each state, by its name.

    A transition counts once for each way that leads to it without an event.
    """
    ways: dict[str, int] = {}
    for state in automaton.in_order_of_proceed():
        count = 0
        for each in state.transitions:
            follows = each.action is Action.PROCEED and each.target.role is not Role.STOP
            count += ways[each.target.name] if follows else 1
        # It is not needed beyond the limit, where it may have thousands of digits.
        ways[state.name] = min(count, MAX_WAYS + 1)
    return ways
