"""The savepoint on Spark: read from a checkpoint, and the beginning of another one."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.errors import CheckpointError
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.savepoints import export_savepoint, start_from_savepoint
from headrace.runners.spark.startup.session import get_session
from headrace.runtime.program import JobProgram, VertexProgram
from headrace.runtime.savepoint.job_state import (
    create_savepoint,
    read_split_states,
    restore_savepoint,
)
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.runtime.state.heap import HeapBackend
from headrace.testing._savepoints import round_trip
from tests.goldens.job import written

pytestmark = pytest.mark.spark

RECORDS, KEYS = 6_000, 40


class Tally(KeyedProcessFunction):
    """What came so far; at the end of each hundred a timer says how many there were."""

    def open(self, runtime_context: Any) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.INT()))
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Iterator[str]:
        self.total.update((self.total.value() or 0) + value)
        self.seen.add(value)
        ctx.timer_service().register_event_time_timer((value // 1_000 + 1) * 1_000)
        yield f"{ctx.get_current_key()} {self.total.value()} {len([*self.seen.get()])}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[str]:
        before = [value for value in self.seen.get() if value < timestamp]
        yield f"{ctx.get_current_key()} before {timestamp}: {len(before)}"


def expected() -> Counter[str]:
    lines: Counter[str] = Counter()
    for key in range(KEYS):
        numbers = range(key, RECORDS, KEYS)
        total = 0
        for count, number in enumerate(numbers, 1):
            total += number
            lines[f"{key} {total} {count}"] += 1
        for end in range(1_000, RECORDS + 1_000, 1_000):
            lines[f"{key} before {end}: {len([n for n in numbers if n < end])}"] += 1
    return lines


def environment(folder: Path, number: int) -> StreamExecutionEnvironment:
    """The n-th run's: another parallelism, another number of key groups, another checkpoint."""
    per_batch = 500 if number < 2 else RECORDS
    return StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": str(number + 1),
                "pipeline.max-parallelism": str((128, 5, 16)[number]),
                "headrace.source.max-records-per-batch": str(per_batch),
                "execution.checkpointing.dir": str(folder / f"checkpoints {number}"),
            }
        )
    )


def build(env: StreamExecutionEnvironment, folder: Path, number: int) -> None:
    """The program; its second version has the operator in another stage."""
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    numbers = env.from_sequence(0, RECORDS - 1).uid("numbers")
    timed = numbers.assign_timestamps_and_watermarks(times)
    if number == 1:
        timed = timed.rebalance().map(lambda v: v)
    tallies = timed.key_by(lambda v: v % KEYS).process(Tally(), Types.STRING()).uid("tally")
    sink = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder()).build()
    tallies.sink_to(sink).uid("files")


def program(folder: Path, number: int) -> JobProgram:
    env = environment(folder, number)
    build(env, folder, number)
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "tallies")


def run_some(folder: Path, number: int) -> None:
    """Run the n-th version for a few micro-batches, and cancel it."""
    env = environment(folder, number)
    build(env, folder, number)
    client = env.execute_async("tallies")
    at_first = None
    deadline = time.monotonic() + 60
    while True:
        assert time.monotonic() < deadline and not client.get_job_execution_result().done()
        found = client.get_accumulators().result().get("microBatches")
        at_first = found if at_first is None else at_first
        if at_first is not None and found >= at_first + 2:
            break
        time.sleep(0.05)
    client.cancel().result()


def scope_of(folder: Path, number: int) -> str:
    metadata = CheckpointMetadata.read(
        CheckpointFolder.of_job(str(folder / f"checkpoints {number}"), "tallies").store
    )
    assert metadata is not None
    return metadata.scope


def records_of(savepoint: Savepoint) -> dict[str, Counter[Any]]:
    """Each table's records, in whatever order and key groups."""
    found: dict[str, Counter[Any]] = {}
    for name in savepoint.manifest.parts:
        table = name.partition("/")[0]
        plain = (
            record._replace(key_group=0) if hasattr(record, "key_group") else record
            for record in savepoint.read(name)
        )
        if table == "timers":
            plain = (record._replace(order=0) for record in plain)
        found.setdefault(table, Counter()).update(map(repr, plain))
    return found


def on_the_heap(savepoint: Savepoint, program: JobProgram) -> Savepoint:
    """The form, read into backends on the heap and written from them."""
    backends: dict[tuple[str, int], HeapBackend] = {}

    def backend_of(vertex: VertexProgram, group: int) -> HeapBackend:
        return backends.setdefault((vertex.id, group), HeapBackend())

    restore_savepoint(savepoint, program, backend_of)
    manifest = savepoint.manifest
    return create_savepoint(
        program, backends, read_split_states(savepoint), manifest.offset, manifest.batch_id
    )


@pytest.mark.timeout(240)
def test_a_job_goes_on_elsewhere_from_its_savepoint(tmp_path: Path) -> None:
    """Twice: with other key groups, partitions and stages. On the heap in between it is equal."""
    run_some(tmp_path, 0)
    spark = get_session({}, None)
    for number in (0, 1):
        base = str(tmp_path / f"checkpoints {number}")
        savepoint = round_trip(export_savepoint(spark, base, program(tmp_path, number)))
        following = program(tmp_path, number + 1)
        there = on_the_heap(savepoint, following)
        for table in ("states", "timers", "splits"):
            assert records_of(there)[table] == records_of(savepoint)[table] != Counter()
        start_from_savepoint(savepoint, str(tmp_path / f"checkpoints {number + 1}"), following)
        with pytest.raises(CheckpointError, match="has a checkpoint already"):
            start_from_savepoint(savepoint, str(tmp_path / f"checkpoints {number + 1}"), following)
        scopes = {scope_of(tmp_path, each) for each in (number, number + 1)}
        assert len(scopes) == 2  # no sink takes its micro-batches for those of the other checkpoint
        if number == 0:
            run_some(tmp_path, 1)
    env = environment(tmp_path, 2)
    build(env, tmp_path, 2)
    env.execute("tallies")
    assert written(tmp_path / "out") == expected()
    assert not (tmp_path / "checkpoints 2" / "tallies" / "restored").exists()
    end = export_savepoint(spark, str(tmp_path / "checkpoints 2"), program(tmp_path, 2))
    assert all(json.loads(json.dumps(s))["ended"] for s in end.manifest.offset["sources"].values())


def test_what_the_program_does_not_claim_is_refused(tmp_path: Path) -> None:
    run_some(tmp_path, 0)
    base = str(tmp_path / "checkpoints 0")
    savepoint = export_savepoint(get_session({}, None), base, program(tmp_path, 0))
    env = environment(tmp_path, 1)
    env.from_sequence(0, RECORDS - 1).uid("numbers").map(str).print()
    other = program_of(StreamGraph.of(env._take_sinks()), env._configuration, "tallies")
    with pytest.raises(CheckpointError, match=r"uid=tally.*its states: seen, total"):
        start_from_savepoint(savepoint, str(tmp_path / "elsewhere"), other)
    assert not (tmp_path / "elsewhere" / "tallies" / "job").exists()
