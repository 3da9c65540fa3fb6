"""A pattern as text: its stages in words, its automaton, its limits, what is kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from headrace.cep._advice import limited_events
from headrace.operators.patterns.automaton import Automaton, Role, State
from headrace.operators.patterns.conditions import (
    ALWAYS,
    And,
    Condition,
    Not,
    Or,
    conjuncts,
)
from headrace.operators.patterns.skips import Skip, SkipPastLastEvent, SkipToNext, SkipToStage
from headrace.operators.patterns.stages import Contiguity, Stage

_BETWEEN = {
    Contiguity.STRICT: "no other events between them",
    Contiguity.RELAXED: "other events may be between them",
    Contiguity.RELAXED_ANY: "any events may be between them",
}
_UNITS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s"))


def explain_pattern(
    stages: Sequence[Stage], skip: Skip, call: str, automaton: Automaton, warnings: Sequence[str]
) -> str:
    """Return the description of a pattern; ``call``: how its skip strategy is written."""
    parts = [
        ("Stages", list(_stages(stages))),
        ("Time", list(_limits(automaton))),
        (f"After a match: {call}", [_dropped(skip)]),
        ("States", list(_states(automaton))),
        ("Kept for a key", list(_kept(automaton, skip))),
    ]
    if warnings:
        parts.append(("Warnings", list(warnings)))
    return "\n".join(
        line for title, lines in parts for line in (title, *(f"  {each}" for each in lines))
    )


def time_text(amount_ms: int) -> str:
    """Return an amount of time in its largest whole unit."""
    for size_ms, unit in _UNITS:
        if amount_ms % size_ms == 0:
            return f"{amount_ms // size_ms} {unit}"
    return f"{amount_ms} ms"


def condition_text(condition: Condition, in_other: bool = False) -> str:
    """Return a condition as text, without what holds for every event.

    ``in_other``: it is part of another condition, and needs parentheses if it has parts.
    """
    match condition:
        case And():
            parts = [each for each in conjuncts(condition) if each != ALWAYS]
            word = " and "
        case Or(several):
            parts, word = [*several], " or "
        case Not(inner):
            return "never" if inner == ALWAYS else f"not {condition_text(inner, True)}"
        case _:
            return str(condition)
    if not parts:
        return str(ALWAYS)
    if len(parts) == 1:
        return condition_text(parts[0], in_other)
    text = word.join(condition_text(each, True) for each in parts)
    return f"({text})" if in_other else text


# The stages.


def _stages(stages: Sequence[Stage], indent: str = "", in_group: bool = False) -> Iterator[str]:
    for number, stage in enumerate(stages):
        is_first = number == 0
        how = "" if is_first else f"{stage.follows.value} "
        name = "a group" if stage.group is not None else stage.name
        yield f"{indent}{how}{name}: {_in_words(stage, is_first and not in_group)}"
        if stage.group is not None:
            yield from _stages(stage.group, indent + "  ", True)


def _in_words(stage: Stage, is_first_of_all: bool) -> str:
    is_last_not = stage.follows.is_negative
    parts = ["no event" if is_last_not else _count(stage)]
    if stage.is_optional:
        parts.append("optional")
    if stage.is_greedy:
        parts.append("greedy")
    if stage.times is not None and stage.times.most != 1:
        parts.append(_BETWEEN[stage.times.contiguity])
    if stage.condition is not None:
        parts.append(f"if {condition_text(stage.condition)}")
    elif stage.group is None:
        parts.append("any")
    if stage.until is not None:
        parts.append(f"until {condition_text(stage.until)}")
    if stage.times is not None and stage.times.within_ms and stage.group is None:
        limited = limited_events(stage, is_first_of_all)
        if limited:
            some = f"{limited[0]}" + (f" to {limited[-1]}" if len(limited) > 1 else "")
            parts.append(
                f"number {some} less than {time_text(stage.times.within_ms)} after the event before"
            )
    return ", ".join(parts)


def _count(stage: Stage) -> str:
    times = stage.times
    of_group = stage.group is not None
    if times is None:
        return "once" if of_group else "one event"
    one, many = ("time", "times") if of_group else ("event", "events")
    if times.most is None:
        return f"{times.least} or more {many}"
    if times.most == times.least:
        return f"{times.least} {one if times.least == 1 else many}"
    return f"{times.least} to {times.most} {many}"


# Time, and what is kept.


def _limits(automaton: Automaton) -> Iterator[str]:
    if automaton.within_ms is None:
        yield "a match may take any time"
    else:
        yield f"a match takes less than {time_text(automaton.within_ms)}"
    for state in automaton.reachable():
        gap_ms = automaton.gaps_ms.get(state.name)
        if gap_ms is not None and state is not automaton.start:
            yield f"a partial match waits less than {time_text(gap_ms)} in {state.name}"


def _dropped(skip: Skip) -> str:
    match skip:
        case SkipToNext():
            return "partial matches that begin with the same event are dropped"
        case SkipPastLastEvent():
            return "partial matches that begin before its last event, or with it, are dropped"
        case SkipToStage(stage, is_last):
            which = "last" if is_last else "first"
            return f"partial matches that begin before its {which} event of {stage} are dropped"
    return "no partial match is dropped"


def _kept(automaton: Automaton, skip: Skip) -> Iterator[str]:
    yield "events that may change something, until the watermark has passed them (event time)"
    kept = "partial matches, with the events that they have taken, each stored once"
    if automaton.within_ms is None:
        yield f"{kept}: until they match, or cannot go on"
    else:
        yield f"{kept}: for less than {time_text(automaton.within_ms)} from their first event"
    if skip.is_skip:
        yield "matches that wait while a partial match that began earlier can still match"


# The automaton.


def _states(automaton: Automaton) -> Iterator[str]:
    shown = [each for each in automaton.reachable() if each.role not in (Role.FINAL, Role.STOP)]
    width = max(
        (len(_target(each.target)) for state in shown for each in state.transitions), default=0
    )
    for state in shown:
        is_start = state is automaton.start
        yield (
            state.name
            + (", the start" if is_start else "")
            + (", a match when its time is over" if state.role is Role.PENDING else "")
        )
        yield from _transitions(state, width, is_start)


def _transitions(state: State, width: int, is_start: bool) -> Iterable[str]:
    for each in state.transitions:
        if is_start and each.target is state and each.action.value == "ignore":
            continue
        text = condition_text(each.condition)
        if text == "never":
            continue
        condition = "" if text == str(ALWAYS) else f"if {text}"
        yield f"  {each.action.value:7} -> {_target(each.target):{width}}  {condition}".rstrip()


def _target(state: State) -> str:
    if state.role is Role.FINAL:
        return "match"
    return f"stop ({state.stage})" if state.role is Role.STOP else state.name
