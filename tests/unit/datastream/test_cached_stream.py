"""A cached stream is computed by the first job that needs it, and read by those after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import DataStream, ProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import MissingWatermarksError, PlanError

PAIRS = [("even", 2), ("even", 4), ("odd", 1), ("odd", 3)]


def environment(folder: Path, mode: str = "BATCH") -> StreamExecutionEnvironment:
    settings = {
        "execution.runtime-mode": mode,
        "execution.target": "local",
        "headrace.cache.dir": str(folder / "cache"),
    }
    return StreamExecutionEnvironment(Configuration.from_dict(settings))


def pairs(env: StreamExecutionEnvironment, log: Path, timed: bool = False) -> DataStream:
    """The stream before it is cached; its function writes a line to the log for each record."""
    numbers = env.from_collection([1, 2, 3, 4])
    if timed:
        strategy = WatermarkStrategy.for_monotonous_timestamps()
        numbers = numbers.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda number: number)
        )

    def pair(number: int) -> tuple[str, int]:
        with log.open("a") as file:
            file.write("called\n")
        return "odd" if number % 2 else "even", number

    return numbers.map(pair)


def calls(log: Path) -> int:
    return len(log.read_text().splitlines()) if log.exists() else 0


def collected(stream: DataStream) -> list[Any]:
    results: Any = stream.execute_and_collect()
    with results:
        return sorted(results)


def test_the_second_job_reads_what_the_first_computed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    cached = pairs(environment(tmp_path), log).cache()
    assert collected(cached) == PAIRS
    assert collected(cached.map(lambda pair: pair[1])) == [1, 2, 3, 4]
    assert collected(cached.key_by(lambda pair: pair[0]).sum(1)) == [("even", 6), ("odd", 4)]
    assert calls(log) == 4


def test_within_a_job_it_is_computed_once_and_may_meet_itself(tmp_path: Path) -> None:
    log = tmp_path / "log"
    cached = pairs(environment(tmp_path), log).cache()
    both = cached.map(lambda pair: pair[1]).union(cached.rebalance().map(lambda pair: -pair[1]))
    for _ in range(2):
        assert collected(both) == [-4, -3, -2, -1, 1, 2, 3, 4]
    assert calls(log) == 4


def test_caches_of_caches(tmp_path: Path) -> None:
    log, second_log = tmp_path / "log", tmp_path / "second"
    env = environment(tmp_path)
    first = pairs(env, log).union(pairs(env, log)).cache()
    second = first.map(lambda pair: second_log.open("a").write("called\n") and pair).cache()
    for _ in range(2):
        assert collected(second) == sorted(PAIRS * 2)
    assert collected(first) == sorted(PAIRS * 2)
    assert (calls(log), calls(second_log)) == (8, 8)
    assert "map" not in second.explain().lower()


def test_invalidate_and_close_forget(tmp_path: Path) -> None:
    log, env = tmp_path / "log", environment(tmp_path)
    cached = pairs(env, log).cache()
    collected(cached)
    cached.invalidate()
    assert collected(cached) == PAIRS
    assert calls(log) == 8
    env.close()
    assert not [*(tmp_path / "cache").iterdir()]


def test_a_job_that_fails_keeps_nothing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    cached = pairs(environment(tmp_path), log).cache()
    with pytest.raises(ZeroDivisionError):
        collected(cached.map(lambda pair: pair[1] // 0))
    assert collected(cached) == PAIRS
    made = calls(log)
    assert collected(cached) == PAIRS
    assert calls(log) == made


class WithTime(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield (*value, ctx.timestamp())


def test_event_time_outlives_the_job(tmp_path: Path) -> None:
    cached = pairs(environment(tmp_path), tmp_path / "log", timed=True).cache()
    windows = cached.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(3)).sum(1)
    for _ in range(2):
        assert collected(cached.process(WithTime())) == [(*pair, pair[1]) for pair in PAIRS]
        assert collected(windows) == [("even", 2), ("even", 4), ("odd", 1), ("odd", 3)]


def test_a_stream_without_event_time_has_none_when_it_is_read(tmp_path: Path) -> None:
    cached = pairs(environment(tmp_path), tmp_path / "log").cache()
    for _ in range(2):
        with pytest.raises(MissingWatermarksError):
            collected(cached.window_all(TumblingEventTimeWindows.of(3)).sum(1))
        collected(cached)


def test_a_stream_computes_it_in_each_job(tmp_path: Path) -> None:
    """As PyFlink does."""
    log = tmp_path / "log"
    cached = pairs(environment(tmp_path, "STREAMING"), log).cache()
    for times in (1, 2):
        assert collected(cached) == PAIRS
        assert calls(log) == 4 * times
    assert not (tmp_path / "cache").exists()


def test_an_automatic_mode_keeps_what_has_an_end(tmp_path: Path) -> None:
    log, env = tmp_path / "log", environment(tmp_path, "AUTOMATIC")
    cached = pairs(env, log).cache()
    for _ in range(2):
        assert collected(cached) == PAIRS
    assert calls(log) == 4
    endless = env.from_source(
        DataGeneratorSource(lambda index: index), WatermarkStrategy.no_watermarks(), "endless"
    )
    assert "Cache" not in cached.union(endless).explain()


def test_what_a_cached_stream_is_not_for(tmp_path: Path) -> None:
    stream = pairs(environment(tmp_path), tmp_path / "log")
    with pytest.raises(PlanError, match=r"cache\(\) cannot act on a keyed stream"):
        stream.key_by(lambda pair: pair[0]).cache()
    with pytest.raises(PlanError, match=r"uid\(\) cannot act on a cached stream"):
        stream.cache().uid("cached")
