"""Savepoints that are made from tables: changed ones, and new ones; jobs begin from them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.common.time import Duration
from headrace.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import ConfigurationError, HeadraceError, TypeMismatchError
from headrace.runners.savepoint_folders import is_savepoint
from headrace.runtime.savepoint.folder import StoredSavepoint
from headrace.state import SavepointWriter, spark_session
from tests.spark import test_state_tables as tables

pytestmark = pytest.mark.spark

RESTORE = "execution.state-recovery.path"
LOCAL: dict[str, Any] = {"execution.target": "local"}


def folder_of(savepoints: Path) -> str:
    (folder,) = savepoints.iterdir()
    return str(folder)


@pytest.mark.timeout(240)
def test_state_that_is_read_and_written_is_the_same(tmp_path: Path) -> None:
    before = tables.run(tmp_path, **LOCAL)
    writer = SavepointWriter.from_existing_savepoint(folder_of(tmp_path / "saved"))
    for state in before.states():
        assert state.uid is not None
        pickled = state.type is None or "PICKLED" in state.type
        table = before.read(state.uid, state.name, as_pickle=pickled)
        writer.with_state(state.uid, state.name, table, as_pickle=pickled)
    writer.with_timers("keeps", before.timers("keeps"))
    copy = writer.write(str(tmp_path / "copy"))
    assert [*before.differences(copy)] == []
    timers = [
        tables.rows(each.timers("keeps"), "key", "clock", "time_ms", "key_group")
        for each in (before, copy)
    ]
    assert timers[0] == timers[1] != []
    assert {s.name for s in copy.states()} == {s.name for s in before.states()}


@pytest.mark.timeout(240)
@pytest.mark.parametrize("target", ["local", "spark"])
def test_a_job_continues_with_the_state_that_was_changed(tmp_path: Path, target: str) -> None:
    before = tables.run(tmp_path, **LOCAL)
    total, by = before.read("keeps", "total"), before.read("keeps", "by")
    writer = SavepointWriter.from_existing_savepoint(folder_of(tmp_path / "saved"))
    writer.with_state("keeps", "total", total.selectExpr("key", "value + 1000 AS value"))
    writer.with_state("keeps", "by", by.where("item <> 'at 0'")).remove_state("keeps", "untyped")
    writer.with_state("ruled", "rules", before.read("ruled", "rules").where("value = 7"))
    changed = writer.write(str(tmp_path / "changed"))
    assert "untyped" not in {state.name for state in changed.states()}
    (tmp_path / "nothing comes here" / "but this").write_text(f"{tables.KEYS * tables.EACH}\n")
    restored: dict[str, Any] = {
        RESTORE: str(tmp_path / "changed"),
        "execution.checkpointing.dir": str(tmp_path / "checkpoints of another"),
    }
    after = tables.run(tmp_path, reads=1, **restored, **(LOCAL if target == "local" else {}))
    more = tables.KEYS * tables.EACH  # the one record more, of the key 0
    sums = {k: 1000 + sum(range(k, more, tables.KEYS)) for k in range(tables.KEYS)}
    sums[0] += more
    totals = tables.rows(after.read("keeps", "total"), "key", "value")
    assert totals == [(f"key {k}", total) for k, total in sums.items()]
    items = {row[0] for row in tables.rows(after.read("keeps", "by"), "item")}
    assert items == {f"at {n}" for n in range(1, more + 1)}
    assert tables.rows(after.read("ruled", "rules"), "key") == [("rule 7",)]
    seen = tables.rows(after.read("keeps", "seen", keys=["key 0"]), "position", "value")
    assert seen == [*enumerate(range(0, more + 1, tables.KEYS))]


PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
LAST = ValueStateDescriptor("last", Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()]))
SEEN = ListStateDescriptor("seen", Types.LONG())
COUNTS = MapStateDescriptor("counts", Types.STRING(), Types.LONG())
KEPT = ValueStateDescriptor("kept", Types.LONG())
KEPT.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_days(1)).build())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())


class Shows(KeyedProcessFunction):
    """What the state of a key is, and which timers fire."""

    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(LAST)
        self.seen = runtime_context.get_list_state(SEEN)
        self.counts = runtime_context.get_map_state(COUNTS)
        self.kept = runtime_context.get_state(KEPT)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        last, counts = self.last.value(), sorted(self.counts.items())
        shown = last and (last.name, last.n), [*self.seen.get()], counts, self.kept.value()
        yield f"{ctx.get_current_key()} {shown}"

    def on_timer(self, timestamp: int, ctx: Any) -> Iterator[Any]:
        yield f"{ctx.get_current_key()} at {timestamp}"


class Ruled(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield f"rules {[*ctx.get_broadcast_state(RULES).items()]}"

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        return iter(())


def results(folder: Path, savepoint: str, **settings: str) -> list[str]:
    """What the job yields that begins from a savepoint."""
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "pipeline.max-parallelism": "12",
                "execution.checkpointing.dir": str(folder / "checkpoints"),
                RESTORE: savepoint,
                **settings,
            }
        )
    )
    given = env.from_collection([("a", 1), ("b", 2), ("c", 3)], PAIR).uid("pairs")
    times = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: 50)
    keyed = given.assign_timestamps_and_watermarks(times).key_by(lambda v: v, PAIR)
    shown = keyed.process(Shows(), Types.STRING()).uid("shows")
    none = env.from_collection([], Types.INT()).uid("none").broadcast(RULES)
    ruled = keyed.connect(none).process(Ruled(), Types.STRING()).uid("ruled")
    return sorted(shown.union(ruled).execute_and_collect("bootstrapped"))


@pytest.mark.timeout(240)
def test_jobs_begin_with_state_that_was_made_from_tables(tmp_path: Path) -> None:
    spark = spark_session()
    now_ms = 4_000_000_000_000  # state with a time-to-live has not expired then
    frame = spark.createDataFrame(
        [("a", 1, [5, 3], {"x": 1, "y": 2}), ("b", 2, [], {})],
        "name string, n int, seen array<long>, counts map<string, long>",
    ).selectExpr("struct(name AS f0, n AS f1) AS key", "*")
    rules = spark.createDataFrame(
        [("second", 7, 2), ("first", 8, 1)], "key string, value int, position int"
    )
    made = (
        SavepointWriter.new_savepoint(max_parallelism=8)
        .with_state(
            "shows", LAST, frame.selectExpr("key", "struct(name, n) AS value"), key_type=PAIR
        )
        .with_state("shows", SEEN, frame.selectExpr("key", "seen AS value"), key_type=PAIR)
        .with_state("shows", COUNTS, frame.selectExpr("key", "counts AS value"), key_type=PAIR)
        .with_state(
            "shows",
            KEPT,
            frame.selectExpr("key", "n * 10L AS value", f"{now_ms}L AS timestamp_ms"),
            key_type=PAIR,
        )
        .with_timers(
            "shows", frame.selectExpr("key", "'event' AS clock", "n * 7 AS time_ms"), key_type=PAIR
        )
        .with_broadcast_state("ruled", RULES, rules)
        .with_source_positions("pairs", {"collection": 1})
        .write(str(tmp_path / "made"))
    )
    rows = tables.rows(made.read("shows", "seen", key_type=PAIR), "key.f0", "position", "value")
    assert rows == [("a", 0, 5), ("a", 1, 3)]
    expected = sorted(
        [
            f"{('b', 2)} {(('b', 2), [], [], 20)}",
            f"{('c', 3)} {(None, [], [], None)}",
            f"{('a', 1)} at 7",
            f"{('b', 2)} at 14",
            *(["rules [('first', 8), ('second', 7)]"] * 2),
        ]
    )
    assert results(tmp_path / "local", str(tmp_path / "made"), **LOCAL) == expected
    assert results(tmp_path / "spark", str(tmp_path / "made")) == expected


@pytest.mark.timeout(240)
def test_tables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    frame = spark_session().createDataFrame([(1, 2), (1, 3)], "key long, value long")
    total = ValueStateDescriptor("total", Types.LONG())

    def refused(uid: str, state: Any, table: Any, error: type[HeadraceError], **more: Any) -> str:
        """What is said of a table, in one line."""
        writer = SavepointWriter.new_savepoint()
        if (tmp_path / "first").exists():
            writer = SavepointWriter.from_existing_savepoint(str(tmp_path / "first"))
        with pytest.raises(error) as found:
            writer.with_state(uid, state, table, **more).write(str(tmp_path / "refused"))
        assert not is_savepoint(str(tmp_path / "refused"))
        return str(found.value)

    config, types = ConfigurationError, TypeMismatchError
    said = refused("op", total, frame.selectExpr("*", "1 AS extra"), config)
    assert "the state 'total' of 'op' has the column 'extra'" in said
    assert "has no column 'value'" in refused("op", total, frame.select("key"), config)
    text = frame.selectExpr("key", "string(value) AS value")
    said = refused("op", total, text, types)
    assert "has the type string, not bigint" in said and "cast('bigint')" in said
    assert "no column 'position'" in refused("op", SEEN, frame, config)
    said = refused("op", COUNTS, frame.selectExpr("key", "map(1L, value) AS value"), types)
    assert (
        "the column 'item' of the table of the state 'counts' of 'op' has the type bigint" in said
    )
    assert "no column 'timestamp_ms'" in refused("op", KEPT, frame, config)
    assert "two rows of the table are for this key" in refused("op", total, frame, config)
    nulls = frame.selectExpr("key", "nullif(value, 2) AS value")
    assert "the column 'value' has a null" in refused("op", total, nulls, types)
    pairs = frame.selectExpr("struct(key AS f0) AS key", "value")
    said = refused("op", total, pairs, types)
    assert "has the type struct<f0:bigint>" in said and "key_type" in said
    untyped = ValueStateDescriptor("any", Types.PICKLED_BYTE_ARRAY())
    assert "is not declared, or SQL does not have it" in refused("op", untyped, frame, types)

    one = frame.where("value = 2")
    SavepointWriter.new_savepoint().with_state("op", total, one).write(str(tmp_path / "first"))
    said = refused("op", total, one.selectExpr("string(key) AS key", "value"), types)
    assert "the column 'key' of the table of the state 'total' of 'op' has the type string" in said

    # An operator that was left out, and is there again, has nothing of what it had.
    writer = SavepointWriter.from_existing_savepoint(str(tmp_path / "first"))
    kept = writer.remove_operator("op").with_state("op", LAST, named(one))
    again = kept.write(str(tmp_path / "again"))
    assert [state.name for state in again.states()] == ["last"]
    stored = StoredSavepoint(str(tmp_path / "again"))
    records = [record for name in stored.manifest.parts for record in stored.read(name)]
    assert [record.state for record in records] == ["last"]


def named(frame: Any) -> Any:
    return frame.selectExpr("key", "struct('x' AS name, int(value) AS n) AS value")
