"""Programs that read Kafka, in one process, over a Kafka in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import pytest

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.serialization import SimpleStringSchema
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.kafka import (
    BadKafkaRecord,
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
    KafkaTopicPartition,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing import run_pipeline
from tests.connectors.fake_kafka import BROKERS, Broker, FakeClients, Log

BAD = OutputTag("bad")
HOURS = 8
LATEST = KafkaOffsetsInitializer.latest()


@pytest.fixture(autouse=True)
def broker() -> Iterator[Broker]:
    BROKERS["fake"] = Broker()
    yield BROKERS["fake"]
    BROKERS.clear()


class KeyAndValue(KafkaRecordDeserializationSchema):
    def deserialize(self, record: KafkaRecord) -> Any:
        assert record.key is not None and record.value is not None
        return record.key.decode(), int(record.value)


def program(
    env: StreamExecutionEnvironment, stop: KafkaOffsetsInitializer | None = LATEST
) -> dict[str, DataStream]:
    """Sums by key and minute of Kafka's own timestamps."""
    builder = KafkaSource.builder()
    source = (
        (builder if stop is None else builder.set_bounded(stop))
        .set_bootstrap_servers("fake:9092")
        .set_topics("clicks")
        .set_group_id("group")
        .set_deserializer(KeyAndValue())
        .on_error(BAD)
        .set_clients(FakeClients("fake"))
        .build()
    )
    clicks = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "clicks")
    sums = (
        clicks.key_by(lambda pair: pair[0])
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
        .reduce(lambda one, other: (one[0], one[1] + other[1]))
    )
    return {"sums": sums, "bad": clicks.get_side_output(BAD)}


def fill(broker: Broker) -> None:
    """Each partition in the order of time, one of them hours behind the other."""
    for partition, log in enumerate(broker.create("clicks", 2)):
        for second in range(0, 180, 7):
            time_ms = partition * HOURS * 3_600_000 + second * 1000
            log.add(b"%d" % second, name=b"ab"[second % 2 :][:1], time_ms=time_ms, gap=second % 3)
        log.add(b"none", name=b"x", time_ms=time_ms)


def expected() -> list[tuple[str, int]]:
    each = [
        (key, sum(s for s in range(0, 180, 7) if s // 60 == minute and "ab"[s % 2] == key))
        for minute in range(3)
        for key in "ab"
    ]
    return sorted(each * 2)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"mode": "batch"},
        {"cuts": [5] * 20, "backends": "paged", "restarts": True},
        {"cuts": [3] * 30, "key_groups": 4},
    ],
)
def test_windows_of_kafkas_own_time(broker: Broker, how: dict[str, Any]) -> None:
    fill(broker)
    results = run_pipeline(program, **how)
    assert sorted(results["sums"]) == expected()
    assert [
        (b.topic, b.partition, b.raw) for b in sorted(results["bad"], key=lambda b: b.split)
    ] == [
        ("clicks", 0, b"none"),
        ("clicks", 1, b"none"),
    ]
    assert all(isinstance(bad, BadKafkaRecord) for bad in results["bad"])


CLICKS = [KafkaTopicPartition("clicks", partition) for partition in range(2)]


@pytest.mark.parametrize(
    "stop",
    [
        KafkaOffsetsInitializer.offsets({CLICKS[0]: 9, CLICKS[1]: 4}),
        KafkaOffsetsInitializer.timestamp(100_000),
        KafkaOffsetsInitializer.committed_offsets(),
        KafkaOffsetsInitializer.earliest(),
    ],
    ids=lambda stop: stop.text,
)
@pytest.mark.parametrize(
    "how", [{}, {"cuts": [5] * 20, "backends": "paged", "restarts": True}], ids=["whole", "cut"]
)
def test_a_backfill_stops_where_the_stream_began(
    broker: Broker, stop: KafkaOffsetsInitializer, how: dict[str, Any]
) -> None:
    """Then the program goes on there: no record twice, none left out, no window parted."""
    fill(broker)
    began = {("clicks", 0): 12, ("clicks", 1): 7}
    broker.groups.update({("group", place): at for place, at in began.items()})
    found = run_pipeline(program, backfill=lambda env: program(env, stop), **how)
    assert sorted(found["sums"]) == expected()
    assert len(found["bad"]) == 2


def test_the_stream_after_a_backfill_has_no_end(broker: Broker) -> None:
    """It reads what is there, and a partition that was made since, from its beginning."""
    fill(broker)
    stop = KafkaOffsetsInitializer.offsets({CLICKS[0]: 9, CLICKS[1]: 4})

    def stream(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
        broker.topics["clicks"][1].append(Log().add(b"new"))
        return program(env, None)

    found = run_pipeline(stream, backfill=lambda env: program(env, stop), micro_batches=2)
    assert sorted(bad.raw for bad in found["bad"]) == [b"new", b"none", b"none"]


def test_a_backfill_to_committed_offsets_leaves_them(broker: Broker) -> None:
    fill(broker)
    began = {("group", ("clicks", 0)): 12, ("group", ("clicks", 1)): 7}
    broker.groups.update(began)
    run_pipeline(lambda env: program(env, KafkaOffsetsInitializer.committed_offsets()))
    assert broker.groups == began


@pytest.mark.parametrize("mode", ["streaming", "batch"])
def test_a_partition_without_records_ends_too(
    broker: Broker, mode: Literal["streaming", "batch"]
) -> None:
    fill(broker)
    empty = broker.create("other")
    broker.topics["clicks"][1].extend(empty)
    assert sorted(run_pipeline(program, mode)["sums"]) == expected()


def test_one_partition_waits_for_the_other(broker: Broker) -> None:
    """Aligned to a minute of drift: the partition that is ahead is not read further."""
    fill(broker)

    def aligned(env: StreamExecutionEnvironment) -> DataStream:
        source = KafkaSource(
            bootstrap_servers="fake:9092",
            topics="clicks",
            deserializer=SimpleStringSchema(),
            clients=FakeClients("fake"),
        )
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_watermark_alignment(
            "clicks", Duration.of_minutes(1)
        )
        return env.from_source(source, strategy, "clicks")

    read = run_pipeline(aligned, cuts=[4] * 9, micro_batches=9).only
    ahead = len(read) - len({*read})
    assert ahead == 2  # its first share; all others are the slow one's
