"""A job on Spark that is stopped and changed: event time goes on where state moves."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.common.job_client import JobClient
from headrace.common.job_status import JobStatus
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.runners.spark.checkpoint.progress import log_of
from tests.connectors.sqlite_log import SqliteLogSink, SqliteLogSource
from tests.connectors.test_sqlite_log import append, content, make_log

pytestmark = pytest.mark.spark

DELAY_MS = 100


class Reminders(KeyedProcessFunction):
    """A timer 100 ms after each record, or a word on one that is late, with the time it is."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        timers = ctx.timer_service()
        if ctx.timestamp() <= timers.current_watermark():
            yield ["late", *value, timers.current_watermark()]
        else:
            self.seen.update((self.seen.value() or 0) + 1)
            timers.register_event_time_timer(ctx.timestamp() + DELAY_MS)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ["fired", ctx.get_current_key(), timestamp, self.seen.value()]


class Passing(KeyedProcessFunction):
    """Records as they are; each sets a timer of this operator's own."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 1)
        yield value

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield from ()


def started(folder: Path, number: int, deeper: bool) -> JobClient:
    """The n-th run; ``deeper``: with a keyed step before the reminders."""
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": str(number % 3 + 1),
                "execution.checkpointing.dir": str(folder / "check point"),
                "execution.state-recovery.ignore-unclaimed-state": "true",
            }
        )
    )
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[1])
    source = SqliteLogSource(str(folder / "given.db"), bounded=False)
    records = env.from_source(source, times, "log").uid("log")
    if deeper:
        records = records.key_by(lambda v: v[1]).process(Passing()).uid(f"passing {number}")
    reminders = records.key_by(lambda v: v[0]).process(Reminders()).uid("reminders")
    reminders.sink_to(SqliteLogSink(str(folder / "taken.db"))).uid("out")
    return env.execute_async("reminders")


@pytest.mark.timeout(180)
def test_timers_fire_once_at_their_time_after_their_operator_has_moved(tmp_path: Path) -> None:
    """A keyed step comes before it, goes, and comes again; each time some timers are due."""
    make_log(tmp_path / "given.db")
    make_log(tmp_path / "taken.db")
    steps: list[tuple[bool, list[Any], list[Any]]] = [
        (False, [["a", 10], ["b", 20], ["a", 50]], []),
        (True, [["c", 15], ["c", 115]], [["late", "c", 15, 49], ["fired", "a", 110, 2]]),
        (False, [["b", 110], ["a", 121]], [["late", "b", 110, 114], ["fired", "b", 120, 1]]),
        (
            True,
            [["d", 119], ["d", 501]],
            [
                ["late", "d", 119, 120],
                ["fired", "a", 150, 3],
                ["fired", "c", 215, 1],
                ["fired", "a", 221, 3],
            ],
        ),
    ]
    given, expected = 0, list[Any]()
    for number, (deeper, records, results) in enumerate(steps):
        append(tmp_path / "given.db", records, parts=1)
        given += len(records)
        expected += results
        client = started(tmp_path, number, deeper)
        deadline = time.monotonic() + 60
        while read_up_to(tmp_path) <= given:
            assert time.monotonic() < deadline and not client.get_job_execution_result().done()
            time.sleep(0.05)
        client.cancel().result()
        assert sorted(content(tmp_path / "taken.db")) == sorted(expected)


def read_up_to(folder: Path) -> int:
    """The position in the log at the end of the last micro-batch that Spark calls done."""
    ends = []
    for generation in (folder / "check point" / "reminders").glob("spark*"):
        with contextlib.suppress(FileNotFoundError):  # it is removed once another one counts
            log = log_of(str(generation))
            if log.end is not None:
                ends.append(log.end["sources"]["log"]["positions"]["p0"])
    return max(ends, default=0)


RECORDS, KEYS = 1_500, 5


def summing(folder: Path, dealt: bool) -> JobClient:
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "execution.checkpointing.dir": str(folder / "check point"),
                "headrace.source.max-records-per-batch": "100",
            }
        )
    )
    source = SqliteLogSource(str(folder / "given.db"))
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log").uid("log")
    if dealt:
        numbers = numbers.rebalance().map(lambda n: n)
    sums = numbers.map(lambda n: [n % KEYS, 1]).key_by(lambda pair: pair[0]).sum(1).uid("sums")
    sums.sink_to(SqliteLogSink(str(folder / "taken.db"))).uid("out")
    return env.execute_async("sums")


@pytest.mark.timeout(180)
def test_a_cancelled_job_leaves_no_micro_batch_that_another_program_could_not_repeat(
    tmp_path: Path,
) -> None:
    """Its sink commits by task, and the next program brings records to other partitions."""
    make_log(tmp_path / "given.db", range(RECORDS))
    make_log(tmp_path / "taken.db")
    for dealt in (False, True):
        cancel_soon(summing(tmp_path, dealt))
    summing(tmp_path, dealt=False).get_job_execution_result().result()
    written = Counter(map(tuple, content(tmp_path / "taken.db")))
    assert written == Counter((n % KEYS, n // KEYS + 1) for n in range(RECORDS))


def cancel_soon(client: JobClient) -> None:
    """Cancel a job that has done a micro-batch and is about to do others."""
    while "microBatches" not in client.get_accumulators().result():
        assert not client.get_job_execution_result().done()
        time.sleep(0.02)
    client.cancel().result()
    assert client.get_job_status().result() is JobStatus.CANCELED


class Windowed(KeyedProcessFunction):
    """How many records each key has in each 10 ms."""

    def open(self, runtime_context: Any) -> None:
        descriptor = MapStateDescriptor("counts", Types.LONG(), Types.INT())
        self.counts = runtime_context.get_map_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> None:
        end = value - value % 10 + 9
        self.counts.put(end, (self.counts.get(end) or 0) + 1)
        ctx.timer_service().register_event_time_timer(end)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield ctx.get_current_key(), timestamp, self.counts.get(timestamp)


def windows(folder: Path, chained: bool, parallelism: int) -> JobClient:
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": str(parallelism),
                "pipeline.max-parallelism": "8",
                "execution.checkpointing.dir": str(folder / "check point"),
                "headrace.source.max-records-per-batch": "20",
            }
        )
    )
    if not chained:
        env.disable_operator_chaining()
    numbers = env.from_sequence(0, 119).uid("numbers")
    timed = numbers.assign_timestamps_and_watermarks(
        WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n: n)
    )
    counts = timed.key_by(lambda n: n % KEYS).process(Windowed()).uid("windows")
    rows = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    counts.sink_to(rows).uid("out")
    return env.execute_async("windows")


@pytest.mark.timeout(180)
def test_windows_fire_once_whichever_tasks_make_the_watermarks(tmp_path: Path) -> None:
    """Without chaining they are made after an exchange, and timers fire in later micro-batches."""
    for chained, parallelism in ((True, 1), (False, 3), (True, 2)):
        cancel_soon(windows(tmp_path, chained, parallelism))
        logs = map(log_of, map(str, (tmp_path / "check point" / "windows").glob("spark*")))
        assert {log.planned for log in logs} == {None}
    windows(tmp_path, chained=False, parallelism=1).get_job_execution_result().result()
    files = [path for path in (tmp_path / "out").rglob("part-*") if path.is_file()]
    lines = Counter(line for path in files for line in path.read_text().splitlines())
    keys = ((n % KEYS, n - n % 10 + 9) for n in range(120))
    assert lines == Counter(str((*key, count)) for key, count in Counter(keys).items())
