"""Watermarks that are made after a keyed stage: each key group has a sequence of its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.functions import KeyedProcessFunction
from headrace.testing import run_pipeline

RECORDS = [(number % 7, number, number * 10) for number in range(60)]
ASCENDING = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda value: value[2]
)


class Through(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        yield value


class Late(KeyedProcessFunction):
    """Lets through what stands after a watermark that it should stand before."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[Any]:
        if value[2] <= ctx.timer_service().current_watermark():
            yield value


def timed_again(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    timed = env.from_collection(RECORDS).assign_timestamps_and_watermarks(ASCENDING)
    keyed = timed.key_by(lambda value: value[0]).process(Through())
    again = keyed.assign_timestamps_and_watermarks(ASCENDING)
    return {
        "by the source's time": keyed.key_by(lambda value: value[0] % 3).process(Late()),
        "by the new time": again.key_by(lambda value: value[0]).process(Late()),
    }


@pytest.mark.parametrize("regroup", [[], [(5, 3), (2, 3), (7, 2)], [(40, 2)]])
def test_no_record_is_late_for_any_reader(regroup: list[tuple[int, int]]) -> None:
    results = run_pipeline(
        timed_again,
        cuts=[5] * 20,
        key_groups=7,
        parallelism=2,
        restarts="savepoint",
        regroup=regroup,
    )
    assert not results["by the source's time"] and not results["by the new time"]


class Alarm(KeyedProcessFunction):
    """Fires 5 ms after each record, by event time."""

    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(value[2] + 5)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[int]:
        yield timestamp


def test_key_groups_that_are_new_and_get_no_records_hold_nobody_back() -> None:
    def alarms(env: StreamExecutionEnvironment) -> DataStream:
        timed = env.from_collection(RECORDS).assign_timestamps_and_watermarks(ASCENDING)
        again = timed.key_by(lambda value: value[0]).process(Through())
        again = again.assign_timestamps_and_watermarks(ASCENDING)
        return again.key_by(lambda value: 0).process(Alarm())

    how: dict[str, Any] = {"cuts": [14] * 4, "key_groups": 7, "restarts": "savepoint"}
    fired = run_pipeline(alarms, micro_batches=4, regroup=[(40, 1)], **how).only
    assert len(fired) >= 40
