"""Checks of a whole pattern: what Flink refuses, and loops that would never end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from headrace.errors import MalformedPatternError
from headrace.operators.patterns.automaton import Automaton
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.conditions import And, Not, Or
from headrace.operators.patterns.skips import Skip, SkipToStage
from headrace.operators.patterns.stages import Follows, Stage

Stages = Sequence[Stage]

MAX_DEPTH = 100
"""How deep groups and conditions may lie in one another.

They are compiled and called by functions that call themselves. What the check of a pattern can just
compile, a task with a deeper stack could not: the job would fail, again and again.
"""


def checked_automaton(stages: Stages, skip: Skip, site: object) -> Automaton:
    """Return the automaton of a pattern that is valid.

    ``site``: where the pattern was built.

    Raises:
        MalformedPatternError: the pattern is not valid.
    """
    _check_depth(stages, site)
    try:
        _check_names(stages)
        _check_loops(stages)
        _check_end(stages[-1])
        _check_skip(stages, skip)
        return compile_stages(stages)
    except MalformedPatternError as error:
        error.where = {"pattern": f"{names_of(stages):.200}", "built at": str(site), **error.where}
        raise


def names_of(stages: Stages) -> str:
    """Return the names of a pattern's stages as a text; groups are in parentheses."""
    return ", ".join(
        each.name if each.group is None else f"({names_of(each.group)})" for each in stages
    )


def of_all_groups(stages: Stages) -> Iterator[Stage]:
    """Yield the stages, and in place of a group its stages."""
    for stage in stages:
        if stage.group is None:
            yield stage
        else:
            yield from of_all_groups(stage.group)


def _check_depth(stages: Stages, site: object) -> None:
    """Refuse groups and conditions in one another that are too deep to be compiled and called."""
    level: list[Any] = [*stages]
    for _ in range(MAX_DEPTH):
        level = [inner for each in level for inner in _inside(each)]
        if not level:
            return
    raise MalformedPatternError(
        f"the pattern has groups or conditions in one another more than {MAX_DEPTH} deep",
        where={"built at": str(site)},
        hint="call where() and or_() in turn less often; one function can combine conditions",
    )


def _inside(part: Any) -> Iterator[Any]:
    match part:
        case Stage():
            yield from part.group or ()
            yield from (each for each in (part.condition, part.until) if each is not None)
        case And() | Or():
            yield from part.parts
        case Not():
            yield part.condition


def _check_names(stages: Stages) -> None:
    names: set[str] = set()
    for stage in of_all_groups(stages):
        if stage.name in names:
            raise MalformedPatternError(f"two stages have the name {stage.name!r}")
        names.add(stage.name)


def _check_loops(stages: Stages) -> None:
    """Refuse loops that could go round without taking an event, and so without end."""
    for stage in stages:
        if stage.group is None:
            continue
        _check_loops(stage.group)
        takes = [each for each in stage.group if not each.follows.is_negative]
        if stage.is_looping and all(_may_be_empty(each) for each in takes):
            names = ", ".join(repr(each.name) for each in of_all_groups(stage.group))
            raise MalformedPatternError(
                f"a group loops whose stages ({names}) are all optional: it could be repeated"
                " without end without taking an event",
                hint="make the group optional() instead of all its stages",
            )


def _may_be_empty(stage: Stage) -> bool:
    return stage.is_optional or (
        stage.group is not None
        and all(_may_be_empty(each) for each in stage.group if not each.follows.is_negative)
    )


def _check_end(last: Stage) -> None:
    if last.follows is Follows.NOT_FOLLOWED_BY and not (last.within_ms or last.gap_ms):
        raise MalformedPatternError(
            f"stage {last.name!r}: not_followed_by() at the end of a pattern needs within(): how"
            " long to wait for the event that must not come",
            hint=".within(Duration.of_seconds(5))",
        )


def _check_skip(stages: Stages, skip: Skip) -> None:
    names = {each.name for each in stages if each.group is None}
    if isinstance(skip, SkipToStage) and skip.stage not in names:
        in_group = skip.stage in {each.name for each in of_all_groups(stages)}
        raise MalformedPatternError(
            f"the skip strategy names {skip.stage!r}, which is "
            + ("a stage of a group" if in_group else "no stage of the pattern"),
            hint=f"the stages outside of groups are {', '.join(map(repr, sorted(names)))}",
        )
