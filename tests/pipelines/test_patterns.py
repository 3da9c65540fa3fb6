"""Patterns of actions that change while the job runs: the program of Flink's broadcast state.

A user's last two actions are looked up among patterns, which another stream adds and removes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.typeinfo import Types
from headrace.datastream import (
    DataStream,
    KeyedBroadcastProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.testing import run_pipeline
from tests.effort import examples

PATTERNS = MapStateDescriptor("patterns", Types.STRING(), Types.PICKLED_BYTE_ARRAY())
PAIR = ValueStateDescriptor("pair", Types.PICKLED_BYTE_ARRAY())
Event = tuple[str, str, Any]
"""``("action", user, action)``, or ``("pattern", name, (first, second))``; None removes one."""


class Matched(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Tells who has done a pattern; of a pattern that is new, also whose last actions were it."""

    def open(self, runtime_context: Any) -> None:
        self.pair = runtime_context.get_state(PAIR)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        _, user, action = value
        pair = ((self.pair.value() or (None, None))[1], action)
        self.pair.update(pair)
        for name, pattern in ctx.get_broadcast_state(PATTERNS).items():
            if pattern == pair:
                yield user, name, "did"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        _, name, pattern = value
        patterns = ctx.get_broadcast_state(PATTERNS)
        if pattern is None:
            patterns.remove(name)
            return None
        patterns.put(name, pattern)
        found: list[Any] = []

        def look(user: str, pair: Any) -> None:
            if pair.value() == pattern:
                found.append((user, name, "had done"))

        ctx.apply_to_keyed_state(PAIR, look)
        return found


def by_hand(events: list[Event]) -> list[Any]:
    patterns: dict[str, Any] = {}
    pairs: dict[str, tuple[Any, Any]] = {}
    found: list[Any] = []
    for kind, name, what in events:
        if kind == "action":
            pairs[name] = (pairs.get(name, (None, None))[1], what)
            found += [(name, rule, "did") for rule, each in patterns.items() if each == pairs[name]]
        elif what is None:
            patterns.pop(name, None)
        else:
            patterns[name] = what
            found += [(user, name, "had done") for user, pair in pairs.items() if pair == what]
    return sorted(found)


ACTIONS = ["log in", "look", "buy"]
events = st.lists(
    st.one_of(
        st.tuples(st.just("action"), st.sampled_from("abcde"), st.sampled_from(ACTIONS)),
        st.tuples(
            st.just("pattern"),
            st.sampled_from("xyz"),
            st.none() | st.tuples(st.sampled_from(ACTIONS), st.sampled_from(ACTIONS)),
        ),
    ),
    min_size=5,
    max_size=20,
)
HOW: list[dict[str, Any]] = [
    {},
    {"key_groups": 5, "parallelism": 3, "backends": "paged", "restarts": True},
    {"key_groups": 5, "restarts": "savepoint", "regroup": [(3, 2), (4, 1)]},
]


@pytest.mark.parametrize("how", HOW, ids=["one group", "begun anew", "spread otherwise"])
@settings(max_examples=examples(4))
@given(events)
def test_patterns_change_while_the_job_runs(how: dict[str, Any], events: list[Event]) -> None:
    """One event per micro-batch, so that the two streams are read in the order of the events."""

    def program(env: StreamExecutionEnvironment) -> DataStream:
        source = env.from_collection(events)
        patterns = source.filter(lambda event: event[0] == "pattern").broadcast(PATTERNS)
        actions = source.filter(lambda event: event[0] == "action")
        return actions.key_by(lambda event: event[1]).connect(patterns).process(Matched())

    found = run_pipeline(program, cuts=[1] * len(events), **how).only
    assert sorted(found) == by_hand(events)
