"""The row of the table of capabilities for patterns of events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headrace.cep import (
    CEP,
    AfterMatchSkipStrategy,
    Pattern,
    PatternProcessFunction,
    PatternRegistry,
    TimedOutPartialMatchHandler,
)
from headrace.common import Duration, WatermarkStrategy
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from tests.capabilities.programs import by_second, capability, first

EVENTS = [("a", 4), ("b", 2), ("a", 1), ("b", 5), ("a", 30)]
OVER = OutputTag("over")


class Pairs(PatternProcessFunction, TimedOutPartialMatchHandler):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield "pair", *match["one"], *match["other"]

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield OVER, ("over", *match["one"], ctx.timestamp())


@capability(
    "Patterns of events: sequences, loops, absent events, timeouts, skip strategies",
    [
        ("pair", ("a", 1), ("a", 4)),
        ("pair", ("b", 2), ("b", 5)),
        ("over", ("a", 4), 9),
        ("over", ("b", 5), 10),
        ("over", ("a", 30), 35),
        ("quiet", ("a", 4)),
        ("quiet", ("b", 5)),
        ("quiet", ("a", 30)),
        ("loop", 2, 4, 5),
    ],
)
def patterns(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    strategy = by_second(WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)))
    events = env.from_collection(EVENTS).assign_timestamps_and_watermarks(strategy)
    keyed = events.key_by(first)
    pairs = CEP.pattern(keyed, Pattern.begin("one").followed_by("other").within(5)).process(Pairs())
    silence = Pattern.begin("last").not_followed_by("other").within(5)
    quiet = CEP.pattern(keyed, silence).select(lambda match: ("quiet", *match["last"]))
    past_last = AfterMatchSkipStrategy.skip_past_last_event()
    three = (
        Pattern.begin("more", past_last)
        .where(lambda pair: pair[1] > 1)
        .times(3)
        .consecutive()
        .within(Duration.of_millis(10))
    )
    loop = CEP.pattern(events, three).select(
        lambda match: ("loop", *(number for _, number in match["more"]))
    )
    return pairs.union(pairs.get_side_output(OVER), quiet, loop)


RULES = PatternRegistry()
RULES.condition("of key", lambda pair, key: pair[0] == key, key=str)


def rule(change: tuple[str, int]) -> dict[str, Any]:
    """Two events of a key; at 6 ms that of the key "a" is taken away."""
    key, at = change
    if at == 6:
        return {"id": key, "remove": True}
    of_key = {"condition": "of key", "values": {"key": key}}
    return {"id": key, "stages": [{"name": name, "where": of_key} for name in ("one", "other")]}


class OfRule(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterator[Any]:
        yield ctx.pattern_id(), match["one"][0][1], match["other"][0][1]


@capability(
    "Patterns that change while the job runs, as a stream of data",
    [("a", 1, 4), ("b", 2, 5)],
)
def changing_patterns(env: StreamExecutionEnvironment, folder: Path) -> DataStream:
    events, patterns = (
        env.from_collection(values).assign_timestamps_and_watermarks(by_second(strategy))
        for values, strategy in (
            (EVENTS, WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))),
            ([("a", 0), ("b", 2), ("a", 6)], WatermarkStrategy.for_monotonous_timestamps()),
        )
    )
    return CEP.dynamic_patterns(events.key_by(first), patterns.map(rule), RULES).process(OfRule())
