"""The harness for one operator, on either backend."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common import Duration, WatermarkStrategy
from headrace.common._time_domain import TimeDomain
from headrace.common.watermark_strategy import (
    MAX_WATERMARK,
    MIN_WATERMARK,
    WatermarkGenerator,
    WatermarkOutput,
)
from headrace.datastream import (
    MapFunction,
    ProcessFunction,
)
from headrace.errors import (
    PlanError,
)
from headrace.operators.timestamps import TimestampsSpec
from headrace.testing import KeyedHarness, ManualClock, PendingTimer, ProcessHarness
from tests.unit.testing.functions import SMALL, Larger, Ledger, ReportsTime

BACKENDS: list[Any] = ["heap", "paged"]
BY_TIME = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(4))


@pytest.fixture(params=BACKENDS)
def ledger(request: pytest.FixtureRequest) -> KeyedHarness:
    return KeyedHarness(Ledger(), key_by=0, backend=request.param)


# Output


def test_output_side_output_and_timestamps(ledger: KeyedHarness) -> None:
    ledger.process(("a", 9), timestamp=50)
    ledger.process(("b", 1))
    assert ledger.output() == [("a", 9), ("b", 1)]
    assert ledger.output_with_timestamps() == [(("a", 9), 50), (("b", 1), None)]
    assert ledger.side_output(SMALL) == [("b", 1)]
    ledger.clear_output()
    assert ledger.output() == ledger.side_output(SMALL) == []
    ledger.process(("b", 2))
    assert ledger.output() == ledger.side_output(SMALL) == [("b", 2)]


def test_what_the_function_has_counted(ledger: KeyedHarness) -> None:
    ledger.process(("a", 9))
    ledger.clear_output()
    ledger.process(("b", 1))
    ledger.process(("b", 2))
    ledger.advance_watermark(70)
    emitted = 1 + len(ledger.output()) + len(ledger.side_output(SMALL))
    found = ledger.counts()
    assert (found.records_in, found.records_out, found.watermark_ms) == (3, emitted, 70)
    assert (found.state_entries, found.busy_ms) == (2, 0)


def test_what_came_out_stays_what_it_was() -> None:
    class Yielding(ProcessFunction):
        def __init__(self) -> None:
            self.held: list[Any] = []

        def process_element(self, value: Any, ctx: Any) -> Any:
            self.held.append(value)
            yield self.held
            yield SMALL, self.held
            self.held.append("later")

    with ProcessHarness(Yielding()) as harness:
        harness.process(1)
        assert harness.output() == harness.side_output(SMALL) == [[1]]


def test_the_function_gets_a_copy_of_the_record() -> None:
    class Changing(MapFunction):
        def map(self, value: Any) -> Any:
            value["seen"] = True
            return value

    record = {"n": 1}
    harness = ProcessHarness(Changing())
    harness.process(record)
    assert record == {"n": 1}
    assert harness.output() == [{"n": 1, "seen": True}]


# Time


def test_timers_fire_as_event_time_advances(ledger: KeyedHarness) -> None:
    ledger.process(("a", 9), timestamp=50)
    ledger.process(("b", 9), timestamp=40)
    assert ledger.timers() == [
        PendingTimer(50, "b", TimeDomain.EVENT_TIME),
        PendingTimer(60, "a", TimeDomain.EVENT_TIME),
    ]
    ledger.clear_output()
    ledger.advance_watermark(49)
    assert ledger.output() == []
    ledger.advance_watermark(50)
    assert ledger.output_with_timestamps() == [(("b", "EVENT_TIME", 50, 1), 50)]
    ledger.advance_watermark(10)
    assert ledger.watermark == 50
    assert ledger.watermarks() == [49, 50]
    assert ledger.timers() == [PendingTimer(60, "a", TimeDomain.EVENT_TIME)]


def test_timers_fire_as_the_clock_advances(ledger: KeyedHarness) -> None:
    ledger.advance_processing_time(1_000)
    ledger.process(("a", 2000))
    assert ledger.timers() == [PendingTimer(1_500, "a", TimeDomain.PROCESSING_TIME)]
    ledger.clear_output()
    ledger.advance_processing_time(1_499)
    assert ledger.output() == []
    ledger.advance_processing_time(1_500)
    assert ledger.output() == [("a", "PROCESSING_TIME", 1_500, 1)]
    with pytest.raises(PlanError, match="the time to advance by"):
        ledger.advance_processing_time(1_499)
    assert ledger.clock() == 1_500


def test_looking_at_timers_changes_nothing(ledger: KeyedHarness) -> None:
    for key in "cab":
        ledger.process((key, 9), timestamp=5)
    first = ledger.timers()
    assert ledger.timers() == first
    assert [timer.key for timer in first] == ["c", "a", "b"]
    ledger.clear_output()
    ledger.advance_watermark(15)
    assert [result[0] for result in ledger.output()] == ["c", "a", "b"]


def test_a_watermark_strategy_gives_times_and_watermarks() -> None:
    strategy = BY_TIME.with_timestamp_assigner(lambda value: value[1])
    harness = KeyedHarness(Ledger(), key_by=0, watermarks=strategy)
    harness.process(("a", 20))
    assert harness.output_with_timestamps() == [(("a", 20), 20)]
    assert harness.watermark == 15
    harness.process(("a", 10))
    assert harness.watermark == 15
    harness.process(("a", 34))
    assert harness.watermark == 29
    assert harness.timers()[0].time_ms == 30
    assert harness.watermarks() == [15, 29]


def test_a_given_timestamp_counts_where_the_strategy_has_no_assigner() -> None:
    harness = ProcessHarness(ReportsTime(), watermarks=BY_TIME, clock=ManualClock(7))
    harness.process("a", timestamp=30)
    harness.process("b", timestamp=20)
    harness.process("c")
    assert harness.output() == [
        ("a", 30, MIN_WATERMARK, 7),
        ("b", 20, 25, 7),
        ("c", MIN_WATERMARK, 25, 7),
    ]


def test_the_end_of_the_input_is_the_end_of_time(ledger: KeyedHarness) -> None:
    ledger.process(("a", 9), timestamp=50)
    ledger.end_input()
    assert ledger.output()[1:] == [("a", "EVENT_TIME", 60, 1)]
    assert ledger.watermark == MAX_WATERMARK
    ledger.end_input()
    with pytest.raises(PlanError, match="after the end"):
        ledger.process(("a", 9))


def test_an_operator_that_makes_watermarks() -> None:
    class Punctuated(WatermarkGenerator):
        def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
            if event == "mark":
                output.emit_watermark(event_timestamp)

        def on_periodic_emit(self, output: WatermarkOutput) -> None: ...

    harness = ProcessHarness(TimestampsSpec(WatermarkStrategy.for_generator(Punctuated)))
    harness.process("a", timestamp=5)
    harness.process("mark", timestamp=7)
    harness.advance_watermark(100)  # those of the input are replaced
    assert harness.watermarks() == [7]
    harness.end_input()
    assert harness.watermarks() == [7, MAX_WATERMARK]


# State


def test_every_kind_of_state_can_be_looked_at(ledger: KeyedHarness) -> None:
    for amount in (3, 8, 3):
        ledger.process(("a", amount))
    ledger.process(("b", 1))
    assert sorted(ledger.keys()) == ["a", "b"]
    assert ledger.state("last", "a") == 3
    assert ledger.state("all", "a") == [3, 8, 3]
    assert ledger.state("often", "a") == {3: 2, 8: 1}
    assert ledger.state("most", "a") == 8
    assert ledger.state("total", "a") == "total 14"
    assert ledger.state("all", "b") == [1]
    assert ledger.state("last", "nobody") is None
    assert ledger.state("all", "nobody") == []
    assert ledger.state("often", "nobody") == {}
    assert sorted(ledger.keys()) == ["a", "b"]


def test_looking_at_state_changes_nothing(ledger: KeyedHarness) -> None:
    ledger.process(("a", 3))
    ledger.state("all", "a").append("by the test")
    ledger.state("often", "a").clear()
    ledger.process(("a", 4))
    assert ledger.state("all", "a") == [3, 4]
    assert ledger.state("often", "a") == {3: 1, 4: 1}


def test_an_unknown_state_is_reported_with_those_there_are(ledger: KeyedHarness) -> None:
    known = "all, brief, last, most, often, total"
    with pytest.raises(PlanError, match=f"(?s)no state 'first'.* {known}"):
        ledger.state("first", "a")


def test_what_expires_is_gone_by_the_clock(ledger: KeyedHarness) -> None:
    ledger.process(("a", 3))
    ledger.advance_processing_time(99)
    assert ledger.state("brief", "a") == 3
    assert ledger.timers() == []  # the time-to-live's own are not the function's
    ledger.clock.advance(1)
    assert ledger.state("brief", "a") is None
    assert ledger.state("last", "a") == 3


# Going on


@pytest.mark.parametrize("before", BACKENDS)
@pytest.mark.parametrize("after", BACKENDS)
def test_another_harness_goes_on_from_a_snapshot(before: Any, after: Any) -> None:
    first = KeyedHarness(Ledger(), key_by=0, backend=before)
    first.advance_processing_time(100)
    big = [number % 7 - 10**400 for number in range(450)]  # too much for a page
    for number in big:
        first.process(("big", number))
    first.process(("a", 2000), timestamp=50)
    first.advance_watermark(20)
    snapshot = first.snapshot()
    first.process(("a", 1))  # is not in it
    second = KeyedHarness(Ledger(), key_by=0, backend=after)
    second.restore(snapshot)
    assert (second.watermark, second.clock()) == (20, 100)
    assert second.state("all", "big") == big
    assert second.state("all", "a") == [2000]
    assert [timer.time_ms for timer in second.timers()] == [60, 600]
    second.process(("big", 8))
    assert second.state("all", "big") == [*big, 8]
    assert second.state("often", "big") == first.state("often", "big") | {8: 1}
    second.clear_output()
    second.advance_watermark(60)
    second.advance_processing_time(600)
    assert second.output() == [("a", "EVENT_TIME", 60, 1), ("a", "PROCESSING_TIME", 600, 1)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_harness_goes_back_to_its_own_snapshot(backend: Any) -> None:
    strategy = BY_TIME.with_timestamp_assigner(lambda value: value[1])
    harness = KeyedHarness(Ledger(), key_by=0, backend=backend, watermarks=strategy)
    harness.process(("a", 20))
    snapshot = harness.snapshot()
    harness.process(("a", 1000))
    for _ in range(2):
        harness.restore(snapshot)
        assert (harness.watermark, harness.state("all", "a")) == (15, [20])
        # the strategy's generator went back too: it has not seen 1000
        harness.process(("a", 21))
        assert (harness.watermark, harness.state("all", "a")) == (16, [20, 21])


# Batch


def test_a_batch_gives_its_results_at_the_end_in_the_order_of_time() -> None:
    harness = KeyedHarness(Ledger(), key_by=0, batch=True)
    harness.process(("a", 9), timestamp=50)
    harness.process(("a", 8), timestamp=40)
    assert harness.output() == []
    with pytest.raises(PlanError, match="cannot advance to 45"):
        harness.advance_watermark(45)
    harness.end_input()
    assert harness.output() == [
        ("a", 8),
        ("a", 9),
        ("a", "EVENT_TIME", 50, 2),
        ("a", "EVENT_TIME", 60, 2),
    ]


def test_a_reduction_gives_its_last_value_in_a_batch() -> None:
    for batch, expected in ((False, [1, 3, 3]), (True, [3])):
        harness = KeyedHarness(Larger(), key_by=lambda value: "all", batch=batch)
        for value in (1, 3, 2):
            harness.process(value)
        harness.end_input()
        assert harness.output() == expected
