"""PyFlink, process mode with its defaults: JSON is read in the JVM, the rest is Python.

Timestamps are taken after the filter and the join, in the same Python operator's stream: one way
less between JVM and Python for two thirds of the events. Option ``checkpoint``: how often.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyflink.common import Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import (
    AggregateFunction,
    MapFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from pyflink.datastream.formats.json import JsonRowDeserializationSchema
from pyflink.datastream.window import TumblingEventTimeWindows

from bench.peers import flink
from bench.peers.protocol import Task
from bench.ysb.asked import Asked, asked
from bench.ysb.events import VIEW, WINDOW_MS
from bench.ysb.peers.redis_in_python import Campaigns, Results

EVENT = Types.ROW_NAMED(["ad_id", "event_type", "event_time"], [Types.STRING()] * 3)
VIEWED = Types.TUPLE([Types.STRING(), Types.LONG()])
RESULT = Types.TUPLE([Types.STRING(), Types.LONG(), Types.LONG()])


class Joined(MapFunction):
    """The campaign in place of the ad."""

    def __init__(self, url: str) -> None:
        self._url = url

    def open(self, runtime_context: Any) -> None:
        self._campaigns = Campaigns(self._url)

    def map(self, value: Any) -> Any:
        return self._campaigns.of(value[0]), value[1]


class EventTime(TimestampAssigner):
    """The time at which an event happened."""

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1])


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


class WithWindow(ProcessWindowFunction):
    """Campaign, start of the window, views."""

    def process(self, key: str, context: Any, elements: Iterable[int]) -> Iterable[Any]:
        for views in elements:
            yield key, context.window().start, views


class Written(MapFunction):
    """Writes results."""

    def __init__(self, url: str) -> None:
        self._url = url

    def open(self, runtime_context: Any) -> None:
        self._results = Results(self._url)

    def map(self, value: Any) -> Any:
        campaign, window_ms, views = value
        self._results.add(campaign, window_ms, views)
        return campaign, window_ms, views


def build(env: StreamExecutionEnvironment, task: Asked) -> None:
    """Put the job into the environment."""
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(task.brokers)
        .set_topics(task.topic)
        .set_group_id("pyflink")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(
            JsonRowDeserializationSchema.builder().type_info(EVENT).build()
        )
        .build()
    )
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(EventTime())
    views = (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "events")
        .filter(lambda event: event[1] == VIEW)
        .map(lambda event: (event[0], int(event[2])), VIEWED)
        .map(Joined(task.redis), VIEWED)
        .assign_timestamps_and_watermarks(strategy)
    )
    windows = views.key_by(lambda view: view[0], Types.STRING()).window(
        TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS))
    )
    counted = windows.aggregate(Count(), WithWindow(), Types.LONG(), RESULT)
    counted.map(Written(task.redis), RESULT).print()


def settings(task: Asked) -> dict[str, str]:
    """What all of Flink's contenders have, and the jar."""
    values = flink.settings(Task("ysb", 0, 0, "", {}, task.path, task.path))
    urls = [f"file://{path}" for path in task.option("jars", "").split(",")]
    interval = task.option("checkpoint", "10 s")
    own = {"pipeline.jars": ";".join(urls), "execution.checkpointing.interval": interval}
    return {**values, **own}


def main() -> None:
    task = asked()
    flink.use_this_python()
    env = flink.environment(settings(task))
    build(env, task)
    env.execute("ysb")


if __name__ == "__main__":
    main()
