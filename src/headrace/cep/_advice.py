"""What of a valid pattern is probably not meant: warnings, as texts."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.cep._checks import Stages, of_all_groups
from headrace.cep._negative_stages import forbidden_advice
from headrace.cep._places import Place, places, title_of
from headrace.operators.patterns.automaton import Automaton
from headrace.operators.patterns.skips import Skip, SkipPastLastEvent, SkipToNext, SkipToStage
from headrace.operators.patterns.stages import Contiguity, Follows, Stage


def advice(stages: Stages, skip: Skip, automaton: Automaton) -> list[str]:
    """Return the warnings for a pattern, in the order of its stages."""
    is_limited = automaton.within_ms is not None
    found: list[str] = []
    for place in places(stages):
        if not is_limited:
            found += _growth(place, skip)
        found += _lost_limits(place)
        if place.stage.follows.is_negative:
            found += forbidden_advice(place, is_limited)
    return [*found, *_end(stages, skip), *_skip_target(stages, skip)]


def limited_events(stage: Stage, is_first: bool) -> range:
    """Return before which events of a stage (counted from 1) the window of its times holds.

    Flink's rule: not before the last one of ``times``, nor before those of a loop that come after
    the least number. ``is_first``: the pattern begins with the stage, so no event is before its
    first one.
    """
    assert stage.times is not None
    times = stage.times
    last = times.least if times.most is None else times.most - 1
    return range(2 if is_first else 1, last + 1)


def _growth(place: Place, skip: Skip) -> Iterator[str]:
    """Partial matches that nothing ever removes; the pattern has no limit of time."""
    stage = place.stage
    if any(each.stage.until is not None for each in (*place.groups, place)):
        return
    remedy = "add within()" + (", or until()" if stage.is_looping else "")
    title = title_of(stage)
    follows_any = stage.follows is Follows.FOLLOWED_BY_ANY
    combines = stage.times is not None and stage.times.contiguity is Contiguity.RELAXED_ANY
    if stage.is_looping:
        inner = () if stage.group is None else tuple(places(stage.group))
        combines = combines or any(_is_any(each) for each in inner)
        if combines:
            yield (
                f"{title} loops and may leave out events that it could take: the number of partial"
                f" matches can double with each event, and there is no limit of time: {remedy}"
            )
        elif follows_any:
            yield (
                f"{title} loops after followed_by_any(): each event can begin one more partial"
                f" match, and there is no limit of time: {remedy}"
            )
        elif stage.times is not None and (
            stage.times.contiguity is Contiguity.RELAXED and not skip.is_skip
        ):
            yield (
                f"{title} loops, and its partial matches wait for a further event without end, as"
                f" there is no limit of time: {remedy}, or consecutive(), or a skip strategy"
            )
    elif (follows_any or combines) and not skip.is_skip:
        cause = "followed_by_any()" if follows_any else "allow_combinations()"
        yield (
            f"{title}: partial matches wait for further events without end, because of {cause},"
            f" and as there is no limit of time: {remedy}, or use a skip strategy"
        )


def _is_any(place: Place) -> bool:
    stage = place.stage
    follows_any = place.at > 0 and stage.follows is Follows.FOLLOWED_BY_ANY
    combines = stage.times is not None and stage.times.contiguity is Contiguity.RELAXED_ANY
    return follows_any or combines


def _lost_limits(place: Place) -> Iterator[str]:
    """Limits of time that have no effect, or less than it seems; all as in Flink."""
    stage, title = place.stage, title_of(place.stage)
    if stage.within_ms and place.groups and place.is_last:
        yield (
            f"{title}: within() on the last stage of a group has no effect, as in Flink: call it"
            " on the group"
        )
    if stage.gap_ms:
        lost = f"{title}: within(..., PREVIOUS_AND_CURRENT) has no effect"
        if stage.group is not None:
            yield f"{lost} on a group, as in Flink: call it on a stage of the group"
        elif stage.times is not None:
            yield (
                f"{lost} on a stage with times, as in Flink: give the time to times(),"
                " times_or_more() or one_or_more()"
            )
        elif place.is_first_of_all:
            yield f"{lost}, as there is no stage before"
        elif stage.follows is Follows.NOT_FOLLOWED_BY and not place.is_last:
            yield f"{lost} on not_followed_by() before another stage, as in Flink"
    if stage.times is not None and stage.times.within_ms and not place.groups:
        limited = limited_events(stage, place.is_first_of_all)
        if stage.group is not None or not limited:
            yield f"{title}: the time between its events has no effect, as in Flink: use within()"
        else:
            some = f"event {limited[0]}" + (f" to {limited[-1]}" if len(limited) > 1 else "")
            yield (
                f"{title}: the time between its events holds only before {some} of the stage, not"
                " before the later ones, as in Flink; within() limits the whole match"
            )


def _end(stages: Stages, skip: Skip) -> Iterator[str]:
    """A last stage that is never reached, or reached twice."""
    last, title = stages[-1], title_of(stages[-1])
    if last.follows.is_negative:
        return
    before = [each for each in stages[:-1] if not each.follows.is_negative]
    if isinstance(skip, SkipToNext | SkipPastLastEvent):
        drops = (
            "the skip strategy then drops the longer ones, unless a partial match that began"
            " earlier holds it back"
        )
        if last.is_optional and not all(each.is_optional for each in before):
            yield f"{title} takes no event: the match without it comes first, and {drops}"
        elif last.times is not None and last.times.most != last.times.least:
            least = last.times.least
            yield (
                f"{title}, the last one, takes no more than {least}: the match with {least}"
                f" comes first, and {drops}: use times({least}), or until() and a stage after it"
            )
    elif last.is_optional and before and before[-1].is_looping:
        yield (
            f"{title} is optional after a loop: each length of the loop matches without it, and"
            " again with it"
        )


def _skip_target(stages: Stages, skip: Skip) -> Iterator[str]:
    """A skip strategy whose stage is in no match, or always the first."""
    if not isinstance(skip, SkipToStage):
        return
    found = next(each for each in of_all_groups(stages) if each.name == skip.stage)
    if found.follows.is_negative:
        effect = "each match fails the job" if skip.fails_on_miss else "it drops nothing"
        yield f"the skip strategy skips to {skip.stage!r}, which takes no event: {effect}"
    elif found is stages[0] and not (skip.is_last and found.times):
        effect = (
            "each match fails the job"
            if skip.fails_on_miss
            else "only partial matches that begin before the match are dropped"
        )
        yield (
            f"the skip strategy skips to {skip.stage!r}, whose event is the first one of each"
            f" match: {effect}"
        )
