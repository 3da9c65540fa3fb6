"""One source after another, in one process: logs, files, a Kafka in memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Duration, SimpleStringSchema, WatermarkStrategy
from headrace.connector import Budget
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.connectors.hybrid_source import HybridSource
from headrace.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import PlanError
from headrace.testing import run_pipeline
from tests.connectors.fake_kafka import BROKERS, Broker, FakeClients
from tests.pipelines.log import Log

TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: int(v))
LATEST = KafkaOffsetsInitializer.latest()
HOW: list[dict[str, Any]] = [
    {},
    {"mode": "batch"},
    {"cuts": [3] * 30, "backends": "paged", "restarts": True},
    {"cuts": [4] * 30, "restarts": "savepoint", "key_groups": 3},
]


@pytest.fixture(autouse=True)
def broker() -> Iterator[Broker]:
    BROKERS["fake"] = Broker()
    yield BROKERS["fake"]
    BROKERS.clear()


def sums(stream: DataStream) -> DataStream:
    """Of windows that reach over the switches."""
    return (
        stream.map(int)
        .key_by(lambda value: value % 2)
        .window(TumblingEventTimeWindows.of(Duration.of_millis(15)))
        .reduce(lambda one, other: one + other)
    )


def of(*sources: Any) -> Any:
    def build(env: StreamExecutionEnvironment) -> DataStream:
        builder = HybridSource.builder(sources[0])
        for source in sources[1:]:
            builder.add_source(source)
        return sums(env.from_source(builder.build(), TIMES, "hybrid"))

    return build


def whole(numbers: Any) -> list[int]:
    return sorted(run_pipeline(lambda env: sums(env.from_source(Log(numbers), TIMES, "log"))).only)


@pytest.mark.parametrize("how", HOW)
def test_windows_reach_over_the_switch(how: dict[str, Any]) -> None:
    parts = Log(tuple(range(20))), Log(()), Log(tuple(range(20, 47))), Log(tuple(range(47, 60)))
    assert sorted(run_pipeline(of(*parts), **how).only) == whole(tuple(range(60)))


def kafka(stop: KafkaOffsetsInitializer | None) -> KafkaSource:
    return KafkaSource(
        bootstrap_servers="fake:9092",
        topics="numbers",
        deserializer=SimpleStringSchema(),
        stopping_offsets=stop,
        clients=FakeClients("fake"),
    )


def files(folder: Path) -> FileSource:
    for name, numbers in (("a", range(0, 20, 2)), ("b", range(1, 20, 2))):
        (folder / name).write_text("".join(f"{number}\n" for number in numbers))
    return FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder)).build()


@pytest.mark.parametrize("how", HOW)
def test_files_and_then_kafka(broker: Broker, tmp_path: Path, how: dict[str, Any]) -> None:
    for partition, log in enumerate(broker.create("numbers", 2)):
        log.add(*(b"%d" % number for number in range(20 + partition, 60, 2)))
    found = run_pipeline(of(files(tmp_path), kafka(LATEST)), **how)
    assert sorted(found.only) == whole(tuple(range(60)))


def test_kafka_has_no_end(broker: Broker, tmp_path: Path) -> None:
    for partition, log in enumerate(broker.create("numbers", 2)):
        log.add(*(b"%d" % number for number in range(20 + partition, 62, 2)))
    found = run_pipeline(of(files(tmp_path), kafka(None)), micro_batches=2)
    assert sorted(found.only) == whole(tuple(range(60)))  # the window up to 60 has fired


def test_only_the_last_one_is_left_open() -> None:
    """A backfill that stops in the second source: the first has ended, the second goes on."""
    first = Log(tuple(range(20)), stop=20)
    numbers = tuple(range(20, 60))
    backfill = of(first, Log(numbers, stop=13))
    found = run_pipeline(of(first, Log(numbers)), backfill=backfill, cuts=[7] * 20)
    assert sorted(found.only) == whole(tuple(range(60)))


def test_the_last_one_had_nothing_when_it_stopped(broker: Broker) -> None:
    topics = KafkaSource(
        bootstrap_servers="fake:9092",
        topic_pattern="num.*",
        deserializer=SimpleStringSchema(),
        stopping_offsets=LATEST,
        clients=FakeClients("fake"),
    )
    source = HybridSource((Log((1,)), topics))
    first = source.enumerator("")
    ended = first.advance(first.initial(0), Budget(9, 9), 0, frozenset())
    assert ended.ended and not ended.positions
    broker.create("numbers")[0].add(b"2")
    again = source.enumerator("")
    (split,) = again.advance(again.resume({}, 0), Budget(9, 9), 0, frozenset()).finished
    assert split.startswith("1:numbers-0")


def test_what_cannot_follow_each_other(broker: Broker) -> None:
    broker.create("numbers")
    with pytest.raises(PlanError, match="has no end, so no source can come after it"):
        HybridSource.builder(kafka(None)).add_source(Log(())).build()
    with pytest.raises(PlanError, match="cannot be a part"):
        HybridSource.builder(Log(())).add_source("topic").build()  # type: ignore[arg-type]
    assert HybridSource.builder(NumberSequenceSource(1, 3)).build().bounded
