"""Sums by key and second of the numbers of a topic: a module beside the program."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from headrace.common import Duration, SimpleStringSchema, Time, WatermarkStrategy
from headrace.connector import DeliveryGuarantee
from headrace.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.window import TumblingEventTimeWindows


class Sum(ProcessWindowFunction):
    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterator[str]:
        numbers = [each["number"] for each in elements]
        yield json.dumps([key, context.window().start, len(numbers), sum(numbers)])


def build(env: StreamExecutionEnvironment, servers: str, topic: str, output: str) -> None:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(servers)
        .set_topics(topic)
        .set_group_id(output)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_value_only_deserializer(SimpleStringSchema())
        .build()
    )
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(output)
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    sink = (
        KafkaSink.builder()
        .set_bootstrap_servers(servers)
        .set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .set_transactional_id_prefix(output)
        .build()
    )
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(50))
    (
        env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
        .map(json.loads)
        .assign_timestamps_and_watermarks(
            times.with_timestamp_assigner(lambda record: record["at"])
        )
        .key_by(lambda record: record["key"])
        .window(TumblingEventTimeWindows.of(Time.seconds(1)))
        .process(Sum())
        .sink_to(sink)
    )
