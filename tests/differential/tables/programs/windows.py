"""Windows of Table.window() by event time."""

from __future__ import annotations

from typing import Any

from pyflink.table.expressions import col, lit, row_interval
from pyflink.table.window import Session, Slide, Tumble

LINES = [
    "ann,1,2024-01-01 00:00:01",
    "bob,5,2024-01-01 00:00:04",
    "ann,2,2024-01-01 00:00:08",
    "ann,4,2024-01-01 00:00:13",
    "bob,7,2024-01-01 00:00:26",
]


def _clicks(run: Any, tables: Any) -> Any:
    (run.folder / "clicks").mkdir()
    (run.folder / "clicks" / "a.csv").write_text("\n".join(LINES) + "\n")
    tables.execute_sql(
        "CREATE TABLE clicks (who STRING, n INT, ts TIMESTAMP(3),"
        " WATERMARK FOR ts AS ts - INTERVAL '1' SECOND)"
        f" WITH ('connector' = 'filesystem', 'path' = '{run.folder}/clicks', 'format' = 'csv')"
    )
    return tables.from_path("clicks")


def tumbling(run: Any) -> None:
    clicks = _clicks(run, run.streaming())
    made = (
        clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"), col("who"))
        .select(col("who"), col("w").start, col("w").end, col("n").sum.alias("total"))
    )
    run.schema(made)
    run.rows(made, sort=True)


def tumbling_of_all_rows(run: Any) -> None:
    clicks = _clicks(run, run.streaming())
    made = (
        clicks.window(Tumble.over(lit(10).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"))
        .select(col("w").start.alias("since"), col("n").sum, col("n").count)
    )
    run.rows(made)


def sliding(run: Any) -> None:
    clicks = _clicks(run, run.streaming())
    window = Slide.over(lit(10).seconds).every(lit(5).seconds).on(col("ts")).alias("w")
    made = clicks.window(window).group_by(col("w")).select(col("w").end, col("n").sum)
    run.rows(made)


def sessions(run: Any) -> None:
    clicks = _clicks(run, run.streaming())
    window = Session.with_gap(lit(6).seconds).on(col("ts")).alias("w")
    made = clicks.window(window).group_by(col("w"), col("who"))
    run.rows(made.select(col("who"), col("w").start, col("w").end, col("n").sum), sort=True)


def in_a_batch(run: Any) -> None:
    clicks = _clicks(run, run.batch())
    window = Tumble.over(lit(10).seconds).on(col("ts")).alias("w")
    made = clicks.window(window).group_by(col("w"), col("who"))
    run.rows(made.select(col("who"), col("w").start, col("n").max), sort=True)


def windows_of_windows(run: Any) -> None:
    clicks = _clicks(run, run.streaming())
    first = (
        clicks.window(Tumble.over(lit(5).seconds).on(col("ts")).alias("w"))
        .group_by(col("w"), col("who"))
        .select(col("who"), col("w").rowtime.alias("at"), col("n").sum.alias("n"))
    )
    made = (
        first.window(Tumble.over(lit(30).seconds).on(col("at")).alias("v"))
        .group_by(col("v"))
        .select(col("v").start, col("n").max, col("n").count)
    )
    run.schema(first)
    run.rows(made)


def wrong_windows(run: Any) -> None:
    clicks = _clicks(run, run.streaming())
    window = Tumble.over(lit(10).seconds).on(col("n")).alias("w")
    run.fails(lambda: clicks.window(window).group_by(col("w")).select(col("n").sum))
    other = Tumble.over(lit(10).seconds).on(col("ts")).alias("w")
    run.fails(lambda: clicks.window(other).group_by(col("who")).select(col("n").sum))


def numbers_of_rows(run: Any) -> None:
    tables = run.streaming()
    (run.folder / "rows").mkdir()
    (run.folder / "rows" / "a.csv").write_text("1,5\n1,6\n2,7\n1,8\n1,9\n2,1\n1,3\n")
    tables.execute_sql(
        "CREATE TABLE arrivals (k INT, n INT, p AS PROCTIME())"
        f" WITH ('connector' = 'filesystem', 'path' = '{run.folder}/rows', 'format' = 'csv')"
    )
    rows = tables.from_path("arrivals")
    two, three = row_interval(2), row_interval(3)
    for length in (
        Tumble.over(two),
        Slide.over(three).every(two),
        Slide.over(two).every(three),
        Slide.over(three).every(row_interval(1)),
    ):
        windowed = rows.window(length.on(col("p")).alias("w"))
        made = windowed.group_by(col("k"), col("w")).select(col("k"), col("n").sum, col("n").count)
        run.rows(made, sort=True)
        run.rows(windowed.group_by(col("w")).select(col("n").sum))
    windowed = rows.window(Tumble.over(two).on(col("p")).alias("w"))
    run.fails(lambda: windowed.group_by(col("w")).select(col("w").start))
    run.fails(
        lambda: (
            rows.window(Tumble.over(two).on(col("n")).alias("w"))
            .group_by(col("w"))
            .select(col("n").sum)
        )
    )
