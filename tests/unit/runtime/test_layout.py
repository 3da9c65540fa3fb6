"""Whether a program may go on from what another one left."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from headrace.cep import CEP, Pattern
from headrace.common import Configuration, Time, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.functions import ProcessJoinFunction
from headrace.errors import CheckpointError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runtime.layout import Layout, check_layout_change, needs_state_move


def first(value: Any) -> Any:
    return value[0]


def layout(build: Callable[[DataStream], DataStream], **options: str) -> Layout:
    settings = {"execution.target": "local", "parallelism.default": "3"} | options
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    build(env.from_collection([("a", 1)]).uid("pairs")).print()
    found = Layout.of(program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job"))
    return Layout.from_json(json.loads(json.dumps(found.to_json())))


def sums(stream: DataStream) -> DataStream:
    return stream.key_by(first).sum(1).uid("sums")


def refused(before: Layout, now: Layout, **how: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        check_layout_change(before, now, ignore_unclaimed=False, **how)
    return str(caught.value)


@pytest.mark.parametrize(
    "build",
    [
        lambda s: sums(s.map(lambda v: v)),
        lambda s: sums(s).filter(bool).map(str),
        lambda s: sums(s).union(s.key_by(first).max(1)),
    ],
)
def test_steps_without_state_and_new_state_are_welcome(build: Any) -> None:
    before, now = layout(sums), layout(build)
    check_layout_change(before, now, ignore_unclaimed=False)
    assert not needs_state_move(before, now)


def test_a_missing_operator_is_refused_with_its_states() -> None:
    before, now = layout(sums), layout(lambda s: s)
    said = refused(before, now, states=lambda: {"sums": ["total", "count"]})
    assert "no operator 'Sum' (uid=sums) any more" in said
    assert "its states: count, total" in said
    assert "execution.state-recovery.ignore-unclaimed-state" in said


def test_it_may_be_given_up_but_does_not_come_back() -> None:
    before, without = layout(sums), layout(lambda s: s)
    check_layout_change(before, without, ignore_unclaimed=True)
    after = without.as_successor_of(before)
    assert after.given_up == ("sums",)
    check_layout_change(after, without, ignore_unclaimed=False)
    assert "was dropped before" in refused(after, before)
    assert Layout.from_json(after.to_json()) == after


def test_an_operator_of_another_kind_under_the_uid_is_refused() -> None:
    def mapped(stream: DataStream) -> DataStream:
        return stream.key_by(first).min_by(1).uid("sums")

    check_layout_change(layout(sums), layout(mapped), ignore_unclaimed=False)  # both reduce

    def source(stream: DataStream) -> DataStream:
        return stream._env.from_sequence(0, 3).uid("sums").union(stream)

    said = refused(layout(sums), layout(source))
    assert "operator of kind 'reduce'" in said and "source of kind 'number-sequence'" in said


def test_a_source_of_another_kind_under_the_uid_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"execution.target": "local"})
    )
    env.from_sequence(1, 2).uid("pairs").print()
    now = Layout.of(program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job"))
    said = refused(layout(lambda s: s), now)
    assert "kind 'collection'" in said and "kind 'number-sequence'" in said


def test_a_missing_source_is_refused() -> None:
    def two(stream: DataStream) -> DataStream:
        return stream.union(stream._env.from_collection([("b", 2)]).uid("more"))

    assert "no source 'Collection" in refused(layout(two), layout(lambda s: s))
    check_layout_change(layout(lambda s: s), layout(two), ignore_unclaimed=False)


def test_another_number_of_key_groups_is_refused() -> None:
    before = layout(sums)
    said = refused(before, layout(sums, **{"pipeline.max-parallelism": "64"}))
    assert "was:" in said and "max_parallelism 128" in said and "max_parallelism 64" in said


@pytest.mark.parametrize(
    ("before", "now", "moved"),
    [
        (sums, lambda s: sums(s.rebalance().map(lambda v: v)), True),
        (sums, lambda s: sums(s).key_by(first).max(1), True),
        (
            lambda s: sums(s).union(s.rebalance().map(str)),
            lambda s: sums(s).union(s.map(str)),
            False,
        ),
        (lambda s: s, sums, True),
        (sums, lambda s: s.map(str).key_by(first).sum(1).uid("sums"), False),
    ],
)
def test_state_moves_where_stages_do(before: Any, now: Any, moved: bool) -> None:
    assert needs_state_move(layout(before), layout(now)) is moved


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(CheckpointError, match="format 99"):
        Layout.from_json({**layout(sums).to_json(), "format": 99})


def test_parts_without_a_uid_are_reported() -> None:
    found = layout(lambda s: s.key_by(first).sum(1))
    assert [part.name for part in found.parts_without_uid()] == ["Sum"]
    assert found.warning() is not None and "operator 'Sum'" in str(found.warning())
    assert layout(sums).warning() is None


def joined(lower: int, upper: int) -> Callable[[DataStream], DataStream]:
    def build(stream: DataStream) -> DataStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        timed = strategy.with_timestamp_assigner(lambda value, _: value[1])
        keyed = stream.assign_timestamps_and_watermarks(timed).key_by(first)
        bounds = Time.milliseconds(lower), Time.milliseconds(upper)
        return keyed.interval_join(keyed).between(*bounds).process(Pairs()).uid("pairs joined")

    return build


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left, right


def test_a_join_keeps_its_bounds_or_says_what_is_missing() -> None:
    before = layout(joined(-100, 50))
    for narrower in (joined(-100, 50), joined(-100, 0), joined(0, 50), joined(10, 20)):
        check_layout_change(before, layout(narrower), ignore_unclaimed=False)
    said = refused(before, layout(joined(-100, 60)))
    assert "'IntervalJoin' (uid=pairs joined) has wider bounds than in the checkpoint" in said
    assert "kept:   50 ms\n  needed: 60 ms" in said
    assert "headrace.restore.accept-bounds" in said
    assert "needed: 101 ms" in refused(before, layout(joined(-101, 50)))
    wider = layout(joined(-200, 200))
    check_layout_change(before, wider, ignore_unclaimed=False, accept_bounds=True)
    # A checkpoint of an earlier version does not say how long records were kept.
    data = before.to_json()
    parts = [{k: v for k, v in p.items() if k != "removes_after_ms"} for p in data["parts"]]
    check_layout_change(Layout.from_json({**data, "parts": parts}), wider, ignore_unclaimed=False)


def looked_for(
    *names: str, conditions: int = 0, by_clock: bool = True
) -> Callable[[DataStream], DataStream]:
    def build(stream: DataStream) -> DataStream:
        pattern: Any = None
        for name in names:
            pattern = Pattern.begin(name) if pattern is None else pattern.followed_by(name)
            pattern = pattern.where(lambda value: value[1] > conditions)
        if not by_clock:
            strategy = WatermarkStrategy.for_monotonous_timestamps()
            stream = stream.assign_timestamps_and_watermarks(
                strategy.with_timestamp_assigner(lambda value, _: value[1])
            )
        found = CEP.pattern(stream.key_by(first), pattern)
        found = found.in_processing_time() if by_clock else found
        return found.select(str).uid("looked for")

    return build


def test_a_pattern_keeps_its_stages_or_says_which_differ() -> None:
    before = layout(looked_for("a", "b", "c"))
    same = layout(looked_for("a", "b", "c", conditions=1))
    check_layout_change(before, same, ignore_unclaimed=False)
    said = refused(before, layout(looked_for("a", "d", "c")))
    assert "the pattern of the operator 'Pattern' (uid=looked for) has other stages" in said
    assert "gone: b\n  new:  d" in said
    assert "headrace.restore.drop-partial-matches" in said
    swapped = layout(looked_for("a", "c", "b"))
    assert "in another order: a, b, c (is now: a, c, b)" in refused(before, swapped)
    check_layout_change(before, swapped, ignore_unclaimed=False, drop_partial_matches=True)
    other_time = layout(looked_for("a", "b", "c", by_clock=False))
    assert "is of another kind" in refused(before, other_time, drop_partial_matches=True)
    again = Layout.from_json(json.loads(json.dumps(before.to_json())))
    assert again == before
    # A checkpoint of an earlier version does not say which stages there were.
    data = before.to_json()
    parts = [{k: v for k, v in p.items() if k != "pattern"} for p in data["parts"]]
    check_layout_change(Layout.from_json({**data, "parts": parts}), swapped, ignore_unclaimed=False)
