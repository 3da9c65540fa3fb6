"""Patterns that change while the job runs, however it is cut, started again and spread."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep import (
    CEP,
    PatternProcessFunction,
    PatternRegistry,
    TimedOutPartialMatchHandler,
)
from headrace.common import WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.testing import run_pipeline
from tests.effort import examples

OVER, INVALID = OutputTag("over"), OutputTag("invalid")
Event = tuple[str, str, int]
"""A key, a word, and the time."""

Change = tuple[str, Any, int]
"""The id of a pattern, and two words and how long they may take; None removes it, "" is no data."""

BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda one: one[-1])
CONDITIONS = PatternRegistry()
CONDITIONS.condition("is", lambda event, word: event[1] == word, word=str)


def to_data(change: Change) -> Any:
    pattern_id, rule, at = change
    if rule is None:
        return {"id": pattern_id, "remove": True}
    if not rule:
        return json.dumps({"id": pattern_id, "stages": at})
    first, second, within_ms = rule
    first, second = ({"condition": "is", "values": {"word": word}} for word in (first, second))
    stages = [
        {"name": "first", "where": first},
        {"name": "second", "where": second, "within_ms": within_ms},
    ]
    return {"id": pattern_id, "stages": stages}


class Found(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield ctx.pattern_id(), ctx.timestamp(), match["first"][0], match["second"][0]

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield OVER, (ctx.pattern_id(), ctx.timestamp(), match["first"][0])


def ends(changes: list[Change]) -> list[tuple[str, Any, int, float]]:
    """Each pattern that held, with its beginning and its end."""
    by_id: dict[str, dict[int, Any]] = {}
    for pattern_id, rule, at in changes:
        if rule != "":
            by_id.setdefault(pattern_id, {})[at] = rule
    held = []
    for pattern_id, by_time in by_id.items():
        runs = [
            (rule, [at for at, _ in same])
            for rule, same in groupby(sorted(by_time.items()), key=lambda each: each[1])
        ]
        starts = [at for _, (at, *_) in runs]
        for (rule, _), begin, end in zip(runs, starts, [*starts[1:], float("inf")], strict=True):
            if rule is not None:
                held.append((pattern_id, rule, begin, end))
    return held


def by_hand(events: list[Event], changes: list[Change]) -> tuple[list[Any], list[Any]]:
    """The matches, and the partial ones that are over."""
    found, over = [], []
    for pattern_id, (first, second, within_ms), begin, end in ends(changes):
        for number, event in enumerate(events):
            key, word, at = event
            if word != first or not begin <= at < end:
                continue
            later = (each for each in events[number + 1 :] if each[0] == key)
            match = next((each for each in later if each[1] == second), None)
            if match is not None and match[-1] < min(end, at + within_ms):
                found.append((pattern_id, match[-1], event, match))
            elif at + within_ms < end:
                over.append((pattern_id, at + within_ms, event))
    return sorted(found), sorted(over)


TIMES = st.integers(0, 40)
events = st.lists(st.tuples(st.sampled_from("klm"), st.sampled_from("abc"), TIMES), max_size=20)
rules = st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.integers(1, 20))
changes = st.lists(st.tuples(st.sampled_from("xy"), st.none() | st.just("") | rules, TIMES))
cuts = st.lists(st.integers(0, 4), max_size=20)
HOW: list[dict[str, Any]] = [
    {},
    {"mode": "batch"},
    {"key_groups": 5, "parallelism": 3, "backends": "paged", "restarts": True},
    {"key_groups": 5, "restarts": "savepoint", "regroup": [(3, 2), (4, 1)]},
]


@pytest.mark.parametrize("how", HOW, ids=["one group", "batch", "begun anew", "spread otherwise"])
@settings(max_examples=examples(8))
@given(events, changes, cuts)
def test_patterns_hold_from_their_time_on(
    how: dict[str, Any], events: list[Event], changes: list[Change], cuts: list[int]
) -> None:
    events = sorted(events, key=lambda event: event[-1])
    changes = sorted(changes, key=lambda change: change[-1])

    def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        stream, patterns = (
            env.from_collection(values).uid(uid).assign_timestamps_and_watermarks(BY_TIME)
            for uid, values in (("events", events or [("k", "z", 0)]), ("patterns", given))
        )
        found = (
            CEP.dynamic_patterns(
                stream.key_by(lambda event: event[0]), patterns.map(to_data), CONDITIONS
            )
            .side_output_invalid_patterns(INVALID)
            .process(Found())
            .uid("found")
        )
        return {
            "found": found,
            "over": found.get_side_output(OVER),
            "invalid": found.get_side_output(INVALID).map(lambda pair: pair[0]),
        }

    given = changes or [("x", None, 0)]
    if how.get("mode") != "batch":
        how = {**how, "cuts": cuts}
    results = run_pipeline(program, **how)
    found, over = by_hand(events, changes)
    assert sorted(results["found"]) == found
    assert sorted(results["over"]) == over
    invalid = [to_data(each) for each in changes if each[1] == ""]
    assert sorted(results["invalid"]) == sorted(invalid)


def test_a_stream_without_keys_is_matched_in_one_task() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        stream, patterns = (
            env.from_collection(values).assign_timestamps_and_watermarks(BY_TIME)
            for values in ([("k", "a", 5), ("l", "b", 8)], [("x", ("a", "b", 9), 1)])
        )
        return CEP.dynamic_patterns(stream, patterns.map(to_data), CONDITIONS).process(Found())

    found = run_pipeline(program, key_groups=5, parallelism=3).only
    assert found == [("x", 8, ("k", "a", 5), ("l", "b", 8))]


def test_an_error_of_a_condition_names_the_pattern() -> None:
    conditions = PatternRegistry()
    conditions.condition("fails", lambda event: event[1].nothing)

    def made(_: Any) -> dict[str, DataStream]:
        env = StreamExecutionEnvironment.get_execution_environment()
        events = env.from_collection([("k", "a", 5)]).assign_timestamps_and_watermarks(BY_TIME)
        stages = [{"name": "first", "where": {"condition": "fails"}}]
        patterns = env.from_collection([({"id": "of fraud", "stages": stages}, 1)])
        timed = patterns.assign_timestamps_and_watermarks(BY_TIME).map(lambda pair: pair[0])
        keyed = events.key_by(lambda event: event[0])
        return {"found": CEP.dynamic_patterns(keyed, timed, conditions).process(Found())}

    with pytest.raises(AttributeError, match="nothing") as raised:
        run_pipeline(made)
    assert "pattern:  'of fraud'" in "\n".join(raised.value.__notes__)
