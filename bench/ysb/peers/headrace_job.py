"""Headrace. Options: any configuration key as ``conf:<key>``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from bench.ysb.asked import RESULTS, Asked, asked
from bench.ysb.events import ADS, VIEW, WINDOW_MS
from headrace.common import Configuration, Time, WatermarkStrategy
from headrace.common.serialization import DeserializationSchema
from headrace.common.watermark_strategy import TimestampAssigner
from headrace.datastream import (
    AggregateFunction,
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    LookupCache,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.connectors.redis import RedisCommand, RedisLookup, RedisSink
from headrace.datastream.window import TumblingEventTimeWindows


class Json(DeserializationSchema):
    """A dict from JSON."""

    def deserialize(self, data: bytes) -> Any:
        return orjson.loads(data)


class EventTime(TimestampAssigner):
    """The time at which an event happened."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value["event_time"])


class Count(AggregateFunction):
    """How many."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction[Any, Any, Any, Any]):
    """Campaign, start of the window, views."""

    def process(self, key: str, context: Any, elements: Iterable[int]) -> Iterable[Any]:
        for views in elements:
            yield key, context.window().start, views


def is_view(event: dict[str, str]) -> bool:
    """Whether an event counts."""
    return event["event_type"] == VIEW


def projected(event: dict[str, str]) -> tuple[str, int]:
    """Ad and time."""
    return event["ad_id"], int(event["event_time"])


def entry(result: tuple[str, int, int]) -> RedisCommand:
    """What is written for a result."""
    campaign, window, views = result
    fields: dict[str, str | int] = {"campaign": campaign, "window": window, "views": views}
    return RedisCommand.xadd(RESULTS, fields)


STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())


def counted(events: DataStream, lookup: AsyncFunction[Any, Any]) -> DataStream:
    """Campaign, start of the window in ms, views: of events whose times are known."""
    joined = AsyncDataStream.unordered_wait(
        events.filter(is_view).map(projected),
        lookup,
        Time.seconds(60),
        cache=LookupCache(
            key=lambda view: view[0],
            join=lambda view, found: [(campaign, view[1]) for campaign in found],
            max_rows=ADS,
        ),
    )
    windows = joined.key_by(lambda view: view[0]).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
    )
    return windows.aggregate(Count(), WithWindow())


def build(env: StreamExecutionEnvironment, task: Asked) -> None:
    """Put the job into the environment."""
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(task.brokers)
        .set_topics(task.topic)
        .set_group_id("headrace")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(Json())
        .build()
    )
    events = env.from_source(source, STRATEGY, "events")
    counted(events, RedisLookup(task.redis)).sink_to(RedisSink(task.redis, entry))


def main() -> None:
    task = asked()
    settings = {
        "execution.runtime-mode": "STREAMING",
        "parallelism.default": "2",
        "execution.checkpointing.dir": str(task.path / "checkpoints"),
    }
    for name, value in task.options.items():
        if name.startswith("conf:"):
            settings[name.removeprefix("conf:")] = value
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    build(env, task)
    env.execute("ysb")


if __name__ == "__main__":
    main()
