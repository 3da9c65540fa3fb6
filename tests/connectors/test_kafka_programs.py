"""Programs that read Kafka, in one process, over a Kafka in memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from headrace.common import Duration, Time, WatermarkStrategy
from headrace.common.serialization import SimpleStringSchema
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
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


@pytest.mark.capability("Backfill from Kafka that hands over to the stream", runners="local")
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


class Alarm(KeyedProcessFunction):
    """A timer at the time of each record."""

    def process_element(self, value: str, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[int]:
        yield timestamp // 1000


@pytest.mark.parametrize("restarts", [False, True])
def test_a_silent_partition_holds_the_watermark_back_unless_it_may_go_idle(
    broker: Broker, restarts: bool
) -> None:
    """A record each second in one partition; one in another, which is silent then; a third empty.

    The second one wakes at 10 s: the watermark waits for it again, until it is idle again.
    """

    def fired(strategy: WatermarkStrategy, seconds: int) -> list[int]:
        steady, silent, _ = broker.create("clicks", 3)
        silent.add(b"early", time_ms=0)
        times = itertools.count()

        def clock() -> int:
            now = next(times)
            steady.add(b"x", time_ms=now * 1000)
            if now == 10:
                silent.add(b"woken", time_ms=8_000)
            return now * 1000

        def alarms(env: StreamExecutionEnvironment) -> DataStream:
            source = KafkaSource(
                bootstrap_servers="fake:9092",
                topics="clicks",
                deserializer=SimpleStringSchema(),
                clients=FakeClients("fake"),
            )
            clicks = env.from_source(source, strategy, "clicks")
            return clicks.key_by(lambda value: 0).process(Alarm())

        backends: Literal["paged", "heap"] = "paged" if restarts else "heap"
        how: dict[str, Any] = {"backends": backends, "restarts": restarts, "key_groups": 1}
        batches = seconds // 2 if restarts else seconds  # a run asks for the time when it starts
        return run_pipeline(alarms, clock=clock, micro_batches=batches, **how).only

    strict = WatermarkStrategy.for_monotonous_timestamps()
    lenient = strict.with_idleness(Duration.of_seconds(3))
    assert fired(strict, 15) == []
    assert fired(lenient, 9)[-1] >= 5
    assert fired(lenient, 12)[-1] <= 10
    assert fired(lenient, 18)[-1] >= 13


def test_what_a_policy_leaves_out_is_among_the_jobs_counters(broker: Broker) -> None:
    (log,) = broker.create("clicks")
    log.add(*(b"%d" % index for index in range(10)))
    times = itertools.count(0, 60_000)

    def clock() -> int:
        now = next(times)
        if now == 120_000:
            log.delete_before(7)
        return now

    def program(env: StreamExecutionEnvironment) -> DataStream:
        source = KafkaSource(
            bootstrap_servers="fake:9092",
            topics="clicks",
            deserializer=SimpleStringSchema(),
            on_missing_offsets="earliest",
            clients=FakeClients("fake"),
        )
        return env.from_source(source, WatermarkStrategy.no_watermarks(), "clicks")

    results = run_pipeline(program, clock=clock, cuts=[3] * 3, micro_batches=2)
    assert results.only == ["0", "1", "2", "7", "8", "9"]
    assert results.counters["numRecordsSkipped"] == 4
