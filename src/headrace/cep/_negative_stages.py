"""Warnings of negative stages that forbid too much, or nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from headrace.cep._places import Place, title_of
from headrace.operators.patterns.conditions import Condition, conjuncts
from headrace.operators.patterns.stages import Follows, Stage


def forbidden_advice(place: Place, is_limited: bool) -> Iterator[str]:
    """Yield the warnings for a negative stage; ``is_limited``: the pattern has ``within``."""
    stage, title = place.stage, title_of(place.stage)
    is_not_followed_by = stage.follows is Follows.NOT_FOLLOWED_BY
    is_end = place.is_last and all(
        each.is_last and not each.stage.is_looping for each in place.groups
    )
    is_effective = not place.groups or (is_end and (is_limited or stage.gap_ms))
    if place.is_last and is_not_followed_by and not is_effective:
        yield (
            f"{title}: not_followed_by() at the end of a group has no effect, as in Flink: put"
            " it after the group" + (", and add within()" if is_end else "")
        )
        return
    if stage.condition is None:
        yield from _forbids_all(place)
        return
    # A stage after an optional one may take the event, if the optional stage has taken one.
    for after, completes in itertools.islice(_next_takers(place), 1):
        first = _first_stage(after)
        if stage.condition not in _parts(first.condition):
            return
        same = f"the same condition as {stage.name!r}, which must not come before it"
        if completes is False:
            yield f"{title_of(first)} never takes an event: it has {same}"
        elif completes:
            yield (
                f"{title_of(first)} has {same}: an event that completes a match is taken although"
                " it must not come, as in Flink"
            )


def _forbids_all(place: Place) -> Iterator[str]:
    """A negative stage without a condition, which is right only at the end: silence."""
    title = title_of(place.stage)
    is_not_followed_by = place.stage.follows is Follows.NOT_FOLLOWED_BY
    if place.is_last:
        if not is_not_followed_by and not place.groups:
            yield f"{title} has no condition, so no event may come next: the pattern never matches"
        return
    ways = [completes for _, completes in _next_takers(place)]
    if not is_not_followed_by or all(each is False for each in ways):
        yield f"{title} has no condition, so no event may come: the stages after it never take one"
    elif any(ways):
        yield (
            f"{title} has no condition, so no event may come, except one that completes a match:"
            " next() says the same"
        )


def _next_takers(place: Place) -> Iterator[tuple[Stage, bool | None]]:
    """Yield the stages that may take the first event after a negative stage.

    With each: whether that event completes a match, so that it is taken even if it must not come
    (Flink's rule for ``not_followed_by``); None: not known.
    """
    is_not_followed_by = place.stage.follows is Follows.NOT_FOLLOWED_BY
    for at in range(place.at + 1, len(place.stages)):
        after = place.stages[at]
        if after.follows.is_negative:
            continue
        if is_not_followed_by:
            yield after, _completes(place, at)
        elif after.follows is Follows.NEXT and at == place.at + 1:
            yield after, False
        if not (is_not_followed_by and after.is_optional):
            return


def _completes(place: Place, at: int) -> bool | None:
    """Whether a match is complete with the first event of the stage at a place; None: not known."""
    rest = list(place.stages[at + 1 :])
    is_waiting = bool(rest) and rest[-1].follows.is_negative
    stage, in_groups = place.stages[at], bool(place.groups)
    for each in place.groups:
        rest += each.stages[each.at + 1 :]
    while stage.group is not None:
        in_groups = True
        rest += stage.group[1:]
        is_waiting = is_waiting or (stage.times is not None and stage.times.least > 1)
        stage = stage.group[0]
    is_waiting = is_waiting or (stage.times is not None and stage.times.least > 1)
    if is_waiting or any(not (each.follows.is_negative or each.is_optional) for each in rest):
        return False
    return None if in_groups or any(each.follows.is_negative for each in rest) else True


def _first_stage(stage: Stage) -> Stage:
    while stage.group is not None:
        stage = stage.group[0]
    return stage


def _parts(condition: Condition | None) -> list[Condition]:
    """Return the conditions that must all hold."""
    return [] if condition is None else conjuncts(condition)
