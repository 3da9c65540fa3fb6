"""The state of a savepoint as tables of Spark: exactly what a job has written."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common import Configuration, Duration, JobClient, Time, Types, WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.errors import ConfigurationError, JobError
from headrace.runners.spark.state_tables import joined_rows
from headrace.runtime.savepoint.arrow import schema_of, to_batches
from headrace.runtime.savepoint.write import export_states
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import MAP, StateKind
from headrace.state import Savepoint
from headrace.state._columns import Changed
from headrace.state._savepoint import _PLACE

pytestmark = pytest.mark.spark

KEYS, EACH = 3, 4
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Sum(ReduceFunction):
    def reduce(self, value1: int, value2: int) -> int:
        return value1 + value2


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
        return a[0] + b[0], a[1] + b[1]


class Keeps(KeyedProcessFunction):
    """One state of each kind."""

    def open(self, runtime_context: Any) -> None:
        of = runtime_context
        row = Types.ROW_NAMED(["name", "at"], [Types.STRING(), Types.LONG()])
        self.last = of.get_state(ValueStateDescriptor("last", row))
        self.untyped = of.get_state(ValueStateDescriptor("untyped", Types.PICKLED_BYTE_ARRAY()))
        self.seen = of.get_list_state(ListStateDescriptor("seen", Types.INT()))
        self.by = of.get_map_state(MapStateDescriptor("by", Types.STRING(), Types.DOUBLE()))
        self.total = of.get_reducing_state(ReducingStateDescriptor("total", Sum(), Types.LONG()))
        self.mean = of.get_aggregating_state(
            AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        from headrace.common.types import Row

        self.last.update(Row(name=f"n{value}", at=value))
        self.untyped.update({"value": value, "of": {1, 2}})
        self.seen.add(value)
        self.by.put(f"at {value}", value / 2)
        self.total.add(value)
        self.mean.add(value)
        ctx.timer_service().register_event_time_timer(1_000 + value)
        yield value


class Ruled(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put(f"rule {value}", value)
        return iter(())


def run(folder: Path, more: int = 0, reads: int | None = None, **settings: Any) -> Savepoint:
    """The savepoint of a job that has read all of its input, with windows and timers open.

    ``more``: so many records more. ``reads``: the number of records that the operator reads.
    """
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "pipeline.max-parallelism": "8",
                "execution.checkpointing.dir": str(folder / f"checkpoint {more}"),
                **settings,
            }
        )
    )
    numbers = [*range(KEYS * EACH + more)]
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)
    waiting = folder / "nothing comes here"
    waiting.mkdir(parents=True, exist_ok=True)
    files = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(waiting))
    endless = files.monitor_continuously(Duration.of_seconds(1)).build()
    none = env.from_source(endless, WatermarkStrategy.no_watermarks(), "none").uid("lines")
    given = env.from_collection(numbers, Types.LONG()).uid("numbers")
    timed = given.union(none.map(int, Types.LONG()))
    keyed = timed.assign_timestamps_and_watermarks(times).key_by(lambda v: f"key {v % KEYS}")
    keyed.process(Keeps(), Types.LONG()).uid("keeps").sink_to(FunctionSink(print)).uid("none")
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(1_000)))
    windows.reduce(Sum()).uid("windows").sink_to(FunctionSink(print)).uid("none either")
    rules = env.from_collection([7, 8], Types.INT()).uid("rules")
    ruled = keyed.connect(rules.broadcast(RULES)).process(Ruled(), Types.LONG()).uid("ruled")
    ruled.sink_to(FunctionSink(print)).uid("nor this")
    client = env.execute_async("keeps")
    deadline = time.monotonic() + 90
    reads = len(numbers) + 2 if reads is None else reads
    while read_by(client, "ruled") < reads:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return Savepoint.load(client.stop_with_savepoint(False, str(folder / "saved")).result())


def read_by(client: JobClient, uid: str) -> float:
    of_subtasks = client.get_metrics().result().get(uid, {}).values()
    return sum(found.get("numRecordsIn", 0) for found in of_subtasks)


def rows(frame: Any, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in frame.select(*columns).collect())


@pytest.mark.timeout(240)
def test_each_kind_of_state_is_a_table(tmp_path: Path) -> None:
    savepoint = run(tmp_path)
    assert savepoint.job == "keeps"
    of_key = {k: [*range(k, KEYS * EACH, KEYS)] for k in range(KEYS)}
    names = {(info.uid, info.name) for info in savepoint.states()}
    assert {("keeps", "last"), ("keeps", "by"), ("ruled", "rules")} <= names

    last = savepoint.read("keeps", "last")
    assert dict(last.dtypes)["value"] == "struct<name:string,at:bigint>"
    ends = {k: of_key[k][-1] for k in of_key}
    assert rows(last, "key", "value.name", "value.at") == [
        (f"key {k}", f"n{end}", end) for k, end in ends.items()
    ]
    found = rows(savepoint.read("keeps", "seen"), "key", "position", "value")
    assert found == [(f"key {k}", i, v) for k in of_key for i, v in enumerate(of_key[k])]
    found = rows(savepoint.read("keeps", "by"), "key", "item", "value")
    assert found == sorted((f"key {k}", f"at {v}", v / 2) for k in of_key for v in of_key[k])
    totals = rows(savepoint.read("keeps", "total"), "key", "value", "namespace", "timestamp_ms")
    assert totals == [(f"key {k}", sum(of_key[k]), None, None) for k in of_key]
    means = rows(savepoint.read("keeps", "mean"), "key", "value")
    assert means == [(f"key {k}", json.dumps([sum(of_key[k]), EACH])) for k in of_key]
    untyped = rows(savepoint.read("keeps", "untyped"), "key", "value")
    assert untyped == [(f"key {k}", repr({"value": e, "of": {1, 2}})) for k, e in ends.items()]

    rules = savepoint.read("ruled", "rules")
    assert rows(rules, "key", "value", "key_group") == [("rule 7", 7, -1), ("rule 8", 8, -1)]
    timers = rows(savepoint.timers("keeps"), "key", "clock", "time_ms")
    assert timers == sorted((f"key {k}", "event", 1_000 + v) for k in of_key for v in of_key[k])
    (window,) = {info.name for info in savepoint.states() if info.uid == "windows"}
    windows = savepoint.read("windows", window)
    assert rows(windows, "key", "namespace", "value") == [
        (f"key {k}", "[0, 1000]", sum(of_key[k])) for k in of_key
    ]
    splits = rows(savepoint.sources(), "split")
    assert splits == [("collection",), ("collection",), ("folder",)]

    one = savepoint.read("keeps", "total", keys=["key 1", "no such key"])
    assert rows(one, "key", "value") == [("key 1", sum(of_key[1]))]
    assert rows(savepoint.read("keeps", "total", keys=[]), "key") == []
    text = savepoint.read("keeps", "last", as_text=True)
    assert rows(text, "key")[0] == ('"key 0"',)

    checkpoint = Savepoint.load(str(tmp_path / "checkpoint 0" / "keeps"))
    assert [*checkpoint.differences(savepoint)] == []
    assert checkpoint.states() == savepoint.states()
    windows = checkpoint.read("windows", window, keys=["key 1"])
    assert rows(windows, "key", "namespace", "value") == [("key 1", "[0, 1000]", sum(of_key[1]))]

    last.createOrReplaceTempView("last")
    over = last.sparkSession.sql("SELECT count(*), max(value.at) FROM last").collect()
    assert [tuple(row) for row in over] == [(KEYS, KEYS * EACH - 1)]

    with pytest.raises(ConfigurationError, match="has no state 'none'") as refused:
        savepoint.read("keeps", "none")
    assert "last" in str(refused.value.hint)
    with pytest.raises(ConfigurationError, match="no operator has the uid 'nobody'"):
        savepoint.timers("nobody")


@pytest.mark.timeout(240)
def test_two_savepoints_are_compared(tmp_path: Path) -> None:
    names = ("one", "same", "other")
    one, same, other = (run(tmp_path / name, int(name == "other")) for name in names)
    assert [*one.differences(same)] == []
    found = [*one.differences(other)]
    assert {difference.key for difference in found} == {'"key 0"'}
    totals = [each for each in found if each.state == "total"]
    added = KEYS * EACH
    before = sum(range(0, added, KEYS))
    assert [(each.first, each.second) for each in totals] == [(str(before), str(before + added))]
    seen = [each for each in found if each.state == "seen"]
    assert [(each.place, each.first, each.second) for each in seen] == [
        (str(EACH), None, str(added))
    ]
    folders = [str(next((tmp_path / name / "saved").iterdir())) for name in names]
    assert headrace("compare", *folders[:2]) == (0, "both have the same state\n")
    code, text = headrace("compare", *folders[1:])
    assert code == 1
    assert f'keeps total key "key 0": {before} -> {before + added}' in text.splitlines()
    code, text = headrace("compare", *folders[1:], "--json")
    assert code == 1 and len(json.loads(text)) == len(found)


@pytest.mark.timeout(240)
def test_commands_show_state(tmp_path: Path) -> None:
    run(tmp_path)
    folder = str(next((tmp_path / "saved").iterdir()))
    code, text = headrace("state", "ls", folder)
    assert code == 0 and "keeps  seen  list  LIST<INT>" in text
    code, text = headrace("state", "show", folder, "keeps", "total", "--json")
    assert code == 0
    totals = {row["key"]: row["value"] for row in json.loads(text)}
    assert totals == {f"key {k}": sum(range(k, KEYS * EACH, KEYS)) for k in range(KEYS)}
    code, text = headrace("state", "get", folder, "keeps", "total", '"key 1"')
    assert (code, json.loads(text)["value"]) == (0, totals["key 1"])
    assert headrace("state", "get", folder, "keeps", "total", '"none"') == (1, "")
    code, text = headrace("state", "timers", folder, "keeps", "--limit", "1000", "--json")
    pending = {(row["key"], row["time_ms"]) for row in json.loads(text)}
    shown = Savepoint.load(folder).timers("keeps").collect()
    assert code == 0 and pending == {(row["key"], row["time_ms"]) for row in shown} != set()
    code, text = headrace("state", "sources", folder, "--json")
    positions = {row["split"]: row["position"] for row in json.loads(text)}
    shown = Savepoint.load(folder).sources().collect()
    assert code == 0 and positions == {row["split"]: row["position"] for row in shown} != {}
    exported = str(tmp_path / "totals")
    assert headrace("state", "export", folder, "keeps", "total", "--to", exported)[0] == 0
    table = pyarrow.parquet.read_table(exported).to_pylist()
    assert {row["key"]: row["value"] for row in table} == totals
    with pytest.raises(JobError, match="already exists"):
        headrace("state", "export", folder, "keeps", "total", "--to", exported)


def headrace(*arguments: str) -> tuple[int, str]:
    """The exit code of a command, and what it printed."""
    done = CliRunner().invoke(app, [*arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_maps_are_compared_by_their_items_not_by_their_order() -> None:
    def records(items: dict[str, int]) -> Any:
        backend = HeapBackend()
        backend.declare("map", StateKind(MAP))
        backend.enter("key")["map"] = items
        batches = to_batches("states", export_states("operator", backend, 0))
        table = pyarrow.Table.from_batches(batches, schema_of("states"))
        return lambda spark: spark.createDataFrame(table)

    one, other = records({"a": 1, "b": 2, "c": 3}), records({"c": 4, "b": 2, "a": 1})
    found = joined_rows(one, other, _PLACE, Changed(), Changed.schema, 10)
    assert [(row["item"], row["first"], row["second"]) for row in found] == [('"c"', "3", "4")]
