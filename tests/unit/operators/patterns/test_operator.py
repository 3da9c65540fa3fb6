"""The operator of a pattern: late events, time, what a key keeps, limits, errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.cep import (
    AfterMatchSkipStrategy,
    Overflow,
    Pattern,
    PatternProcessFunction,
    SimpleCondition,
)
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.errors import JobError, MissingWatermarksError, TypeMismatchError
from headrace.operators.patterns import matcher, operator
from headrace.operators.patterns.operator import EVENTS, Limit
from headrace.operators.patterns.queue_order import JavaQueue
from headrace.operators.patterns.waiting import MATCHES, WAITING
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness
from tests.contract.stores import CountingStore
from tests.unit.operators.patterns.finding import (
    LATE,
    OVER,
    Found,
    FoundAndOver,
    a_then_b,
    give,
    harness,
    is_clean,
    named,
    shown,
    spec,
)

BACKENDS = pytest.mark.parametrize("backend", ["heap", "paged"])


def counter(task: KeyedHarness, name: str) -> int:
    found = [each.value for key, each in task.metrics.values().items() if name in str(key)]
    return int(sum(found))


# Time.


@BACKENDS
def test_events_are_taken_in_order_of_time(backend: str) -> None:
    with harness(a_then_b(), backend) as task:
        give(task, "b@5 a@4 b@2 a@1 b@4 a@5")
        task.advance_watermark(3)
        assert task.output() == ["a=1 b=2"]
        task.advance_watermark(5)
        assert task.output() == ["a=1 b=2", "a=4 b=4"]


@BACKENDS
def test_late_events_are_counted(backend: str) -> None:
    with harness(a_then_b(), backend) as task:
        give(task, "a@3")
        task.advance_watermark(5)
        give(task, "b@5 x@5 b@4")
        assert counter(task, "numLateRecordsDropped") == 3
        give(task, "b@6")
        task.end_input()
        assert task.output() == ["a=3 b=6"]


@BACKENDS
def test_late_events_are_given_aside(backend: str) -> None:
    """Those that match no stage, too."""
    with harness(a_then_b(), backend, late=LATE.tag_id) as task:
        task.advance_watermark(5)
        give(task, "b@5 x@5 b@6")
        assert [number for _, _, number in task.side_output(LATE)] == [5, 5]
        assert counter(task, "numLateRecordsDropped") == 0


@pytest.mark.parametrize("name", ["a", "x"])
def test_an_event_without_a_timestamp_is_refused(name: str) -> None:
    with (
        harness(a_then_b()) as task,
        pytest.raises(MissingWatermarksError, match="an event has no timestamp"),
    ):
        task.process(("key", name, 1))


def test_events_of_one_time_keep_their_order_or_that_of_the_comparator() -> None:
    for comparator, found in (None, []), (lambda a, b: ord(a[1]) - ord(b[1]), ["a=7 b=7"]):
        order = None if comparator is None else UserFunction(comparator)
        with harness(a_then_b(), comparator=order) as task:
            give(task, "b@7 a@7")
            task.end_input()
            assert task.output() == found


@pytest.mark.parametrize("returned", [True, False, None])
def test_a_comparator_that_returns_no_number_is_refused(returned: Any) -> None:
    compare = UserFunction(lambda a, b: returned)
    with harness(a_then_b(), comparator=compare) as task:
        give(task, "a@7 b@7")
        with pytest.raises(TypeMismatchError, match=f"comparator returned {returned}"):
            task.advance_watermark(7)


def test_a_comparator_does_not_change_the_order_of_times() -> None:
    backwards = UserFunction(lambda a, b: b[2] - a[2])
    with harness(a_then_b(), comparator=backwards) as task:
        give(task, "b@8 a@7 b@9")
        task.end_input()
        assert task.output() == ["a=7 b=8"]


@BACKENDS
def test_in_processing_time_events_are_taken_as_they_come(backend: str) -> None:
    with harness(a_then_b(), backend, is_event_time=False) as task:
        task.advance_processing_time(100)
        for name, number in ("a", 1), ("x", 2), ("b", 3), ("a", 4):
            task.process(("key", name, number))
        assert task.output() == ["a=1 b=3"]
        task.advance_processing_time(109)
        task.process(("key", "a", 5))
        assert task.side_output(OVER) == []
        task.advance_processing_time(110)
        assert task.side_output(OVER) == [(110, "a=4")]
        task.process(("key", "b", 6))
        assert task.output()[1:] == ["a=5 b=6"]
        assert is_clean(task)


@BACKENDS
def test_in_processing_time_a_comparator_sorts_the_events_of_a_moment(backend: str) -> None:
    comparator = UserFunction(lambda a, b: a[2] - b[2])
    with harness(a_then_b(), backend, comparator=comparator, is_event_time=False) as task:
        task.process(("key", "b", 2))
        task.process(("key", "a", 1))
        assert task.output() == []
        task.advance_processing_time(task.clock() + 1)
        assert task.output() == ["a=1 b=2"]
        assert is_clean(task)


@pytest.mark.parametrize("is_sorted", [True, False])
def test_at_the_end_of_a_batch_all_processing_time_has_passed(is_sorted: bool) -> None:
    comparator = UserFunction(lambda a, b: a[2] - b[2]) if is_sorted else None
    made = spec(a_then_b(), comparator=comparator, is_event_time=False)
    with KeyedHarness(made, 0, batch=True) as task:
        task.process(("key", "b", 3))
        task.process(("key", "a", 2))
        task.process(("other", "a", 1))
        task.end_input()
        assert task.output() == (["a=2 b=3"] if is_sorted else [])
        over = ["a=1"] if is_sorted else ["a=1", "a=2"]
        assert sorted(match for _, match in task.side_output(OVER)) == over
        assert is_clean(task)
        assert counter(task, "numTimersDropped") == 0


def test_results_have_the_time_of_the_match() -> None:
    class Twice(PatternProcessFunction):
        def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
            ctx.output(LATE, ctx.timestamp())
            yield shown(match), ctx.timestamp()
            yield OVER, "aside"

    with harness(a_then_b(), function=Twice()) as task:
        give(task, "a@3 b@4")
        task.advance_watermark(20)
        assert task.output_with_timestamps() == [(("a=3 b=4", 4), 4)]
        assert task.side_output(LATE) == [4]
        assert task.side_output(OVER) == ["aside"]


# What a key keeps.


@BACKENDS
@pytest.mark.parametrize("is_event_time", [True, False])
def test_a_key_without_a_partial_match_keeps_nothing(backend: str, is_event_time: bool) -> None:
    """No entry and no timer: after a match, after a timeout, and when nothing has begun."""

    def take(events: str, until: int) -> None:
        for event in events.split():
            name, time = event.split("@")
            if not is_event_time:
                task.advance_processing_time(int(time))
            task.process(("key", name, int(time)), int(time) if is_event_time else None)
        if is_event_time:
            task.advance_watermark(until)
        else:
            task.advance_processing_time(until)

    skip = AfterMatchSkipStrategy.skip_past_last_event()
    with harness(a_then_b(skip), backend, is_event_time=is_event_time) as task:
        take("b@1 x@2", 5)
        assert is_clean(task)
        take("a@6 a@7", 8)
        assert task.keys() == ["key"]
        assert [timer.time_ms for timer in task.timers()] == [16]
        take("b@9", 10)
        assert len(task.output()) == 1
        assert is_clean(task)
        take("a@11", 12)
        assert [timer.time_ms for timer in task.timers()] == [21]
        take("a@13", 20)
        assert [timer.time_ms for timer in task.timers()] == [21]
        take("x@22", 22)
        assert [timer.time_ms for timer in task.timers()] == [23]
        take("x@30", 30)
        assert is_clean(task)
        assert [moment for moment, _ in task.side_output(OVER)] == [21, 23]


@BACKENDS
def test_a_key_has_a_timer_for_its_first_event_only(backend: str) -> None:
    with harness(a_then_b(), backend) as task:
        give(task, "a@7 a@5 b@9 a@6")
        assert [timer.time_ms for timer in task.timers()] == [5]
        task.advance_watermark(6)
        assert [timer.time_ms for timer in task.timers()] == [7, 15]
        entry = task._backend().enter("key")
        assert entry[WAITING].times == [7, 9]
        assert entry[EVENTS].times == [5, 6]


@BACKENDS
def test_an_event_that_matches_no_stage_is_not_kept(backend: str) -> None:
    with harness(a_then_b(), backend) as task:
        give(task, "x@1 y@2")
        assert is_clean(task)


@BACKENDS
def test_an_event_that_matches_no_stage_is_kept_before_a_strict_one(backend: str) -> None:
    pattern = Pattern.begin("a").where(named("a")).next("b").where(named("b"))
    with harness(pattern, backend) as task:
        give(task, "x@2 a@1 b@3 a@4 b@5")
        assert task.keys() == ["key"]
        task.end_input()
        assert task.output() == ["a=4 b=5"]


@pytest.mark.parametrize("before", ["heap", "paged"])
@pytest.mark.parametrize("after", ["heap", "paged"])
def test_timers_of_within_fire_after_a_restore(before: str, after: str) -> None:
    with harness(a_then_b(), before) as task:
        give(task, "a@1 a@3 b@20")
        task.advance_watermark(5)
        snapshot = task.snapshot()
    with harness(a_then_b(), after) as task:
        task.restore(snapshot)
        give(task, "b@12")
        task.advance_watermark(11)
        assert task.side_output(OVER) == [(11, "a=1")]
        task.end_input()
        assert task.output() == ["a=3 b=12"]
        assert is_clean(task)


@BACKENDS
def test_a_match_without_an_event_that_must_not_come_is_complete_in_time(backend: str) -> None:
    pattern = Pattern.begin("a").where(named("a")).not_followed_by("b").where(named("b"))
    with harness(pattern.within(10), backend) as task:
        give(task, "a@1 a@4 b@3 x@5")
        task.advance_watermark(13)
        assert task.output() == []
        task.advance_watermark(14)
        assert task.output_with_timestamps() == [("a=4", 14)]
        assert is_clean(task)


@pytest.mark.parametrize("events", [1, 40])
def test_state_is_read_and_written_once_for_a_key_and_watermark(
    events: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many of the key's events wait: its page, and the matches in it."""
    calls: Counter[str] = Counter()
    for module, name in (operator, "from_stored"), (operator, "to_stored"):
        monkeypatch.setattr(module, name, counted(getattr(module, name), calls))
    with harness(a_then_b(), "paged") as task:
        give(task, "a@1")
        task.advance_watermark(1)
        store: Any = CountingStore()
        store.records.update(task._store.records)  # type: ignore[union-attr]
        task._store = store
        give(task, " ".join(f"a@{number}" for number in range(2, 2 + events)))
        store.reset()
        calls.clear()
        task.advance_watermark(2 + events)
        for names in store.read, store.written:
            assert sum(name.startswith("p") for name in names) == 1
        assert calls == {"from_stored": 1, "to_stored": 1}


def counted(function: Any, calls: Counter[str]) -> Any:
    def call(*arguments: Any) -> Any:
        calls[function.__name__] += 1
        return function(*arguments)

    return call


@BACKENDS
def test_at_the_end_all_time_has_passed(backend: str) -> None:
    with harness(a_then_b(), backend) as task:
        give(task, "a@1 a@100")
        task.end_input()
        assert task.side_output(OVER) == [(11, "a=1"), (110, "a=100")]
        assert is_clean(task)


def test_a_limit_beyond_all_time_sets_no_timer() -> None:
    with harness(a_then_b().within(MAX_WATERMARK)) as task:
        give(task, "a@100")
        task.advance_watermark(100)
        assert task.timers() == []
        assert task.keys() == ["key"]


@pytest.mark.parametrize("batch", [False, True])
def test_sorted_events_of_the_last_millisecond_of_a_stream_are_not_taken(batch: bool) -> None:
    """Flink's rule: they have a timer for the next millisecond, which does not come."""
    order = UserFunction(lambda first, second: ord(first[1]) - ord(second[1]))
    given = spec(a_then_b(), comparator=order, is_event_time=False)
    with KeyedHarness(given, 0, batch=batch) as task:
        give(task, "b@0 a@0")
        task.end_input()
        assert task.output() == ["a=0 b=0"] * batch


# Limits.


def grown(overflow: Overflow, backend: Any = "heap", events: str = "a@1 a@2 a@3") -> KeyedHarness:
    task = harness(a_then_b(), backend, limit=Limit(2, overflow))
    give(task, events)
    task.advance_watermark(3)
    return task


@BACKENDS
def test_the_oldest_partial_matches_are_dropped(backend: str) -> None:
    with grown(Overflow.DROP_OLDEST, backend) as task:
        assert counter(task, "numPartialMatchesDropped") == 1
        give(task, "b@4")
        task.end_input()
        assert task.output() == ["a=2 b=4", "a=3 b=4"]


@BACKENDS
def test_the_newest_partial_matches_are_dropped(backend: str) -> None:
    with grown(Overflow.DROP_NEWEST, backend) as task:
        assert counter(task, "numPartialMatchesDropped") == 1
        give(task, "b@4")
        task.end_input()
        assert task.output() == ["a=1 b=4", "a=2 b=4"]


def test_too_many_partial_matches_fail_the_job() -> None:
    with pytest.raises(JobError, match="a key has 3 partial matches, more than the limit of 2"):
        grown(Overflow.FAIL)
    with grown(Overflow.FAIL, events="a@1 a@2") as task:
        assert counter(task, "numPartialMatchesDropped") == 0
        assert task.keys() == ["key"]


@pytest.mark.parametrize("overflow", Overflow)
def test_the_limit_holds_while_an_event_is_matched(
    overflow: Overflow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each event may be that of any later stage: the third makes 20,000 partial matches."""
    sizes: list[int] = []

    class Measured(JavaQueue[Any]):
        def __init__(self, items: Iterable[Any] = ()) -> None:
            super().__init__(items)
            sizes.append(len(self))

    monkeypatch.setattr(matcher, "JavaQueue", Measured)
    pattern = Pattern.begin("begin").where(named("a"))
    for number in range(200):
        pattern = pattern.followed_by(f"{number}").optional()
    pattern = pattern.followed_by("end").where(named("end")).within(100)
    with harness(pattern, limit=Limit(50, overflow)) as task:
        give(task, "a@1 a@2 a@3")
        if overflow is Overflow.FAIL:
            with pytest.raises(JobError, match="more than the limit of 50"):
                task.advance_watermark(3)
        else:
            task.advance_watermark(3)
            assert counter(task, "numPartialMatchesDropped") > 1_000
            task.end_input()
            first = {each.split()[0] for _, each in task.side_output(OVER)}
            assert len(task.side_output(OVER)) == 50
            assert first == {"begin=1"} if overflow is Overflow.DROP_NEWEST else {"begin=2"}
    assert max(sizes) <= 101


def test_a_limit_counts_for_each_key() -> None:
    with harness(a_then_b(), limit=Limit(1)) as task:
        for key in "xyz":
            give(task, "a@1", key)
        task.end_input()
        assert len(task.side_output(OVER)) == 3


def test_matches_that_a_dropped_one_held_back_come() -> None:
    skip = AfterMatchSkipStrategy.skip_past_last_event()
    begun = Pattern.begin("a", skip).where(lambda event: event[1] in "ax")
    pattern = begun.followed_by("b").where(
        lambda event, ctx: event[1] == "b" and ctx.get_events_for_pattern("a")[0][1] == "a"
    )
    with harness(pattern, limit=Limit(1, Overflow.DROP_OLDEST)) as task:
        give(task, "x@1")
        task.advance_watermark(1)
        give(task, "a@2 b@3")
        task.advance_watermark(3)
        assert task.output() == ["a=2 b=3"]


@given(
    st.lists(st.tuples(st.sampled_from("aab"), st.integers(0, 4)), max_size=12),
    st.sets(st.integers(0, 11)),
    st.sampled_from([Overflow.DROP_OLDEST, Overflow.DROP_NEWEST]),
    st.sampled_from(["no_skip", "skip_to_next", "skip_past_last_event"]),
)
def test_what_is_dropped_does_not_depend_on_watermarks(
    steps: list[tuple[str, int]], watermarks: set[int], overflow: Overflow, strategy: str
) -> None:
    skip = getattr(AfterMatchSkipStrategy, strategy)()
    loop = Pattern.begin("a", skip).where(named("a")).one_or_more()
    pattern = loop.followed_by("b").where(named("b")).within(9)
    answers = []
    for many in (True, False):
        with harness(pattern, limit=Limit(3, overflow)) as task:
            now = 0
            for place, (name, step) in enumerate(steps):
                now += step
                give(task, f"{name}@{now + 1}")
                if many and place in watermarks:
                    task.advance_watermark(now)
            task.end_input()
            dropped = counter(task, "numPartialMatchesDropped")
            answers.append((task.output(), task.side_output(OVER), dropped))
    assert answers[0] == answers[1]


# Errors of users.


def fails(event: Any) -> bool:
    if event[1] == "a":
        raise ValueError("no")
    return False


def raised(pattern: Pattern, **more: Any) -> str:
    with harness(pattern, **more) as task:
        with pytest.raises(ValueError, match="no") as error:
            give(task, "a@5")
            task.end_input()
        return "\n".join(error.value.__notes__)


def test_an_error_of_a_condition_says_where() -> None:
    note = raised(Pattern.begin("a").where(fails))
    assert "Pattern (uid=none)" in note
    assert "key:      'key'" in note
    assert "record:   ('key', 'a', 5)" in note
    assert "time:     5 ms" in note


def test_an_error_of_a_condition_comes_only_where_it_is_needed() -> None:
    with harness(Pattern.begin("b").where(named("b")).followed_by("a").where(fails)) as task:
        give(task, "a@5")
        task.end_input()
        assert task.output() == []


@pytest.mark.parametrize("method", ["process_match", "process_timed_out_match"])
def test_an_error_of_a_function_says_where(method: str) -> None:
    class Failing(FoundAndOver):
        pass

    def fail(self: Any, match: Any, ctx: Any) -> Any:
        raise ValueError("no")

    setattr(Failing, method, fail)
    pattern = Pattern.begin("a").where(named("a"))
    if method == "process_timed_out_match":
        pattern = a_then_b()
    note = raised(pattern, function=Failing())
    assert "Pattern (uid=none)" in note
    assert "key:      'key'" in note
    assert "record:   ('key', 'a', 5)" in note


def test_an_error_of_a_comparator_says_where() -> None:
    def fail(first: Any, second: Any) -> int:
        raise ValueError("no")

    with harness(a_then_b(), comparator=UserFunction(fail)) as task:
        give(task, "a@5 b@5")
        with pytest.raises(ValueError, match="no") as error:
            task.end_input()
    assert "key:      'key'" in "\n".join(error.value.__notes__)


def test_results_of_timeouts_go_to_side_outputs() -> None:
    class Wrong(FoundAndOver):
        def process_timed_out_match(self, match: Any, ctx: Any) -> Iterable[Any]:
            yield "no tag"

    with harness(a_then_b(), function=Wrong()) as task:
        give(task, "a@5")
        with pytest.raises(TypeMismatchError, match="emits to side outputs only"):
            task.end_input()


# Other stages than in the state.


@pytest.mark.parametrize("before", ["heap", "paged"])
@pytest.mark.parametrize("after", ["heap", "paged"])
def test_partial_matches_of_other_stages_are_dropped(before: str, after: str) -> None:
    """Waiting events are kept, and so are keys with the same stages and other conditions."""
    with harness(a_then_b(), before) as task:
        give(task, "a@1 a@2 a@6 b@8")
        task.advance_watermark(5)
        snapshot = task.snapshot()
    other = Pattern.begin("a").where(named("a")).followed_by("c").where(named("b")).within(10)
    with harness(other, after) as task:
        task.restore(snapshot)
        task.advance_watermark(9)
        assert task.output() == ["a=6 c=8"]
        assert counter(task, "numPartialMatchesDropped") == 2
        assert is_clean(task)
    same = Pattern.begin("a").where(named("c")).followed_by("b").where(named("b")).within(10)
    with harness(same, after) as task:
        task.restore(snapshot)
        task.advance_watermark(9)
        assert task.output() == ["a=1 b=8", "a=2 b=8"]
        assert counter(task, "numPartialMatchesDropped") == 0


def test_a_match_that_waited_is_counted_among_the_dropped() -> None:
    skip = AfterMatchSkipStrategy.skip_to_next()
    pattern = Pattern.begin("x", skip).where(lambda event: event[1] in "xa").followed_by("b")
    waits = pattern.where(
        lambda event, ctx: event[1] == "b" and ctx.get_events_for_pattern("x")[0][1] == "a"
    )
    with harness(waits) as task:
        give(task, "x@1 a@2 b@3")
        task.advance_watermark(3)
        assert task.output() == []
        snapshot = task.snapshot()
    with harness(a_then_b(), function=Found()) as task:
        task.restore(snapshot)
        give(task, "a@4 b@5")
        task.advance_watermark(5)
        assert task.output() == ["a=4 b=5"]
        assert counter(task, "numPartialMatchesDropped") == 2
        assert MATCHES not in task._backend().peek("key")


# Much state.


def test_large_events_leave_nothing_behind() -> None:
    """Buffers of several pages, of waiting events and of those in partial matches."""
    pattern = a_then_b().within(50)
    with harness(pattern, "paged", function=Found()) as task:
        sizes = []
        for turn in range(4):
            for number in range(30):
                at = 100 * turn + number + 1
                task.process(("key", "a", at), at)
                task.process(("key", "a" if number % 2 else "b", at, "x" * 3_000), at)
            task.advance_watermark(100 * turn + 20)
            sizes.append(len(task._store.records))  # type: ignore[union-attr]
            task.advance_watermark(100 * turn + 99)
            assert is_clean(task)
            # The header has the watermark.
            assert [*task._store.records] == ["h"]  # type: ignore[union-attr]
        assert min(sizes) > 3
        assert max(sizes) == min(sizes)
        assert len(task.output()) > 4 * 30


class Opened(SimpleCondition):
    """Needs ``open``; without it, it fails."""

    def open(self, runtime_context: Any) -> None:
        self.name = runtime_context.get_task_name()

    def filter(self, value: Any) -> bool:
        assert self.name
        return bool(value[1] == "a")


@pytest.mark.parametrize("is_event_time", [True, False])
def test_conditions_are_opened(is_event_time: bool) -> None:
    pattern = Pattern.begin("a").where(Opened()).one_or_more().until(Opened())
    with harness(pattern, is_event_time=is_event_time, function=Found()) as task:
        give(task, "b@1")  # kept until its time: what has an open() is asked once it is needed
        if is_event_time:
            task.advance_watermark(1)
        assert is_clean(task)
    with harness(Pattern.begin("a").where(Opened()), is_event_time=is_event_time) as task:
        give(task, "a@2")
        task.end_input()
        assert task.output() == ["a=2"]
