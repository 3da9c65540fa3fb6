"""The metrics of partitions, under the names of Flink's Kafka source."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.serialization import SimpleStringSchema
from headrace.connector import SplitMetrics
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource

READER = ("KafkaSourceReader", None)
SPLITS: dict[str, Any] = {"my-clicks-0@id": ([7, None], 3), "my-clicks-1@id": ([4, 9], None)}


def source(**more: Any) -> KafkaSource:
    made = {"bootstrap_servers": "b:1", "topics": "my-clicks", "deserializer": SimpleStringSchema()}
    return KafkaSource(**{**made, **more})


def partition(number: int) -> tuple[tuple[str, str | None], ...]:
    return READER, ("topic", "my-clicks"), ("partition", str(number))


def test_offsets_and_lags_of_each_partition_and_the_largest_lag() -> None:
    assert source(group_id="g").split_metrics(SPLITS) == [
        SplitMetrics(partition(0), {"currentOffset": 6, "committedOffset": 7, "recordsLag": 3}),
        SplitMetrics(partition(1), {"currentOffset": 3, "committedOffset": 4}),
        SplitMetrics((READER, ("KafkaConsumer", None)), {"records-lag-max": 3}),
    ]


@pytest.mark.parametrize(
    "more", [{}, {"group_id": "g", "properties": {"commit.offsets.on.checkpoint": "false"}}]
)
def test_what_is_not_committed_has_no_metric(more: dict[str, Any]) -> None:
    found = source(**more).split_metrics(SPLITS)
    assert not [each for each in found if "committedOffset" in each.gauges]


def test_each_part_of_a_hybrid_source_has_its_own() -> None:
    first = source(stopping_offsets=KafkaOffsetsInitializer.latest())
    both = HybridSource.builder(first).add_source(source(topics="other")).build()
    found = both.split_metrics({"0:my-clicks-0@id": ([9, 9], 0), "1:other-2@id": ([1, None], 5)})
    assert [each.gauges.get("currentOffset") for each in found] == [8, None, 0, None]
    assert found[2].groups == (READER, ("topic", "other"), ("partition", "2"))
