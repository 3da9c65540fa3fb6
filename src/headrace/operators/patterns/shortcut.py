"""Which events cannot change anything, so that they need not be kept until their time.

An event for which no condition of a stage holds is such an event, if every partial match only
ignores it. That is so without strict contiguity: it is read from the automaton, by what each state
does with an event for which all conditions are false.

After an event of a loop, an event that is ignored makes two partial matches of one: one that waits
for the loop's next event, and one that waits for the next stage. Together they do what the one
does, so such an event may be left out too, where their number does not show: in timeouts, and in
what a skip strategy leaves of matches that begin with the same event.

So conditions are evaluated for each event, also those that no partial match waits for. A condition
with a context as its second argument, or an ``open`` of its own, is evaluated only for partial
matches. A costly one should follow a cheap one, ``where(cheap).where(costly)``: if no cheap one
comes before it, all events are kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.operators.inspection import defines
from headrace.operators.patterns.automaton import Action, Automaton, Role, State
from headrace.operators.patterns.conditions import (
    ALWAYS,
    Always,
    And,
    Call,
    Condition,
    Not,
    Or,
    Subtype,
)
from headrace.operators.patterns.over_columns import OverColumns, may_hold
from headrace.operators.patterns.size import ways_of
from headrace.operators.patterns.stages import Stage

if TYPE_CHECKING:
    from headrace.operators.patterns.over_columns import AnswerArray, AnsweringContext

Check = Callable[[Any], Any]
"""Takes an event; what it returns is true or not."""

Select = Callable[[Sequence[Any], "AnswerArray | None"], list[int]]
"""Takes events, and their answers if they have some; returns the places of some events."""

_MOST_WAYS = 10_000
"""Automata with more ways from state to state are not examined: it would take seconds."""


def conditions_to_ask(
    stages: Iterable[Stage], automaton: Automaton, number_shows: bool
) -> tuple[Condition, ...] | None:
    """Return conditions of which one holds for each event that may change anything; None: none."""
    if sum(ways_of(automaton).values()) > _MOST_WAYS:
        return None
    conditions = {id(each): each for each in _conditions(stages)}
    if not _ignores_others(automaton, {*conditions}, number_shows):
        return None
    asked = [_of_event(each) for each in conditions.values()]
    known = tuple(each for each in asked if each is not None)
    return known if len(known) == len(asked) else None


def any_holds(conditions: Iterable[Condition]) -> Check:
    """Return a function that says whether one of the conditions holds for an event."""
    return _any_of([_check(each) for each in conditions])


def selection(conditions: Sequence[Condition], context: AnsweringContext) -> Select:
    """Return a function that selects the events of a block for which one of the conditions holds.

    ``context``: has the answers of conditions over columns (see ``over_columns``).
    """
    check, one_of = any_holds(conditions), Or(tuple(conditions))
    holds = one_of.compile()

    def select(events: Sequence[Any], answers: AnswerArray | None) -> list[int]:
        if answers is None:
            return [place for place, event in enumerate(events) if check(event)]
        flags, is_certain = may_hold(one_of, answers)
        places: list[int] = flags.nonzero()[0].tolist()
        if is_certain:
            return places
        found, rows = [], [*events]
        for place in places:
            context.answers = int(answers[place])
            if holds(rows[place], context):
                found.append(place)
        return found

    return select


def _check(condition: Condition) -> Check:
    match condition:
        case Call():
            call: Check = condition.function.as_callable()
            return call
        case And():
            return _all_of([_check(part) for part in condition.parts])
        case Or():
            return _any_of([_check(part) for part in condition.parts])
    holds = condition.compile()
    return lambda event: holds(event, None)


def _any_of(checks: list[Check]) -> Check:
    """Return a check of any number of checks, which is one call deep."""
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:  # the most frequent number, without a loop
        one, other = checks
        return lambda event: one(event) or other(event)
    return lambda event: any(check(event) for check in checks)


def _all_of(checks: list[Check]) -> Check:
    if len(checks) == 2:
        one, other = checks
        return lambda event: one(event) and other(event)
    return lambda event: all(check(event) for check in checks)


def _conditions(stages: Iterable[Stage]) -> Iterator[Condition]:
    for stage in stages:
        if stage.group is None:
            yield stage.takes
        else:
            yield from _conditions(stage.group)
        if stage.until is not None:
            yield stage.until


def _of_event(condition: Condition) -> Condition | None:
    """Return a condition of the event alone that holds wherever another one does; None: none."""
    match condition:
        case Always():
            return None
        case Call():
            # What has an open() is costly, such as a model: it is asked where it is needed.
            costly = defines(type(condition.function.target), "open")
            return None if condition.takes_context or costly else condition
        case Subtype() | OverColumns():
            return condition
        case And():
            return _all_of_event(condition.parts)
        case Or():
            parts = [_of_event(part) for part in condition.parts]
            known = tuple(part for part in parts if part is not None)
            return Or(known) if len(known) == len(parts) else None
    return None


def _all_of_event(parts: Sequence[Condition]) -> Condition | None:
    known: list[Condition] = []
    for part in parts:
        of_event = _of_event(part)
        if of_event is not None:
            known.append(of_event)
        # The next one is called only where this one holds: it may rely on that, or cost much.
        if of_event is None or not _is_of_event(part):
            break
    if len(known) < 2:
        return known[0] if known else None
    return And(tuple(known))


def _is_of_event(condition: Condition) -> bool:
    """Return whether no part of a condition takes the context."""
    match condition:
        case Call():
            return not condition.takes_context
        case And() | Or():
            return all(map(_is_of_event, condition.parts))
        case Not():
            return _is_of_event(condition.condition)
    return True


Edge = tuple[Action, State]


def _ignores_others(automaton: Automaton, false: set[int], number_shows: bool) -> bool:
    """Return whether nothing changes by an event for which the conditions of these ids are false.

    A partial match must stay in its state (or go on as others that do the same), and none may
    begin.
    """
    gaps_ms = automaton.gaps_ms
    for state in automaton.reachable():
        edges = [*_edges(state, false)]
        if state is automaton.start:
            if any(action is Action.TAKE for action, _ in edges):
                return False
        elif state.role in (Role.NORMAL, Role.PENDING) and edges != [(Action.IGNORE, state)]:
            others = [target for action, target in edges if action is Action.IGNORE]
            if number_shows or len(others) < len(edges) or not others:
                return False
            for each in others:
                if each.role is not Role.NORMAL:
                    return False
                if gaps_ms.get(each.name) != gaps_ms.get(state.name):
                    return False
            if not _does_the_same(state, others):
                return False
    return True


def _edges(state: State, false: set[int]) -> Iterator[Edge]:
    """Yield the transitions by an event for which the conditions of these ids are false."""
    for each in state.transitions:
        if _holds(each.condition, false):
            if each.action is Action.PROCEED:
                yield from _edges(each.target, false)
            else:
                yield each.action, each.target


def _holds(condition: Condition, false: set[int]) -> bool:
    if id(condition) in false:
        return False
    match condition:
        case Not():
            return not _holds(condition.condition, false)
        case And():
            return all(_holds(part, false) for part in condition.parts)
    assert condition is ALWAYS, "conditions are combined by Not and And"
    return True


def _does_the_same(state: State, others: list[State]) -> bool:
    """Return whether a match in a state has the transitions that those in others have together.

    What must not come discards all of them: each must have what discards the one.
    """
    found, stops = _all_edges(state)
    together: Counter[tuple[Any, ...]] = Counter()
    for each in others:
        added, own_stops = _all_edges(each)
        together += added
        if own_stops != stops:
            return False
    return found == together


Conditions = frozenset[Any]


def _all_edges(state: State) -> tuple[Counter[tuple[Any, ...]], set[Conditions]]:
    """Return what a state may do with an event, each with its conditions; and what discards."""
    found: Counter[tuple[Any, ...]] = Counter()
    stops: set[Conditions] = set()
    waiting: list[tuple[State, Conditions]] = [(state, frozenset())]
    while waiting:
        at, conditions = waiting.pop()
        for each in at.transitions:
            all_of = conditions | _parts(each.condition)
            if each.target.role is Role.STOP:
                stops.add(all_of)
            elif each.action is Action.PROCEED:
                waiting.append((each.target, all_of))
            else:
                stage = at.stage if each.action is Action.TAKE else None
                found[each.action, stage, each.target, all_of] += 1
    return found, stops


def _parts(condition: Condition) -> Conditions:
    """Return the conditions that must all hold, as values that can be compared."""
    match condition:
        case And():
            return frozenset().union(*map(_parts, condition.parts))
        case Not():
            return frozenset([("not", _parts(condition.condition))])
        case Always():
            return frozenset()
    return frozenset([id(condition)])
