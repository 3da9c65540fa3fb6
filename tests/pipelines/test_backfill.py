"""The property of a backfill: up to any place, and on from there, is one stream.

A run that stops and is not drained keeps state, windows, timers and watermarks; the next run, with
another stop or none, goes on exactly there.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.common.configuration import Configuration
from headrace.common.time import Duration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import CheckpointError, ConfigurationError
from headrace.testing import run_pipeline
from tests.effort import examples

from .generated import Program, programs
from .log import Log
from .running import SETTINGS, check
from .test_property import cuts, small_pieces, spreads

__all__ = ["small_pieces"]  # a fixture

stops = st.lists(st.integers(0, 30), min_size=1, max_size=3)


@settings(max_examples=examples(3))
@given(programs, stops, cuts, spreads, st.sampled_from(["heap", "paged"]))
def test_property_of_backfills(
    program: Program,
    stops: list[int],
    cuts: list[int],
    spreads: list[tuple[int, int]],
    backends: str,
) -> None:
    """Backfill and stream are one stream, which ``check`` compares with the model, as a batch."""
    key_groups, parallelism = spreads[0]
    spread = {"key_groups": key_groups, "parallelism": parallelism}

    def backfill(env: StreamExecutionEnvironment) -> Any:
        given = Configuration.from_dict(SETTINGS)
        return program.build(StreamExecutionEnvironment(given), stops=stops).streams()

    check(program, stops=[None], backfill=backfill)
    check(program, stops=[None], backfill=backfill, cuts=cuts, backends=backends, **spread)
    check(
        program,
        stops=[None],
        backfill=backfill,
        cuts=cuts,
        backends="paged",
        restarts=True,
        **spread,
    )


TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value: value)
A, B = tuple(range(0, 100, 7)), tuple(range(3, 100, 9))


def windows(*stops: int | None) -> Any:
    """Windows of two logs together."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        logs = [
            env.from_source(Log(records, stop), TIMES, name)
            for records, stop, name in zip((A, B), stops, "ab", strict=True)
        ]
        return (
            logs[0]
            .union(logs[1])
            .key_by(lambda value: value % 2)
            .window(TumblingEventTimeWindows.of(Duration.of_millis(20)))
            .reduce(lambda one, other: one + other)
        )

    return build


def test_a_window_stays_open_over_the_stop() -> None:
    """A run that is drained fires it twice: before the stop and after it, its records parted."""
    whole = sorted(run_pipeline(windows(None, None)).only)
    handed_over = run_pipeline(windows(None, None), backfill=windows(8, 4))
    assert sorted(handed_over.only) == whole
    both = run_pipeline(windows(8, 4)).only
    assert sorted(both) != whole[: len(both)]


def test_a_backfill_in_steps() -> None:
    """A later run that stops further on goes on from the first; then it is drained."""
    found = run_pipeline(windows(11, 9), backfill=windows(8, 4)).only
    assert sorted(found) == sorted(run_pipeline(windows(11, 9)).only)


def test_a_stop_that_was_reached_before_gives_an_empty_micro_batch() -> None:
    found = run_pipeline(windows(8, 4), backfill=windows(8, 4))
    assert sorted(found.only) == sorted(run_pipeline(windows(8, 4)).only)
    assert found.micro_batches == 2


def test_a_source_that_was_drained_cannot_be_read_on() -> None:
    """The first log is at its stop while the second is still read; then the stops are others."""
    later = windows(None, None)
    with pytest.raises(CheckpointError, match="an earlier run was drained") as caught:
        run_pipeline(
            windows(2, None), cuts=[6], restarts=True, backends="paged", successors=[later]
        )
    assert caught.value.where["stopped at"] == "2"
    assert "--no-drain" in str(caught.value.hint)


def test_a_batch_keeps_nothing_open() -> None:
    with pytest.raises(ConfigurationError, match="a batch keeps no state"):
        run_pipeline(windows(None, None), "batch", backfill=windows(8, 4))
