"""``python -m tests.proof.fault_job FOLDER [KEY=VALUE ...]``: the job of ``fault_table``, on Spark.

It reads text from files or from Kafka, and writes to files or to Kafka exactly once, as
``FOLDER/job.json`` says. Two keyed stages: totals of each account with a timer at the end of each
span of event time, then windows by region over the sums of the spans. It waits where it is to be
struck (``Hold``).
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.common import Configuration, Duration, Encoder, Time, Types, WatermarkStrategy
from headrace.common.serialization import SimpleStringSchema
from headrace.connector import (
    Budget,
    CommitBy,
    Committer,
    CommitterContext,
    JsonValue,
    Pending,
    Progress,
    Sink,
    SinkWriter,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
    WriterContext,
)
from headrace.datastream import (
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.base import DeliveryGuarantee
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import TumblingEventTimeWindows

NAME = "faults"
ACCOUNTS, REGIONS, SPLITS = 24, 4, 3
PER_BATCH = 60
STEP_MS, DISORDER_MS, BOUND_MS, SPAN_MS, WINDOW_MS = 10, 40, 50, 500, 1000
TRANSACTION_TIMEOUT_MS = 6_000
SINKS = ("totals", "windows")
HELD_S = 90.0


def records(seed: int, count: int) -> list[list[str]]:
    """The lines of each split; an account is in one split, so its records have an order."""
    chance = random.Random(seed)
    splits: list[list[str]] = [[] for _ in range(SPLITS)]
    for number in range(count):
        account = chance.randrange(ACCOUNTS)
        moment = number * STEP_MS + chance.randrange(DISORDER_MS)
        line = f"{number} {account} {moment} {chance.randrange(1, 1000)}"
        splits[account % SPLITS].append(line)
    return splits


def expected(lines: Iterable[str]) -> dict[str, Counter[str]]:
    """All that the job writes for such lines, as plain Python has it, by sink."""
    totals: dict[int, list[int]] = defaultdict(list)
    spans: Counter[tuple[int, int]] = Counter()
    written: dict[str, Counter[str]] = {name: Counter() for name in SINKS}
    for line in lines:
        _, account, moment, amount = map(int, line.split())
        totals[account].append(amount)
        count, total = len(totals[account]), sum(totals[account])
        written["totals"][f"{account} {count} {total}"] += 1
        spans[account, (moment // SPAN_MS + 1) * SPAN_MS] += amount
    windows: dict[tuple[int, int], list[int]] = defaultdict(list)
    for (account, end), total in spans.items():
        windows[account % REGIONS, (end - 1) // WINDOW_MS * WINDOW_MS].append(total)
    for (region, begin), sums in windows.items():
        written["windows"][f"{region} {begin} {len(sums)} {sum(sums)}"] += 1
    return written


@dataclass(frozen=True)
class Hold:
    """Moments at which a process waits, so that it can be struck there.

    ``fault_table`` arms a moment with a file. The first process to reach it renames the file, which
    then has its process id, and waits until the file is gone.
    """

    folder: str

    def here(self, moment: str) -> None:
        """Wait, if the moment is armed and no other process has reached it."""
        held = f"{self.folder}/held-{moment}-{os.getpid()}"
        try:
            os.rename(f"{self.folder}/armed-{moment}", held)
        except FileNotFoundError:
            return
        began = time.monotonic()
        while os.path.exists(held):
            if time.monotonic() > began + HELD_S:
                raise TimeoutError(f"nobody ended the wait at {moment!r}")
            time.sleep(0.01)

    @property
    def paused(self) -> bool:
        """Whether no further micro-batch is to be planned for now."""
        return os.path.exists(f"{self.folder}/paused")


class Totals(KeyedProcessFunction):
    """Count and total of an account after each record; at the end of each span its sum."""

    def __init__(self, hold: Hold) -> None:
        self.hold = hold

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))
        self.spans = runtime_context.get_map_state(
            MapStateDescriptor("spans", Types.INT(), Types.INT())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        _, account, moment, amount = value
        self.hold.here("map")
        count, total = (self.count.value() or 0) + 1, (self.total.value() or 0) + amount
        self.count.update(count)
        self.total.update(total)
        end = (moment // SPAN_MS + 1) * SPAN_MS
        self.spans.put(end, (self.spans.get(end) or 0) + amount)
        ctx.timer_service().register_event_time_timer(end - 1)
        yield "total", account, f"{account} {count} {total}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        total = self.spans.get(timestamp + 1)
        self.spans.remove(timestamp + 1)
        yield "span", ctx.get_current_key(), total


class Windows(ProcessWindowFunction[Any, Any, Any, Any]):
    """How many sums of spans a window has, and their sum."""

    def __init__(self, hold: Hold) -> None:
        self.hold = hold

    def process(self, key: Any, context: Any, elements: Any) -> Iterator[str]:
        begin, sums = context.window().start, [each[2] for each in elements]
        self.hold.here("reduce")
        yield f"{key} {begin} {len(sums)} {sum(sums)}"


@dataclass(frozen=True)
class HeldSource(Source):
    """A source whose planning waits."""

    inner: Source
    hold: Hold

    @property
    def bounded(self) -> bool:
        return self.inner.bounded

    @property
    def locator(self) -> str:
        return self.inner.locator

    @property
    def stops_at(self) -> str:
        return self.inner.stops_at

    def stops(self, split: str) -> bool:
        return self.inner.stops(split)

    def enumerator(self, directory: str) -> SplitEnumerator:
        return HeldEnumerator(self.inner.enumerator(directory), self.hold)

    def reader(self) -> SplitReader:
        return self.inner.reader()


@dataclass
class HeldEnumerator(SplitEnumerator):
    inner: SplitEnumerator
    hold: Hold

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        return self.inner.initial(now_ms)

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        self.hold.here("plan")
        if self.hold.paused:
            return Progress(positions)
        return self.inner.advance(positions, budget, now_ms, paused)

    def resume(self, positions: Mapping[str, JsonValue], now_ms: int) -> Mapping[str, JsonValue]:
        return self.inner.resume(positions, now_ms)

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        return self.inner.ranges(start, end, finished)

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        return self.inner.pending(positions)

    def committed(self, positions: Mapping[str, JsonValue]) -> None:
        self.inner.committed(positions)

    def close(self) -> None:
        self.inner.close()


@dataclass(frozen=True)
class HeldSink(Sink):
    """A sink whose writers wait before and after they prepare, and its committer around a commit.

    What commits by task commits while it prepares.
    """

    inner: Sink
    hold: Hold

    @property
    def commits(self) -> CommitBy:
        return self.inner.commits

    @property
    def record_encoder(self) -> Any:
        return self.inner.record_encoder

    @property
    def locator(self) -> str:
        return self.inner.locator

    @property
    def exclusive_name(self) -> str:
        return self.inner.exclusive_name

    @property
    def keeps_state(self) -> bool:
        return self.inner.keeps_state

    def writer(self, context: WriterContext) -> SinkWriter:
        return HeldWriter(self.inner.writer(context), self.hold)

    def committer(self, context: CommitterContext) -> Committer:
        return HeldCommitter(self.inner.committer(context), self.hold)

    def last_batch(self, context: CommitterContext) -> int | None:
        return self.inner.last_batch(context)


@dataclass
class HeldWriter(SinkWriter):
    inner: SinkWriter
    hold: Hold

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        self.inner.write(values, timestamps)

    def prepare_commit(self) -> Any | None:
        self.hold.here("prepare")
        committable = self.inner.prepare_commit()
        self.hold.here("prepared")
        return committable

    def abort(self) -> None:
        self.inner.abort()


@dataclass
class HeldCommitter(Committer):
    inner: Committer
    hold: Hold

    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        self.hold.here("commit")
        self.inner.commit(batch_id, committables)
        self.hold.here("committed")

    def abort(self, batch_id: int, committables: Sequence[Any]) -> None:
        self.inner.abort(batch_id, committables)

    def finish(self) -> None:
        self.inner.finish()

    def snapshot(self, last_batch: int | None = None) -> Iterator[bytes]:
        return self.inner.snapshot(last_batch)

    def restore(self, snapshot: Iterable[bytes]) -> None:
        self.inner.restore(snapshot)


class Key(SimpleStringSchema):
    """The first word of a line."""

    def serialize(self, value: Any) -> bytes:
        return str(value).partition(" ")[0].encode()


def source_of(folder: Path, place: Mapping[str, str]) -> Source:
    """Where the job reads."""
    if "servers" not in place:
        lines = FileSource.for_record_stream_format(
            StreamFormat.text_line_format(), str(folder / "in")
        )
        return lines.build()
    return KafkaSource(
        bootstrap_servers=place["servers"],
        topics=place["in"],
        group_id=place["in"],
        deserializer=SimpleStringSchema(),
        stopping_offsets=KafkaOffsetsInitializer.latest(),
        bounded=False,
    )


def sink_of(folder: Path, place: Mapping[str, str], name: str) -> Sink:
    """Where the job writes."""
    if "servers" not in place:
        path = str(folder / "out" / name)
        return FileSink.for_row_format(path, Encoder.simple_string_encoder()).build()
    serializer = (
        KafkaRecordSerializationSchema.builder()
        .set_topic(place[name])
        .set_key_serialization_schema(Key())
        .set_value_serialization_schema(SimpleStringSchema())
        .build()
    )
    return KafkaSink(
        bootstrap_servers=place["servers"],
        record_serializer=serializer,
        delivery_guarantee=DeliveryGuarantee.EXACTLY_ONCE,
        transactional_id_prefix=place[name],
        properties={"transaction.timeout.ms": str(TRANSACTION_TIMEOUT_MS), "log_level": "0"},
    )


def main() -> None:
    folder = Path(sys.argv[1])
    further = dict(argument.split("=", 1) for argument in sys.argv[2:])
    asked = json.loads((folder / "job.json").read_text())
    place = asked["place"]
    hold = Hold(str(folder))
    settings = {
        "parallelism.default": "2",
        "headrace.source.max-records-per-batch": str(PER_BATCH),
        "execution.checkpointing.dir": str(folder / "checkpoint"),
        "headrace.spark.conf.spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
        **asked["settings"],
        **further,
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    times = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(BOUND_MS))
    timed = times.with_timestamp_assigner(lambda line, before: int(line.split()[2]))
    lines = env.from_source(HeldSource(source_of(folder, place), hold), timed, "lines").uid("lines")
    fields = lines.map(lambda line: tuple(map(int, line.split())))
    results = fields.key_by(lambda each: each[1]).process(Totals(hold)).uid("totals")

    totals = results.filter(lambda each: each[0] == "total").map(lambda each: each[2])
    totals.sink_to(HeldSink(sink_of(folder, place, "totals"), hold)).uid("totals-sink")
    sums = results.filter(lambda each: each[0] == "span")
    windows = (
        sums.key_by(lambda each: each[1] % REGIONS)
        .window(TumblingEventTimeWindows.of(Time.milliseconds(WINDOW_MS)))
        .process(Windows(hold))
        .uid("windows")
    )
    windows.sink_to(HeldSink(sink_of(folder, place, "windows"), hold)).uid("windows-sink")
    env.execute(NAME)


if __name__ == "__main__":
    main()
