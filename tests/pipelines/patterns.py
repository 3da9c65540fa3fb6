"""The patterns of generated programs, each beside its model in plain Python.

Records of one time are ordered by their number, so the order of arrival does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from headrace.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    TimedOutPartialMatchHandler,
)
from headrace.datastream import DataStream, OutputTag

from .functions import LATE, Record

OVER = OutputTag("over")

KINDS = 3


def found(keyed: Any, kind: int, limit_ms: int) -> DataStream:
    """The matches of a pattern, and the partial matches that are over."""
    pattern = (_even_then_odd, _no_odd_after_even, _not_falling)[kind](limit_ms)
    by_number = lambda one, other: one[1] - other[1]  # noqa: E731
    looked_for = CEP.pattern(keyed, pattern, by_number).side_output_late_data(LATE)
    return looked_for.process(Summed())


def model(records: Sequence[Record], kind: int, limit_ms: int) -> list[Record]:
    """What is found, as (key, sum of the numbers, time)."""
    by_key: dict[Any, list[Record]] = {}
    for record in records:
        by_key.setdefault(record[0], []).append(record)
    results: list[Record] = []
    for key, own in by_key.items():
        own.sort(key=lambda record: (record[2], record[1]))
        numbered = [(number, ts) for _, number, ts in own]
        of = (_pairs, _alone, _rises)[kind]
        results += ((key, number, ts) for number, ts in of(numbered, limit_ms))
    return results


class Summed(PatternProcessFunction, TimedOutPartialMatchHandler):
    """The sum of a match's numbers; those of a partial match, less one, to a side output."""

    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield _sum(match)

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        key, total = _sum(match)
        yield OVER, (key, total - 1)


def _sum(match: Any) -> tuple[Any, int]:
    events = [event for taken in match.values() for event in taken]
    return events[0][0], sum(number for _, number in events)


def _is_even(event: Any) -> bool:
    return bool(event[1] % 2 == 0)


def _is_odd(event: Any) -> bool:
    return bool(event[1] % 2)


Numbers = list[tuple[int, int]]
"""Pairs of a number and a time."""


def _even_then_odd(limit_ms: int) -> Pattern:
    begun = Pattern.begin("even").where(_is_even)
    return begun.followed_by("odd").where(_is_odd).within(limit_ms)


def _pairs(numbers: Numbers, limit_ms: int) -> Iterator[tuple[int, int]]:
    for place, (even, ts) in enumerate(numbers):
        if even % 2 == 0:
            after = (each for each in numbers[place + 1 :] if each[0] % 2)
            odd, at = next(after, (0, ts + limit_ms))
            yield (even + odd, at) if at < ts + limit_ms else (even - 1, ts + limit_ms)


def _no_odd_after_even(limit_ms: int) -> Pattern:
    begun = Pattern.begin("even").where(_is_even)
    return begun.not_followed_by("odd").where(_is_odd).within(limit_ms)


def _alone(numbers: Numbers, limit_ms: int) -> Iterator[tuple[int, int]]:
    for place, (even, ts) in enumerate(numbers):
        after = numbers[place + 1 :]
        if even % 2 == 0 and not any(odd % 2 and at < ts + limit_ms for odd, at in after):
            yield even, ts + limit_ms


def _not_falling(limit_ms: int) -> Pattern:
    begun = Pattern.begin("first", AfterMatchSkipStrategy.skip_past_last_event())
    return begun.next("second").where(
        lambda event, ctx: event[1] >= ctx.get_events_for_pattern("first")[0][1]
    )


def _rises(numbers: Numbers, limit_ms: int) -> Iterator[tuple[int, int]]:
    place = 1
    while place < len(numbers):
        (first, _), (second, ts) = numbers[place - 1 : place + 1]
        if second >= first:
            yield first + second, ts
            place += 1
        place += 1
