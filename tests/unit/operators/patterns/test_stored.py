"""The matches of a key come out of the state as they went in."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cep import Pattern
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.matcher import Event, Matcher, Matches
from headrace.operators.patterns.skips import SkipPastLastEvent
from headrace.operators.patterns.stored import (
    MOMENT,
    SHAPE,
    VERSION,
    Shapes,
    count_stored,
    from_stored,
    to_stored,
)
from tests.unit.operators.patterns.finding import named, numbered


def matcher() -> Matcher:
    loop = Pattern.begin("a").where(named("a")).one_or_more().allow_combinations()
    pattern = loop.followed_by_any("b").where(named("b")).one_or_more(5)
    stages = pattern.followed_by("c").where(named("c")).within(100)._stages()
    return Matcher(compile_stages(stages), SkipPastLastEvent())


def shown(matches: Matches) -> tuple[Any, ...]:
    """All that counts: the order of both heaps, each with states, events and moments."""
    return tuple(
        [
            (each.state, each.over_ms, [(n.stage, n.event.value, n.event.timestamp) for n in nodes])
            for each in queue
            for nodes in [each.nodes()]
        ]
        for queue in (matches.partial, matches.complete)
    )


def taken(names: str, own: Matcher, matches: Matches, first: int = 0) -> list[Any]:
    found = []
    for number, event in enumerate(numbered(names)):
        at = first + number
        given = own.process(matches, Event(event, 10 + at, matches.next_number))
        matches.next_number += 1
        found += [match.events() for match in given]
    return found


@given(st.text("abc", min_size=1, max_size=9), st.text("abc", max_size=4))
def test_matches_are_stored_without_loss(names: str, more: str) -> None:
    own = matcher()
    matches = own.begin()
    taken(names, own, matches)
    stored, buffer = to_stored(matches, 7)
    times, values = pickle.loads(pickle.dumps((buffer.times, buffer.values)))
    again = from_stored(pickle.loads(pickle.dumps(stored)), type(buffer)(times, values), own)
    assert shown(again) == shown(matches)
    assert (stored[VERSION], stored[MOMENT]) == (7, matches.moment_ms)
    assert again.moment_ms == matches.moment_ms
    assert count_stored(stored) == matches.begun + len(matches.complete)
    # and they go on in the same way
    assert taken(more, own, again, 50) == taken(more, own, matches, 50)
    assert shown(again) == shown(matches)


@pytest.mark.parametrize("length", [3, 6])
def test_an_event_is_stored_once(length: int) -> None:
    """However many partial matches have it."""
    own = matcher()
    matches = own.begin()
    taken("a" * length, own, matches)
    _, buffer = to_stored(matches)
    assert matches.begun > length
    assert buffer.times == [10 + number for number in range(length)]
    assert [value[2] for value in buffer.values] == [*range(length)]


@given(st.text("ab", max_size=7))
def test_events_of_one_time_keep_their_order(names: str) -> None:
    own = matcher()
    matches = own.begin()
    for event in numbered("a" + names):
        own.process(matches, Event(event, 10, matches.next_number))
        matches.next_number += 1
    stored, buffer = to_stored(matches)
    assert {*buffer.times} == {10}
    assert shown(from_stored(stored, buffer, own)) == shown(matches)


def test_what_is_stored_is_plain_data() -> None:
    """Names and numbers, that a savepoint has without classes of Headrace."""
    own = matcher()
    matches = own.begin()
    taken("aab", own, matches)
    stored, _ = to_stored(matches, 1)
    as_lists = json.loads(json.dumps(stored))
    assert as_lists[:2] == [1, 15]
    assert len(as_lists[2][1]) == len(matches.partial)


def test_equal_shapes_are_one_object() -> None:
    own, shapes = matcher(), Shapes()
    found = []
    for names in "ab", "ab", "aa", "aaaaa", "aaaaa":
        matches = own.begin()
        taken(names, own, matches)
        found.append(to_stored(matches, 1, shapes)[0][SHAPE])
    assert found[0] is found[1]
    assert found[0] != found[2]
    assert found[3] == found[4]
    assert len(shapes) == 2, "large ones are not kept"
