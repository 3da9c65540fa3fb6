"""However the wall clock is set while a job runs, what waits for the time goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.common import WatermarkStrategy
from headrace.datastream import DataStream, KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.testing import run_pipeline
from tests.effort import examples

from .jumping_clock import HOUR_MS, JumpingClock, jumps

STEP_MS = 50
PER_SECOND = 40
"""Two records between two readings of the clock."""

DAY_AHEAD = [0, 0, 24 * HOUR_MS, 0, 0, 0, -24 * HOUR_MS]


class Later(KeyedProcessFunction):
    """Gives a record when 300 ms of processing time have passed, with that time."""

    def process_element(self, value: int, ctx: Any) -> None:
        now_ms = ctx.timer_service().current_processing_time()
        ctx.timer_service().register_processing_time_timer(now_ms + 300)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[tuple[int, int]]:
        yield ctx.get_current_key(), ctx.timer_service().current_processing_time()


def later(rate: float | None) -> Callable[[StreamExecutionEnvironment], dict[str, DataStream]]:
    """Numbers, and the same with the time when their timers fired."""

    def program(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        source = DataGeneratorSource(lambda index: index, rate_per_second=rate)
        read = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        return {"read": read, "later": read.key_by(lambda number: number).process(Later())}

    return program


@settings(max_examples=examples(8))
@example(DAY_AHEAD)
@example([-HOUR_MS])
@given(jumps)
def test_timers_fire_and_intervals_pass_as_time_does(jumps: Sequence[int]) -> None:
    """After the last jump there is time for every timer of before, at half speed."""
    before, after = len(jumps) + 2, 2 * 300 // STEP_MS + 6
    clock = JumpingClock(jumps, STEP_MS)
    results = run_pipeline(later(PER_SECOND), micro_batches=before + after, **clock.how)
    # by the rate, since the first micro-batch: no jump makes more of them or fewer
    assert results["read"] == list(range((clock.monotonic_ms - 2 * STEP_MS) * PER_SECOND // 1000))
    fired = [number for number, _ in results["later"]]
    assert len(fired) == len(set(fired))
    assert set(fired) >= set(range(2 * before))
    times = [now_ms for _, now_ms in results["later"]]
    assert times == sorted(times)


@settings(max_examples=examples(3))
@example(DAY_AHEAD)
@given(jumps)
def test_timers_fire_over_restarts_too(jumps: Sequence[int]) -> None:
    """A run knows of its own time only where the clock is behind: here one of two readings."""
    before, after = len(jumps), 2 * 300 // STEP_MS + 2
    results = run_pipeline(
        later(None),
        cuts=[1] * (before + after),
        micro_batches=before + after,
        backends="paged",
        restarts=True,
        **JumpingClock(jumps, STEP_MS).how,
    )
    fired = [number for number, _ in results["later"]]
    assert len(fired) == len(set(fired))
    assert set(fired) >= set(range(before))
    times = [now_ms for _, now_ms in results["later"]]
    assert times == sorted(times)


class Alarm(KeyedProcessFunction):
    """A timer at the time of each record."""

    def process_element(self, value: int, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield timestamp


@settings(max_examples=examples(3))
@example(DAY_AHEAD, 3)
@given(jumps, st.integers(1, 6))
def test_a_split_is_idle_after_its_timeout_and_not_before(jumps: Sequence[int], steps: int) -> None:
    """Two splits of numbers, one of which has nothing for days."""
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n: n)

    def program(env: StreamExecutionEnvironment) -> DataStream:
        silent = DataGeneratorSource(lambda index: index, rate_per_second=1e-6)
        idle = times.with_idleness(timedelta(milliseconds=steps * STEP_MS))
        streams = (
            env.from_source(source, strategy, name)
            for source, strategy, name in (
                (DataGeneratorSource(lambda index: index, rate_per_second=PER_SECOND), times, "a"),
                (silent, idle, "b"),
            )
        )
        one, other = streams
        return one.union(other).key_by(lambda value: 0).process(Alarm())

    def fired(micro_batches: int) -> list[int]:
        clock = JumpingClock(jumps, STEP_MS)
        return run_pipeline(program, micro_batches=micro_batches, **clock.how).only

    assert fired(steps) == []
    assert fired(steps + 1) == list(range(2 * steps - 1))


@settings(max_examples=examples(3))
@example(DAY_AHEAD)
@given(jumps)
def test_a_watched_folder_is_looked_into(tmp_path_factory: Any, jumps: Sequence[int]) -> None:
    folder: Path = tmp_path_factory.mktemp("watched")
    files = iter(range(1000))

    class Writing(JumpingClock):
        def __call__(self) -> int:
            (folder / f"{next(files)}.txt").write_text(f"{self.monotonic_ms}\n")
            return super().__call__()

    def program(env: StreamExecutionEnvironment) -> DataStream:
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
        source = lines.monitor_continuously(timedelta(milliseconds=STEP_MS)).build()
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "folder").map(int)

    batches = len(jumps) // 2 + 3
    clock = Writing(jumps, STEP_MS)
    found = run_pipeline(program, micro_batches=batches, **clock.how).only
    assert found == list(range(0, clock.monotonic_ms, STEP_MS))
