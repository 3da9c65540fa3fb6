import functools
import operator
import pickle
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common._unsupported import is_unsupported
from headrace.common.watermark_strategy import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    AssignerWithPeriodicWatermarksWrapper,
    BoundedOutOfOrderness,
    MonotonousTimestamps,
    NoWatermarks,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
)
from headrace.errors import PlanError, TypeMismatchError


class Recorded(WatermarkOutput):
    def __init__(self):
        self.marks = []

    def emit_watermark(self, watermark):
        self.marks.append(watermark.timestamp if isinstance(watermark, Watermark) else watermark)

    def mark_idle(self):
        self.marks.append("idle")

    def mark_active(self):
        self.marks.append("active")


class Punctuated(WatermarkGenerator):
    def on_event(self, event, event_timestamp, output):
        if event == "mark":
            output.emit_watermark(Watermark(event_timestamp))

    def on_periodic_emit(self, output):
        pass


class ByField(TimestampAssigner):
    def __init__(self, field):
        self.field = field

    def extract_timestamp(self, value, record_timestamp):
        return value[self.field]


def run(generator, timestamps):
    output = Recorded()
    for timestamp in timestamps:
        generator.on_event(None, timestamp, output)
        generator.on_periodic_emit(output)
    return output.marks


def test_bounds_of_event_time():
    assert MIN_WATERMARK == -9223372036854775808
    assert MAX_WATERMARK == 9223372036854775807


@pytest.mark.parametrize(
    ("strategy", "marks"),
    [
        (WatermarkStrategy.for_monotonous_timestamps(), [9, 19, 19, 29]),
        (WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)), [4, 14, 14, 24]),
        (
            WatermarkStrategy.for_bounded_out_of_orderness(timedelta(milliseconds=5)),
            [4, 14, 14, 24],
        ),
        (WatermarkStrategy.no_watermarks(), []),
    ],
)
def test_built_in_generators(strategy, marks):
    assert run(strategy.create_generator(), [10, 20, 15, 30]) == marks


def test_nothing_is_emitted_before_the_first_record():
    output = Recorded()
    BoundedOutOfOrderness(5).on_periodic_emit(output)
    MonotonousTimestamps().on_periodic_emit(output)
    NoWatermarks().on_periodic_emit(output)
    assert output.marks == []


@given(
    st.integers(0, 1000),
    st.lists(st.integers(MIN_WATERMARK, MAX_WATERMARK), min_size=1, max_size=20),
    st.data(),
)
def test_a_generator_carried_over_micro_batches_goes_on(bound_ms, timestamps, data):
    cut = data.draw(st.integers(0, len(timestamps)))
    whole = BoundedOutOfOrderness(bound_ms)
    first = BoundedOutOfOrderness(bound_ms)
    marks = run(first, timestamps[:cut])
    marks += run(pickle.loads(pickle.dumps(first)), timestamps[cut:])
    assert marks == run(whole, timestamps)
    assert marks == sorted(marks)
    # No record that came in time with respect to the bound is behind the watermark before it.
    for index, timestamp in enumerate(timestamps[1:]):
        if timestamp >= max(timestamps[: index + 1]) - bound_ms and timestamp > MIN_WATERMARK:
            assert timestamp > marks[index]


def test_own_generators():
    strategy = WatermarkStrategy.for_generator(Punctuated)
    assert strategy.generates_watermarks
    generator, output = strategy.create_generator(), Recorded()
    for event, timestamp in [("a", 1), ("mark", 2), ("b", 3)]:
        generator.on_event(event, timestamp, output)
    assert output.marks == [2]
    assert strategy.create_generator() is not generator
    assert WatermarkStrategy.for_generator(lambda: Punctuated()).create_generator() is not None


@pytest.mark.parametrize("given_factory", [Punctuated(), 3, None])
def test_a_generator_itself_is_refused(given_factory):
    with pytest.raises(PlanError, match="for_generator was given"):
        WatermarkStrategy.for_generator(given_factory)


def test_a_factory_must_make_generators():
    with pytest.raises(TypeMismatchError, match="factory returned 3"):
        WatermarkStrategy.for_generator(lambda: 3).create_generator()


def both(value, record_timestamp):
    return value[0] + (record_timestamp if record_timestamp > 0 else 0)


def named_second(value, record_timestamp=None):
    return value[0] + (record_timestamp if record_timestamp > 0 else 0)


@pytest.mark.parametrize(
    ("assigner", "bare", "after_7"),
    [
        (ByField(0), 5, 5),
        (lambda value: value[0], 5, 5),
        (both, 5, 12),
        (named_second, 5, 12),
        (lambda value, factor=2: value[0] * factor, 10, 10),
        (operator.itemgetter(0), 5, 5),
        (functools.partial(lambda factor, value: value[0] * factor, 3), 15, 15),
        (functools.partial(both), 5, 12),
        (max, 5, 5),
        (lambda *arguments: arguments[0][0], 5, 5),
    ],
)
def test_timestamp_functions_by_signature(assigner, bare, after_7):
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)
    assert strategy.timestamp_of((5,), None) == bare
    assert strategy.timestamp_of((5,), 7) == after_7


def test_a_record_without_timestamp_has_the_lowest():
    seen = []

    class Look(TimestampAssigner):
        def extract_timestamp(self, value, record_timestamp):
            seen.append(record_timestamp)
            return 0

    WatermarkStrategy.no_watermarks().with_timestamp_assigner(Look()).timestamp_of("x", None)
    assert seen == [MIN_WATERMARK]


@pytest.mark.parametrize("assigner", [lambda: 1, lambda a, b, c: 1, 3, b"name", None])
def test_other_functions_are_refused_when_built(assigner):
    with pytest.raises(PlanError):
        WatermarkStrategy.no_watermarks().with_timestamp_assigner(assigner)


class Index:
    def __index__(self):
        return 4


@pytest.mark.parametrize(
    ("extracted", "expected"),
    [
        (3, 3),
        (Index(), 4),
        (datetime(1970, 1, 1, 0, 0, 1), 1000),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1000),
    ],
)
def test_what_an_assigner_may_give(extracted, expected):
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value: extracted)
    assert strategy.timestamp_of("x", None) == expected


@pytest.mark.parametrize("extracted", [1.5, "3", None, True])
def test_what_it_may_not(extracted):
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value: extracted)
    with pytest.raises(TypeMismatchError, match="the timestamp assigner returned") as caught:
        strategy.timestamp_of({"id": 17}, None)
    assert "17" in caught.value.where["record"]


def test_a_strategy_is_a_value():
    plain = WatermarkStrategy.for_monotonous_timestamps()
    full = (
        plain.with_timestamp_assigner(ByField("ts"))
        .with_idleness(Duration.of_minutes(1))
        .with_watermark_alignment("group", Time.seconds(20), timedelta(seconds=2))
    )
    assert plain.idle_timeout_ms is None and plain.alignment is None and plain.timestamp_of is None
    assert full.idle_timeout_ms == 60_000
    assert full.alignment == ("group", 20_000, 2000)
    assert full.generator_factory is plain.generator_factory
    again = pickle.loads(pickle.dumps(full))
    assert again.timestamp_of({"ts": 9}, None) == 9
    assert (again.idle_timeout_ms, again.alignment) == (full.idle_timeout_ms, full.alignment)
    assert plain == WatermarkStrategy.for_monotonous_timestamps()
    assert not WatermarkStrategy.no_watermarks().generates_watermarks


def test_alignment_has_flinks_interval():
    strategy = WatermarkStrategy.no_watermarks().with_watermark_alignment(
        "g", Duration.of_millis(5)
    )
    assert strategy.alignment == ("g", 5, 1000)


@pytest.mark.parametrize(
    "build",
    [
        lambda strategy: strategy.with_idleness(Duration.of_millis(0)),
        lambda strategy: strategy.with_idleness(timedelta(seconds=-1)),
        lambda strategy: strategy.with_watermark_alignment("g", Duration.of_millis(-1)),
        lambda strategy: strategy.with_watermark_alignment("g", *map(Duration.of_millis, (1, 0))),
        lambda strategy: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(-1)),
    ],
)
def test_amounts_out_of_range(build):
    with pytest.raises(PlanError, match="at least"):
        build(WatermarkStrategy.no_watermarks())


@pytest.mark.parametrize("amount", [5, 0, True, 5.0, "5 s", None])
@pytest.mark.parametrize(
    "build",
    [
        WatermarkStrategy.for_bounded_out_of_orderness,
        WatermarkStrategy.no_watermarks().with_idleness,
        lambda amount: WatermarkStrategy.no_watermarks().with_watermark_alignment("g", amount),
    ],
    ids=["out of orderness", "idleness", "alignment"],
)
def test_an_amount_without_a_unit_is_refused(build, amount):
    """As in PyFlink, which takes a ``Duration`` only."""
    with pytest.raises(TypeMismatchError) as caught:
        build(amount)
    assert isinstance(caught.value, TypeError)
    if type(amount) is int:
        assert f"Duration.of_millis({amount})" in caught.value.hint
        assert f"Duration.of_seconds({amount})" in caught.value.hint


def test_the_interval_and_the_group_of_an_alignment_are_checked():
    strategy, drift = WatermarkStrategy.no_watermarks(), Duration.of_millis(1)
    with pytest.raises(TypeMismatchError, match="update interval"):
        strategy.with_watermark_alignment("g", drift, 1000)
    with pytest.raises(TypeMismatchError, match="watermark group"):
        strategy.with_watermark_alignment(drift, drift)


def test_what_wraps_the_jvm_is_declared():
    assert is_unsupported(AssignerWithPeriodicWatermarksWrapper)
