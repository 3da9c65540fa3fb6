"""Streams as tables, tables as streams."""

from __future__ import annotations

from typing import Any

from pyflink.common import Row, RowKind, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream.functions import ProcessFunction
from pyflink.table import ChangelogMode, Schema
from pyflink.table.expressions import col

EVENT = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.LONG()])


class Seconds(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value[1]) * 1000


class WithTimestamp(ProcessFunction):
    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        yield f"{value} at {ctx.timestamp()}"


def _events(env: Any, timed: bool = True) -> Any:
    events = env.from_collection([Row("a", 1), Row("b", 2), Row("a", 5)], EVENT)
    if not timed:
        return events
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return events.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(Seconds()))


def _changes(env: Any, *changes: tuple[str, str, int | None]) -> Any:
    kinds = {
        "+I": RowKind.INSERT,
        "-U": RowKind.UPDATE_BEFORE,
        "+U": RowKind.UPDATE_AFTER,
        "-D": RowKind.DELETE,
    }
    rows = []
    for kind, name, n in changes:
        row = Row(name, n)
        row.set_row_kind(kinds[kind])
        rows.append(row)
    return env.from_collection(rows, EVENT)


def _with_timestamps(stream: Any) -> Any:
    return stream.process(WithTimestamp(), Types.STRING())


def _rowtime() -> Schema:
    return (
        Schema.new_builder()
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .watermark("rowtime", "SOURCE_WATERMARK()")
        .build()
    )


def columns_of_the_type(run: Any) -> None:
    env, tables = run.streams()
    table = tables.from_data_stream(_events(env))
    run.schema(table)
    run.records(_with_timestamps(tables.to_data_stream(table)))
    tuples = env.from_collection([(1, "x")], Types.TUPLE([Types.INT(), Types.STRING()]))
    run.schema(tables.from_data_stream(tuples))
    run.rows(tables.from_data_stream(env.from_collection([1, 2], Types.INT())))


def columns_of_a_schema(run: Any) -> None:
    env, tables = run.streams()
    schema = (
        Schema.new_builder()
        .column("n", "BIGINT NOT NULL")
        .column_by_expression("m", "n * 10")
        .column("name", "STRING")
        .build()
    )
    table = tables.from_data_stream(_events(env, False), schema)
    run.schema(table)
    run.rows(table)
    unknown = Schema.new_builder().column("other", "BIGINT").build()
    run.fails(lambda: tables.from_data_stream(_events(env, False), unknown))
    metadata = Schema.new_builder().column_by_metadata("offset", "BIGINT").build()
    run.fails(lambda: tables.from_data_stream(_events(env), metadata).execute().collect())


def names_of_columns(run: Any) -> None:
    env, tables = run.streams()
    events = _events(env, False)
    run.rows(tables.from_data_stream(events, col("n"), col("name").alias("who")))
    run.schema(tables.from_data_stream(events, col("who"), col("number")))
    run.schema(tables.from_data_stream(events, col("who")))
    run.fails(lambda: tables.from_data_stream(events, col("n"), col("nothing")))
    run.fails(lambda: tables.from_data_stream(events, col("x"), col("y"), col("z")))
    run.fails(lambda: tables.from_data_stream(events, (col("n") + 1).alias("m")))


def event_time_by_a_name(run: Any) -> None:
    env, tables = run.streams()
    table = tables.from_data_stream(_events(env), col("name"), col("n"), col("ts").rowtime)
    run.schema(table)
    run.records(_with_timestamps(tables.to_data_stream(table)))


def event_time_of_records(run: Any) -> None:
    env, tables = run.streams()
    table = tables.from_data_stream(_events(env), _rowtime())
    run.records(_with_timestamps(tables.to_data_stream(table)))
    without = tables.to_data_stream(table.select(col("name")))
    run.records(_with_timestamps(without))
    twice = table.select(col("rowtime"), col("rowtime").alias("again"))
    run.fails(lambda: tables.to_data_stream(twice))


def event_time_of_an_expression(run: Any) -> None:
    env, tables = run.streams()
    schema = (
        Schema.new_builder()
        .column_by_expression("ts", "TO_TIMESTAMP_LTZ(n * 500, 3)")
        .watermark("ts", "ts - INTERVAL '1' SECOND")
        .build()
    )
    table = tables.from_data_stream(_events(env, False), schema)
    run.records(_with_timestamps(tables.to_data_stream(table)))


def windows_between_streams(run: Any) -> None:
    env, tables = run.streams()
    tables.create_temporary_view("events", _events(env), _rowtime())
    sums = tables.sql_query(
        "SELECT name, window_time, SUM(n) AS n FROM"
        " TABLE(TUMBLE(TABLE events, DESCRIPTOR(rowtime), INTERVAL '2' SECOND))"
        " GROUP BY name, window_start, window_end, window_time"
    )
    run.records(_with_timestamps(tables.to_data_stream(sums)))


def changes_both_ways(run: Any) -> None:
    env, tables = run.streams()
    stream = _changes(env, ("+I", "a", 1), ("+I", "b", 5), ("-U", "a", 1), ("+U", "a", 2))
    table = tables.from_changelog_stream(stream)
    run.records(tables.to_changelog_stream(table))
    sums = table.group_by(col("name")).select(col("name"), col("n").sum.alias("n"))
    run.records(tables.to_changelog_stream(sums))
    run.fails(lambda: tables.to_data_stream(sums))


def upserts(run: Any) -> None:
    env, tables = run.streams()
    key = (
        Schema.new_builder()
        .column("name", "STRING NOT NULL")
        .column("n", "BIGINT")
        .primary_key("name")
        .build()
    )
    stream = _changes(env, ("+I", "a", 1), ("+U", "b", 5), ("+U", "a", 2), ("-D", "b", None))
    table = tables.from_changelog_stream(stream, key, ChangelogMode.upsert())
    run.records(tables.to_changelog_stream(table))
    run.records(tables.to_changelog_stream(table.select(col("n").sum.alias("n"))))
    run.fails(
        lambda: tables.to_changelog_stream(
            tables.from_changelog_stream(stream, None, ChangelogMode.upsert())
        )
    )


def changes_of_a_mode(run: Any) -> None:
    env, tables = run.streams()
    events = tables.from_data_stream(_events(env, False))
    sums = events.group_by(col("name")).select(col("name"), col("n").sum.alias("n"))
    key = (
        Schema.new_builder()
        .column("name", "STRING NOT NULL")
        .column("n", "BIGINT")
        .primary_key("name")
        .build()
    )
    run.records(tables.to_changelog_stream(sums, key, ChangelogMode.upsert()))
    plain = Schema.new_builder().column("name", "STRING").column("n", "DECIMAL(20, 1)").build()
    run.records(tables.to_changelog_stream(sums, plain))
    run.fails(lambda: tables.to_changelog_stream(sums, plain, ChangelogMode.insert_only()))


def a_target_with_the_timestamp(run: Any) -> None:
    env, tables = run.streams()
    table = tables.from_data_stream(_events(env), _rowtime())
    target = (
        Schema.new_builder()
        .column("name", "STRING")
        .column("n", "BIGINT")
        .column_by_metadata("rowtime", "TIMESTAMP_LTZ(3)")
        .build()
    )
    run.records(_with_timestamps(tables.to_changelog_stream(table, target)))


def in_a_batch(run: Any) -> None:
    env, tables = run.streams(batch=True)
    events = tables.from_data_stream(_events(env, False))
    sums = events.group_by(col("name")).select(col("name"), col("n").sum.alias("n"))
    run.rows(sums, sort=True)
    run.records(tables.to_data_stream(sums.where(col("name") == "a")))
    run.fails(lambda: tables.from_changelog_stream(_changes(env, ("-D", "a", 1))).execute())


def stateful_on_both_sides(run: Any) -> None:
    env, tables = run.streams()
    kept = (
        _events(env, False)
        .key_by(lambda row: row[0], Types.STRING())
        .reduce(lambda one, other: Row(one[0], one[1] + other[1]))
    )
    table = tables.from_data_stream(kept.map(lambda row: row, EVENT))
    sums = table.group_by(col("name")).select(col("name"), col("n").max.alias("n"))
    changes = tables.to_changelog_stream(sums)
    run.records(changes.map(lambda row: f"{row[0]}={row[1]}", Types.STRING()))
