"""State without keys on Spark: a job that stops and goes on with another parallelism."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.common.job_client import JobClient
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.functions import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    ProcessFunction,
    RuntimeContext,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.runners.spark.checkpoint.progress import log_of
from tests.connectors.sqlite_log import SqliteLogSink, SqliteLogSource
from tests.connectors.test_sqlite_log import append, content, make_log

pytestmark = pytest.mark.spark

GIVE_OUT = -1


class Waiting(ProcessFunction, CheckpointedFunction):
    """Stores its records until a record asks for all of them."""

    def __init__(self) -> None:
        self.waiting: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting", Types.LONG()))
        self.waiting += self.state.get()

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        if value != GIVE_OUT:
            self.waiting.append(value)
            return
        yield from ([number, self.subtask] for number in self.waiting)
        self.waiting.clear()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.waiting)


def started(folder: Path, parallelism: int) -> JobClient:
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": str(parallelism),
                "execution.checkpointing.dir": str(folder / "checkpoint"),
            }
        )
    )
    source = SqliteLogSource(str(folder / "given.db"), bounded=False)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "log").uid("log")
    numbers = records.map(lambda value: value[0], Types.LONG()).map_batches(
        lambda batch: batch.set_column(0, "value", pc.add(batch["value"], 0)), Types.LONG()
    )
    waiting = numbers.process(Waiting()).uid("waiting")
    waiting.sink_to(SqliteLogSink(str(folder / "taken.db"))).uid("out")
    return env.execute_async("waiting")


@pytest.mark.timeout(180)
def test_elements_are_shared_out_among_the_instances_of_another_parallelism(tmp_path: Path) -> None:
    make_log(tmp_path / "given.db")
    make_log(tmp_path / "taken.db")
    given = 0
    for parallelism, records in ((3, range(8)), (1, [8, 9]), (2, [GIVE_OUT] * 8)):
        append(tmp_path / "given.db", [[number, 0] for number in records], parts=1)
        given += len(records)
        client = started(tmp_path, parallelism)
        deadline = time.monotonic() + 60
        while read_up_to(tmp_path) <= given:
            assert time.monotonic() < deadline and not client.get_job_execution_result().done()
            time.sleep(0.05)
        client.cancel().result()
    taken = sorted(content(tmp_path / "taken.db"))
    assert [number for number, _ in taken] == [*range(10)]
    # One instance had all of them, and each of the two has got half.
    assert sorted(subtask for _, subtask in taken) == [0] * 5 + [1] * 5


def read_up_to(folder: Path) -> int:
    """The position in the log at the end of the last micro-batch that Spark calls done."""
    # The last of Spark's folders: the one before goes while the job runs.
    generations = sorted((folder / "checkpoint" / "waiting").glob("spark*"))
    end = log_of(str(generations[-1])).end if generations else None
    return 0 if end is None else end["sources"]["log"]["positions"]["p0"]


class Echoing(Waiting):
    """Says of each record that it has come."""

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        yield from super().process_element(value, ctx)
        yield [value, "came"]


class Known(ProcessFunction, CheckpointedFunction):
    """Keeps all records in a union list, of which its one instance gets every element."""

    def __init__(self) -> None:
        self.known: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_union_list_state(ListStateDescriptor("known", Types.LONG()))
        self.known += self.state.get()

    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterator[Any]:
        self.known.append(value)
        yield [value, sorted(self.known)]

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.clear()
        self.state.add_all(self.known)


def started_from(
    folder: Path, number: int, parallelism: int, target: str, savepoint: str | None
) -> JobClient:
    settings = {
        "parallelism.default": str(parallelism),
        "execution.target": target,
        "execution.checkpointing.dir": str(folder / f"checkpoint {number}"),
    }
    if savepoint is not None:
        settings["execution.state-recovery.path"] = savepoint
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    source = SqliteLogSource(str(folder / "given.db"), bounded=False)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "log").uid("log")
    numbers = records.map(lambda value: value[0], Types.LONG())
    waiting = numbers.process(Echoing()).uid("waiting")
    waiting.sink_to(SqliteLogSink(str(folder / "taken.db"))).uid("out")
    known = numbers.process(Known()).uid("known")
    known.sink_to(SqliteLogSink(str(folder / "known.db"))).uid("out known")
    return env.execute_async("lists")


@pytest.mark.timeout(300)
def test_lists_go_from_spark_to_the_local_runner_and_back(tmp_path: Path) -> None:
    """By savepoints, with another parallelism each time; a union list is whole each time."""
    for name in ("given", "taken", "known"):
        make_log(tmp_path / f"{name}.db")
    rounds: list[tuple[str, int, list[int]]] = [
        ("spark", 3, [*range(8)]),
        ("local", 1, [8, 9]),
        ("spark", 2, [10]),
        ("local", 1, []),
        ("spark", 3, [11, *[GIVE_OUT] * 9]),
    ]
    savepoint, given = None, list[int]()
    for number, (target, parallelism, records) in enumerate(rounds):
        append(tmp_path / "given.db", [[number, 0] for number in records], parts=1)
        given += records
        client = started_from(tmp_path, number, parallelism, target, savepoint)
        deadline = time.monotonic() + 60
        while any(len(echoes(tmp_path / f"{name}.db")) < len(given) for name in ("taken", "known")):
            assert time.monotonic() < deadline and not client.get_job_execution_result().done()
            time.sleep(0.05)
        savepoint = client.stop_with_savepoint(False, str(tmp_path / "saved")).result()
    came = [number for number, what in content(tmp_path / "taken.db") if what == "came"]
    taken = [number for number, what in content(tmp_path / "taken.db") if what != "came"]
    assert sorted(came) == sorted(given) and sorted(taken) == [*range(12)]
    known = {number: listed for number, listed in content(tmp_path / "known.db")}
    for number in range(12):
        assert [*range(number)] == [each for each in known[number] if 0 <= each < number]
    assert len(max(known.values(), key=len)) == len(given)


def echoes(log: Path) -> list[Any]:
    return [number for number, what in content(log) if what == "came" or isinstance(what, list)]
