"""Micro-batches that size themselves, on a clock of the test's own."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from headrace.runtime.pacing import Pace, Pacer

PACE = Pace(
    target_ms=5_000,
    max_target_ms=30_000,
    min_records=1_000,
    max_records=2_000_000,
    first_records=50_000,
)


@dataclass
class Engine:
    """An engine whose micro-batches take a fixed time and one per record, fed at a rate."""

    pace: Pace = PACE
    fixed_ms: float = 400.0
    records_per_ms: float = 400.0
    now_ms: float = 0.0
    backlog: float = 0.0
    epoch: int = 0
    batches: list[tuple[int, float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pacer = Pacer(self.pace)

    def run(self, until_ms: float, arriving_per_ms: float) -> None:
        """Micro-batch after micro-batch; ``batches`` gets (records, ms) of each."""
        while self.now_ms < until_ms:
            budget = self.pacer.next_budget(self.epoch, round(self.now_ms))
            taken = min(int(self.backlog), budget)
            if not taken:
                self._pass(10, arriving_per_ms)
                continue
            self.epoch += 1
            self.backlog -= taken
            self.pacer.begin_epoch(self.epoch, round(self.now_ms))
            self.pacer.set_record_count(self.epoch, taken)
            took_ms = self.fixed_ms + taken / self.records_per_ms
            self._pass(took_ms, arriving_per_ms)
            self.batches.append((taken, took_ms))

    def _pass(self, duration_ms: float, arriving_per_ms: float) -> None:
        self.now_ms += duration_ms
        self.backlog += duration_ms * arriving_per_ms


def test_a_backlog_is_read_in_batches_of_the_target() -> None:
    engine = Engine(backlog=50_000_000)
    engine.run(60_000, arriving_per_ms=0)
    lengths = [took_ms for _, took_ms in engine.batches]
    assert lengths[0] < 1_000  # the first output does not wait for a large one
    assert len(lengths) > 8
    assert all(4_500 < took_ms < 5_500 for took_ms in lengths[4:])


def test_a_trickle_is_not_delayed() -> None:
    engine = Engine()
    engine.run(60_000, arriving_per_ms=0.1)
    # Each micro-batch holds what came during the last one.
    assert all(took_ms < engine.fixed_ms + 50 for _, took_ms in engine.batches)
    assert sum(records for records, _ in engine.batches) > 0.1 * 60_000 * 0.95


def test_input_that_doubles_then_halves_is_kept_up_with() -> None:
    engine = Engine()
    engine.run(60_000, arriving_per_ms=150)
    calm = engine.batches[-1][1]
    engine.run(120_000, arriving_per_ms=300)
    busy = engine.batches[-1][1]
    engine.run(180_000, arriving_per_ms=150)
    after = engine.batches[-1][1]
    # fixed / (1 - load): 640 ms at a load of 0.375, 1600 ms at 0.75
    assert calm == pytest.approx(640, rel=0.1)
    assert busy == pytest.approx(1_600, rel=0.1)
    assert after == pytest.approx(640, rel=0.1)


def test_more_than_the_engine_can_do_ends_at_the_target() -> None:
    engine = Engine()
    engine.run(200_000, arriving_per_ms=800)
    assert max(took_ms for _, took_ms in engine.batches) < 1.2 * PACE.target_ms
    assert engine.batches[-1][1] == pytest.approx(PACE.target_ms, rel=0.1)


def test_a_slower_engine_gets_smaller_batches() -> None:
    engine = Engine(backlog=1e9)
    engine.run(60_000, arriving_per_ms=0)
    engine.records_per_ms = 20
    engine.run(200_000, arriving_per_ms=0)
    assert engine.batches[-1][1] == pytest.approx(PACE.target_ms, rel=0.1)


def test_a_large_fixed_price_makes_batches_longer() -> None:
    engine = Engine(backlog=1e9, records_per_ms=100)
    engine.run(60_000, arriving_per_ms=0)
    engine.fixed_ms = 8_000  # the state has grown: every micro-batch reads and writes all of it
    engine.run(400_000, arriving_per_ms=0)
    assert engine.batches[-1][1] == pytest.approx(3 * engine.fixed_ms, rel=0.2)
    engine.fixed_ms = 400
    engine.run(600_000, arriving_per_ms=0)
    assert engine.batches[-1][1] == pytest.approx(PACE.target_ms, rel=0.2)
    engine.fixed_ms = 60_000
    engine.run(3_000_000, arriving_per_ms=0)
    assert engine.batches[-1][1] < 1.5 * (engine.fixed_ms + PACE.max_target_ms)


def test_one_slow_batch_says_little() -> None:
    pacer = Pacer(Pace(5_000, 30_000, 1_000, 2_000_000, 400_000))
    pacer.begin_epoch(1, 0)
    pacer.set_record_count(1, 400_000)
    assert pacer.next_budget(1, 500_000) == 100_000


def test_the_floor_and_the_ceiling_hold() -> None:
    slow, fast = Engine(backlog=1e9, records_per_ms=0.1), Engine(backlog=1e9, records_per_ms=1e6)
    slow.run(1_000_000, arriving_per_ms=0)
    fast.run(30_000, arriving_per_ms=0)
    assert min(records for records, _ in slow.batches) == PACE.min_records
    assert max(records for records, _ in fast.batches) == PACE.max_records


def test_waiting_for_input_is_not_working() -> None:
    pacer = Pacer(PACE)
    pacer.begin_epoch(1, 0)
    pacer.set_record_count(1, 40_000)
    first = pacer.next_budget(1, 1_000)
    # Asked again while nothing is new: the micro-batch has been learned from once.
    assert pacer.next_budget(1, 90_000) == first


def test_what_was_never_sized_teaches_nothing() -> None:
    pacer = Pacer(PACE)
    pacer.begin_epoch(1, 0)
    assert pacer.next_budget(1, 100_000) == PACE.first_records
    pacer.set_record_count(0, 1)
    assert pacer.next_budget(1, 100_000) == PACE.first_records
