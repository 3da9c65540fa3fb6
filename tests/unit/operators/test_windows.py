"""The operator of windows: assigned, kept, fired, late and forgotten as in Flink."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common._output_tag import OutputTag
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream import ProcessWindowFunction, Trigger, TriggerResult, WindowFunction
from headrace.datastream.state import (
    ListStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindow,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
    WindowStagger,
)
from headrace.errors import MissingWatermarksError, PlanError
from headrace.operators.windows.general.merging import WindowMapping, add_window
from headrace.runtime.keys.key_groups import stable_hash
from tests.effort import examples
from tests.unit.operators.windowing import Numbers, Total, plus, windowed

LATE = OutputTag("late")
TUMBLING = TumblingEventTimeWindows.of(Time.milliseconds(10))
SESSIONS = EventTimeSessionWindows.with_gap(Time.milliseconds(10))
BACKENDS = pytest.mark.parametrize("backend", ["heap", "paged"])


def late_dropped(task: Any) -> int:
    return sum(v for k, v in task.metrics.snapshot().items() if "numLateRecordsDropped" in k)


@BACKENDS
def test_windows_of_keys_fire_once_and_vanish(backend: Any) -> None:
    with windowed(lambda keyed: keyed.window(TUMBLING).process(Numbers()), backend=backend) as task:
        for key, number, moment in [("a", 1, 3), ("b", 2, 9), ("a", 3, 0), ("a", 4, 10)]:
            task.process((key, number), moment)
        assert task.timers() == []  # whole windows fire, and keys wait for nothing
        task.advance_watermark(8)
        assert task.output() == []
        task.advance_watermark(9)
        window = TimeWindow(0, 10)
        assert task.output_with_timestamps() == [
            (("a", window, [1, 3]), 9),
            (("b", window, [2]), 9),
        ]
        task.end_input()
        assert task.output()[2:] == [("a", TimeWindow(10, 20), [4])]
        assert task.timers() == []
        assert not [*task._backend().keys()] and not [*task._backend().in_namespaces.keys()]


@BACKENDS
def test_sliding_windows_do_not_share_what_they_keep(backend: Any) -> None:
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(5))
    with windowed(lambda keyed: keyed.window(sliding).aggregate(Total()), backend=backend) as task:
        for number, moment in [(1, 3), (2, 7), (4, 12)]:
            task.process(("a", number), moment)
        task.end_input()
        assert task.output_with_timestamps() == [(1, 4), (3, 9), (6, 14), (4, 19)]


@BACKENDS
def test_a_record_that_is_late_for_all_of_its_windows_is_counted(backend: Any) -> None:
    with windowed(lambda keyed: keyed.window(TUMBLING).reduce(plus), backend=backend) as task:
        task.advance_watermark(9)
        task.process(("a", 1), 9)
        task.process(("a", 2), 10)
        assert late_dropped(task) == 1
        task.end_input()
        assert task.output() == [("a", 2)]


def test_late_records_go_to_a_side_output() -> None:
    with windowed(
        lambda keyed: keyed.window(TUMBLING).side_output_late_data(LATE).reduce(plus)
    ) as task:
        task.advance_watermark(15)
        task.process(("a", 1), 9)
        task.process(("a", 2), 11)  # behind the watermark, but its window is open
        task.end_input()
        assert (task.side_output(LATE), task.output()) == ([("a", 1)], [("a", 2)])
        assert late_dropped(task) == 0


@BACKENDS
def test_allowed_lateness_lets_a_window_fire_again(backend: Any) -> None:
    with windowed(
        lambda keyed: (
            keyed.window(TUMBLING)
            .allowed_lateness(5)
            .side_output_late_data(LATE)
            .aggregate(Total(), Numbersish())
        ),
        backend=backend,
    ) as task:
        task.process(("a", 1), 3)
        task.advance_watermark(9)
        task.process(("a", 2), 4)
        task.advance_watermark(13)
        task.process(("a", 4), 5)
        assert [value for value, _ in task.output_with_timestamps()] == [1, 3, 7]
        assert {moment for _, moment in task.output_with_timestamps()} == {9}
        task.advance_watermark(14)
        task.process(("a", 8), 9)
        assert task.side_output(LATE) == [("a", 8)]
        assert (len(task.output()), task.timers()) == (3, [])


class Numbersish(WindowFunction[Any, Any, str, Any]):
    def apply(self, key: str, window: Any, inputs: Any) -> Any:
        return list(inputs)


def test_a_purging_trigger_drops_what_has_fired() -> None:
    with windowed(
        lambda keyed: (
            keyed.window(TUMBLING)
            .trigger(PurgingTrigger.of(EventTimeTrigger()))
            .allowed_lateness(5)
            .reduce(plus)
        )
    ) as task:
        task.process(("a", 1), 3)
        task.advance_watermark(9)
        task.process(("a", 2), 4)
        task.end_input()
        assert task.output() == [("a", 1), ("a", 2)]


@BACKENDS
def test_lateness_beyond_the_end_of_time_keeps_windows_for_ever(backend: Any) -> None:
    with windowed(
        lambda keyed: keyed.window(TUMBLING).allowed_lateness(2**63 - 1).reduce(plus),
        backend=backend,
    ) as task:
        task.process(("a", 1), 3)
        task.advance_watermark(1 << 40)
        task.process(("a", 2), 3)
        assert task.output() == [("a", 1), ("a", 3)]
        assert task.timers() == []


def test_a_record_without_a_timestamp_is_refused() -> None:
    with (
        windowed(lambda keyed: keyed.window(TUMBLING).reduce(plus)) as task,
        pytest.raises(MissingWatermarksError, match="without a timestamp"),
    ):
        task.process(("a", 1))


# Sessions


@BACKENDS
def test_sessions_merge_when_a_record_closes_the_gap(backend: Any) -> None:
    with windowed(lambda keyed: keyed.window(SESSIONS).process(Numbers()), backend=backend) as task:
        task.process(("a", 1), 0)
        task.process(("a", 2), 15)
        task.process(("b", 3), 1)
        assert [timer[:2] for timer in task.timers()] == [(9, "a"), (10, "b"), (24, "a")]
        task.process(("a", 4), 7)  # 0..10, 7..17 and 15..25 overlap
        assert [timer[:2] for timer in task.timers()] == [(10, "b"), (24, "a")]
        task.end_input()
        assert task.output_with_timestamps() == [
            (("b", TimeWindow(1, 11), [3]), 10),
            (("a", TimeWindow(0, 25), [1, 2, 4]), 24),
        ]
        assert not [*task._backend().keys()] and not [*task._backend().in_namespaces.keys()]


@BACKENDS
def test_sessions_merge_with_one_that_has_fired(backend: Any) -> None:
    """Within the allowed lateness: the late record and the session that it extends fire again."""
    with windowed(
        lambda keyed: (
            keyed.window(SESSIONS)
            .allowed_lateness(20)
            .side_output_late_data(LATE)
            .process(Numbers())
        ),
        backend=backend,
    ) as task:
        task.process(("a", 1), 0)
        task.advance_watermark(12)
        task.process(("a", 2), 8)  # 0..18: not past yet
        task.process(("a", 3), 1)
        task.advance_watermark(20)
        task.process(("a", 4), 5)
        task.advance_watermark(37)
        task.process(("a", 5), 5)
        assert task.output() == [
            ("a", TimeWindow(0, 10), [1]),
            ("a", TimeWindow(0, 18), [1, 2, 3]),
            ("a", TimeWindow(0, 18), [1, 2, 3, 4]),
        ]
        assert task.side_output(LATE) == [("a", 5)]
        assert not [*task._backend().keys()] and not [*task._backend().in_namespaces.keys()]


def test_a_session_that_is_late_when_alone_is_not_when_merged() -> None:
    with windowed(
        lambda keyed: keyed.window(SESSIONS).side_output_late_data(LATE).process(Numbers())
    ) as task:
        task.process(("a", 1), 15)
        task.advance_watermark(14)
        task.process(("a", 2), 2)  # 2..12 has ended, nothing holds it
        task.process(("a", 3), 5)  # 5..15 touches 15..25
        task.end_input()
        assert task.side_output(LATE) == [("a", 2)]
        assert task.output() == [("a", TimeWindow(5, 25), [1, 3])]


@BACKENDS
@pytest.mark.parametrize("kind", ["reduce", "aggregate"])
def test_what_sessions_have_reduced_is_merged(backend: Any, kind: str) -> None:
    def build(keyed: Any) -> Any:
        windows = keyed.window(SESSIONS)
        return windows.reduce(plus) if kind == "reduce" else windows.aggregate(Total())

    with windowed(build, backend=backend) as task:
        for number, moment in [(1, 0), (2, 15), (4, 30), (8, 7), (16, 22)]:
            task.process(("a", number), moment)
        task.end_input()
        assert task.output() == [("a", 31) if kind == "reduce" else 31]


@BACKENDS
def test_a_count_is_merged_with_its_sessions(backend: Any) -> None:
    with windowed(
        lambda keyed: keyed.window(SESSIONS).trigger(CountTrigger.of(4)).process(Numbers()),
        backend=backend,
    ) as task:
        for number, moment in [(1, 0), (2, 1), (3, 15)]:
            task.process(("a", number), moment)
        assert task.output() == []
        task.process(("a", 4), 8)
        assert task.output() == [("a", TimeWindow(0, 25), [1, 2, 3, 4])]


def test_sessions_of_processing_time() -> None:
    gap = ProcessingTimeSessionWindows.with_gap(Time.milliseconds(10))
    with windowed(lambda keyed: keyed.window(gap).process(Numbers())) as task:
        for number, now_ms in [(1, 100), (2, 108), (3, 130)]:
            task.advance_processing_time(now_ms)
            task.process(("a", number))
        task.advance_processing_time(140)
        assert task.output() == [
            ("a", TimeWindow(100, 118), [1, 2]),
            ("a", TimeWindow(130, 140), [3]),
        ]
        assert task.timers() == []


def test_windows_of_processing_time() -> None:
    ten = TumblingProcessingTimeWindows.of(Time.milliseconds(10))
    with windowed(lambda keyed: keyed.window(ten).process(Numbers())) as task:
        for number, now_ms in [(1, 101), (2, 108), (3, 110)]:
            task.advance_processing_time(now_ms)
            task.process(("a", number), 5)
        assert task.output_with_timestamps() == [(("a", TimeWindow(100, 110), [1, 2]), 109)]
        task.advance_watermark(1 << 50)
        assert len(task.output()) == 1
        task.advance_processing_time(119)
        assert task.output()[1:] == [("a", TimeWindow(110, 120), [3])]


# Windows that count


@BACKENDS
def test_count_windows_keep_nothing_after_they_fired(backend: Any) -> None:
    with windowed(lambda keyed: keyed.count_window(2).process(Numbers()), backend=backend) as task:
        for number in range(5):
            task.process(("a", number), 10 * number)
        assert [numbers for _, _, numbers in task.output()] == [[0, 1], [2, 3]]
        # such a window has no last moment: its results have the time of the record, as in PyFlink
        assert [moment for _, moment in task.output_with_timestamps()] == [10, 30]
        assert len([*task._backend().in_namespaces.keys()]) == 1


def test_count_windows_that_slide_fire_when_full() -> None:
    with windowed(lambda keyed: keyed.count_window(3, 2).process(Numbers())) as task:
        for number in range(8):
            task.process(("a", number))
        assert [numbers for _, _, numbers in task.output()] == [[0, 1, 2], [2, 3, 4], [4, 5, 6]]
        gaps = CountSlidingWindowAssigner.of(2, 3)
    with windowed(lambda keyed: keyed.window(gaps).process(Numbers())) as task:
        for number in range(8):
            task.process(("a", number))
        assert [numbers for _, _, numbers in task.output()] == [[0, 1], [3, 4], [6, 7]]


def test_a_global_window_fires_by_its_trigger_only() -> None:
    with windowed(
        lambda keyed: (
            keyed.window(GlobalWindows.create()).trigger(CountTrigger.of(2)).process(Numbers())
        )
    ) as task:
        for number in range(5):
            task.process(("a", number), number)
        task.end_input()
        assert task.output() == [
            ("a", GlobalWindow.get(), [0, 1]),
            ("a", GlobalWindow.get(), [0, 1, 2, 3]),
        ]


# State in window functions


class Firings(ProcessWindowFunction[Any, Any, str, Any]):
    """How often this window, this key and (by the runtime context) this key have fired."""

    def __init__(self) -> None:
        self.ended: list[Any] = []

    def open(self, runtime_context: Any) -> None:
        self.of_key = runtime_context.get_state(ValueStateDescriptor("of key", Types.INT()))

    def process(self, key: str, context: Any, elements: Any) -> Any:
        of_window = context.window_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        from_records = context.global_state().get_reducing_state(
            ReducingStateDescriptor("all", lambda one, other: one + other, Types.INT())
        )
        of_window.update((of_window.value() or 0) + 1)
        from_records.add(1)
        self.of_key.update((self.of_key.value() or 0) + 1)
        yield (
            key,
            of_window.value(),
            from_records.get(),
            self.of_key.value(),
            context.current_watermark(),
        )

    def clear(self, context: Any) -> None:
        state = context.window_state().get_state(ValueStateDescriptor("fired", Types.INT()))
        assert state.value() is not None, context.window()
        state.clear()


@BACKENDS
def test_state_of_windows_and_of_keys(backend: Any) -> None:
    with windowed(
        lambda keyed: keyed.window(TUMBLING).allowed_lateness(10).process(Firings()),
        backend=backend,
    ) as task:
        for key, moment, watermark in [("a", 1, 9), ("a", 2, 9), ("b", 3, 9), ("a", 11, 19)]:
            task.process((key, 0), moment)
            task.advance_watermark(watermark)
        assert task.output() == [
            ("a", 1, 1, 1, 9),
            ("a", 2, 2, 2, 9),
            ("b", 1, 1, 1, 9),
            ("a", 1, 3, 3, 19),
        ]
        task.end_input()
        assert not [*task._backend().in_namespaces.keys()]


def test_windows_that_merge_have_no_state_of_their_own() -> None:
    with windowed(lambda keyed: keyed.window(SESSIONS).process(Firings())) as task:
        task.process(("a", 0), 1)
        with pytest.raises(PlanError, match="windows that merge"):
            task.end_input()


def test_a_window_function_may_use_a_side_output() -> None:
    class Aside(ProcessWindowFunction[Any, Any, str, Any]):
        def process(self, key: str, context: Any, elements: Any) -> Any:
            yield LATE, len(list(elements))
            yield key

    with windowed(lambda keyed: keyed.window(TUMBLING).process(Aside())) as task:
        task.process(("a", 0), 1)
        task.end_input()
        assert (task.output(), task.side_output(LATE)) == (["a"], [1])


# Of a user's own


class Parity(WindowAssigner[Any, Any]):
    """Windows of a user's own class: odd and even numbers; zero goes nowhere."""

    class Of:
        def __init__(self, rest: int) -> None:
            self.rest = rest

        def max_timestamp(self) -> int:
            return 99 + self.rest

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Parity.Of) and other.rest == self.rest

        def __hash__(self) -> int:
            return self.rest

    def assign_windows(self, element: Any, timestamp: int, context: Any) -> Collection[Any]:
        return [Parity.Of(element[1] % 2)] if element[1] else []

    def get_default_trigger(self, env: Any) -> Trigger[Any, Any]:
        return EventTimeTrigger()

    def get_window_serializer(self) -> Any:
        return None

    def is_event_time(self) -> bool:
        return True


@BACKENDS
def test_an_assigner_of_a_users_own(backend: Any) -> None:
    with windowed(lambda keyed: keyed.window(Parity()).reduce(plus), backend=backend) as task:
        for number in range(6):
            task.process(("a", number), 1)
        task.end_input()
        assert task.output_with_timestamps() == [(("a", 6), 99), (("a", 9), 100)]
        assert late_dropped(task) == 0


class Distinct(Trigger[Any, Any]):
    """Fires when a window has seen three different numbers, and then begins anew."""

    SEEN = ListStateDescriptor("seen", Types.INT())

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        seen = ctx.get_partitioned_state(self.SEEN)
        if element[1] not in seen.get():
            seen.add(element[1])
        if len(seen.get()) < 3:
            return TriggerResult.CONTINUE
        seen.clear()
        ctx.get_metric_group().counter("fired").inc()
        return TriggerResult.FIRE_AND_PURGE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        raise AssertionError("no timer is set")

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.PURGE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.SEEN)

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.get_partitioned_state(self.SEEN).clear()


@BACKENDS
def test_a_trigger_of_a_users_own_with_state_that_merges(backend: Any) -> None:
    with windowed(
        lambda keyed: keyed.window(SESSIONS).trigger(Distinct()).process(Numbers()),
        backend=backend,
    ) as task:
        for number, moment in [(1, 0), (1, 1), (2, 20), (3, 11)]:
            task.process(("a", number), moment)
        assert task.output() == [("a", TimeWindow(0, 30), [1, 1, 2, 3])]
        task.process(("a", 4), 12)
        task.end_input()  # purged without being fired
        assert len(task.output()) == 1
        assert not [*task._backend().in_namespaces.keys()]


class ByValue(Distinct):
    SEEN: Any = ValueStateDescriptor("seen")

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE


def test_state_that_cannot_be_merged_is_refused() -> None:
    with windowed(
        lambda keyed: keyed.window(SESSIONS).trigger(ByValue()).process(Numbers())
    ) as task:
        task.process(("a", 1), 0)
        with pytest.raises(PlanError, match="cannot be merged: it is a value state"):
            task.process(("a", 1), 5)


def test_a_batch_fires_at_its_end() -> None:
    with windowed(lambda keyed: keyed.window(SESSIONS).process(Numbers()), batch=True) as task:
        for number, moment in [(1, 30), (2, 0), (3, 8)]:
            task.process(("a", number), moment)
        task.end_input()
        assert task.output() == [("a", TimeWindow(0, 18), [2, 3]), ("a", TimeWindow(30, 40), [1])]


@pytest.mark.parametrize("clock", ["event", "processing"])
def test_windows_may_start_elsewhere_for_each_key(clock: str) -> None:
    kind: Any = TumblingEventTimeWindows if clock == "event" else TumblingProcessingTimeWindows
    starts: dict[WindowStagger, list[tuple[str, int]]] = {}
    for stagger in WindowStagger:
        assigner = kind.of(Time.milliseconds(100), Time.milliseconds(5), stagger)
        with windowed(lambda keyed, it=assigner: keyed.window(it).process(Numbers())) as task:
            for key, now_ms in [("a", 1037), ("b", 1051), ("a", 1060)]:
                task.advance_processing_time(now_ms)
                task.process((key, 1), now_ms)
            task.advance_processing_time(5000)
            task.end_input()
            starts[stagger] = sorted((key, window.start) for key, window, _ in task.output())
    assert starts[WindowStagger.ALIGNED] == [("a", 1005), ("b", 1005)]
    assert starts[WindowStagger.NATURAL] == [("a", 942), ("a", 1042), ("b", 956)]
    assert {key: (start - 5) % 100 for key, start in starts[WindowStagger.RANDOM]} == {
        key: stable_hash(key) % 100 for key in "ab"
    }


class Late(EventTimeSessionWindows):
    """Sessions that merge by a method of a user's own."""

    merges_touching = False


@settings(max_examples=examples(8))
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9)), max_size=12))
def test_merging_by_the_short_way_is_merging(pieces: list[tuple[int, int]]) -> None:
    short: WindowMapping = {}
    asked: WindowMapping = {}
    merges: list[list[Any]] = [[], []]
    for start, length in pieces:
        window = TimeWindow(start, start + length)
        found = [
            add_window(mapping, assigner, window, lambda *what, to=made: to.append(what))
            for mapping, assigner, made in (
                (short, EventTimeSessionWindows(1), merges[0]),
                (asked, Late(1), merges[1]),
            )
        ]
        assert found[0] == found[1]
    assert [*short.items()] == [*asked.items()]
    assert merges[0] == merges[1]
