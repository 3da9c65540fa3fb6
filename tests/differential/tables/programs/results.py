"""What a program sees of a result."""

from __future__ import annotations

from typing import Any

from pyflink.table.expressions import col


def print_of_a_stream(run: Any) -> None:
    table = run.streaming().from_elements([(1, "pen"), (20, None)], ["id", "item"])
    run.printed(lambda: table.execute().print())


def print_of_a_batch(run: Any) -> None:
    table = run.batch().from_elements([(1, "pen"), (20, None)], ["id", "item"])
    run.printed(lambda: table.execute().print())


def print_of_nothing(run: Any) -> None:
    tables = run.batch()
    table = tables.from_elements([(1, "pen")], ["id", "item"]).where(col("id") > 5)
    run.printed(lambda: table.execute().print())


def print_of_changes(run: Any) -> None:
    table = run.streaming().from_elements([(1, "a"), (2, "a")], ["n", "s"])
    run.printed(lambda: table.group_by(col("s")).select(col("s"), col("n").sum).execute().print())


def a_frame(run: Any) -> None:
    table = run.batch().from_elements([(1, "pen", 0.5), (2, "ink", 1.5)], ["id", "item", "x"])
    frame = table.to_pandas()
    run.say([str(name) for name in frame.columns])
    run.say([[*map(str, row)] for row in frame.itertuples(index=False)])


def a_frame_of_changes(run: Any) -> None:
    table = run.streaming().from_elements([(1, "a"), (2, "a"), (3, "b")], ["n", "s"])
    frame = table.group_by(col("s")).select(col("s"), col("n").sum.alias("n")).to_pandas()
    run.say(sorted([*map(str, row)] for row in frame.itertuples(index=False)))


def schemas(run: Any) -> None:
    table = run.streaming().from_elements([(1, "pen")], ["id", "item"])
    run.say(table.get_schema().get_field_names())
    run.say([str(kind) for kind in table.get_schema().get_field_data_types()])
    run.say([*table.get_resolved_schema().get_column_names()])
    result = table.execute()
    run.say([*result.get_resolved_schema().get_column_names()])


def rows_are_taken_once(run: Any) -> None:
    result = run.batch().from_elements([(1, "pen")], ["id", "item"]).execute()
    run.rows(result)
