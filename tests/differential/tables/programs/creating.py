"""Tables from values, DataFrames, statements and descriptors."""

from __future__ import annotations

import array
import datetime
import decimal
from typing import Any

from pyflink.table import DataTypes, Row, Schema, TableDescriptor
from pyflink.table.expressions import col, lit, row


def from_elements_with_names(run: Any) -> None:
    tables = run.streaming()
    table = tables.from_elements([(1, "pen", 2.5), (2, "ink", 7.0)], ["id", "item", "price"])
    run.schema(table)
    run.rows(table)


def from_elements_without_names(run: Any) -> None:
    table = run.streaming().from_elements([(1, "pen"), (2, "ink")])
    run.schema(table)
    run.rows(table)


def from_elements_with_a_row_type(run: Any) -> None:
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.INT()),
            DataTypes.FIELD("tags", DataTypes.ARRAY(DataTypes.STRING())),
            DataTypes.FIELD("sizes", DataTypes.MAP(DataTypes.STRING(), DataTypes.INT())),
        ]
    )
    table = run.streaming().from_elements([(1, ["a", "b"], {"x": 1}), (2, [], {})], kind)
    run.schema(table)
    run.rows(table)


def from_elements_of_one_type(run: Any) -> None:
    table = run.streaming().from_elements([1, 2, 3], DataTypes.BIGINT())
    run.schema(table)
    run.rows(table)


def from_a_data_frame(run: Any) -> None:
    import pandas as pd

    frame = pd.DataFrame({"n": [1, 2, 3], "x": [0.5, 1.5, 2.5], "s": ["a", "b", "c"]})
    tables = run.streaming()
    run.rows(tables.from_pandas(frame))
    run.rows(tables.from_pandas(frame, ["a", "b", "c"]).select(col("c"), col("a") + 1))


def views_have_names(run: Any) -> None:
    tables = run.streaming()
    rows = tables.from_elements([(1, "pen"), (2, "ink")], ["id", "item"])
    tables.create_temporary_view("items", rows)
    run.rows(tables.from_path("items").where(col("id") > 1))
    run.rows(tables.sql_query("SELECT UPPER(item) AS item FROM items WHERE id = 1"))
    run.say(tables.list_temporary_views())
    run.say(tables.drop_temporary_view("items"))
    run.say(tables.drop_temporary_view("items"))
    run.fails(lambda: tables.from_path("items"))


def a_table_stands_in_a_statement(run: Any) -> None:
    tables = run.streaming()
    rows = tables.from_elements([(1, "pen"), (2, "ink")], ["id", "item"])
    run.rows(tables.sql_query(f"SELECT item, id * 10 FROM {rows}"))


def a_descriptor_makes_a_table(run: Any) -> None:
    tables = run.streaming()
    schema = Schema.new_builder().column("n", DataTypes.BIGINT()).build()
    descriptor = (
        TableDescriptor.for_connector("datagen")
        .schema(schema)
        .option("number-of-rows", "4")
        .option("fields.n.kind", "sequence")
        .option("fields.n.start", "1")
        .option("fields.n.end", "4")
        .build()
    )
    tables.create_temporary_table("numbers", descriptor)
    run.rows(tables.from_path("numbers").select((col("n") * 2).alias("twice")))
    run.rows(tables.from_descriptor(descriptor).where(col("n") > 2))


def a_statement_makes_a_table(run: Any) -> None:
    tables = run.batch()
    (run.folder / "people").mkdir()
    (run.folder / "people" / "a.csv").write_text("1,ann\n2,bob\n")
    tables.execute_sql(
        "CREATE TABLE people (id INT, name STRING, shown AS CONCAT(name, '!'))"
        f" WITH ('connector' = 'filesystem', 'path' = '{run.folder}/people', 'format' = 'csv')"
    )
    run.schema(tables.from_path("people"))
    run.rows(tables.from_path("people"))


def from_elements_of_all_types(run: Any) -> None:
    pair = DataTypes.ROW(
        [DataTypes.FIELD("a", DataTypes.BIGINT()), DataTypes.FIELD("b", DataTypes.DOUBLE())]
    )
    kinds = [
        DataTypes.TINYINT(),
        DataTypes.FLOAT(),
        DataTypes.STRING(),
        DataTypes.DATE(),
        DataTypes.TIME(),
        DataTypes.TIMESTAMP(3),
        DataTypes.ARRAY(DataTypes.DOUBLE()),
        DataTypes.ARRAY(DataTypes.DOUBLE(False)),
        DataTypes.DECIMAL(38, 18),
        DataTypes.DECIMAL(4, 1),
        pair,
        DataTypes.MAP(DataTypes.STRING(), DataTypes.DOUBLE()),
        DataTypes.BYTES(),
    ]
    schema = DataTypes.ROW([DataTypes.FIELD(f"f{n}", each) for n, each in enumerate(kinds)])
    values = (
        1,
        0.1,
        "hi",
        datetime.date(1970, 1, 2),
        datetime.time(1, 0, 0),
        datetime.datetime(1970, 1, 2, 0, 0),
        [1.0, None],
        array.array("d", [1.0, 2.0]),
        decimal.Decimal(1),
        decimal.Decimal("1.25"),
        Row("a", "b")(1, 2.0),
        {"key": 1.0},
        bytearray(b"ABCD"),
    )
    table = run.streaming().from_elements([values], schema)
    run.schema(table)
    run.printed(lambda: table.execute().print())
    run.rows(table.select(*(col(f"f{n}") for n in (0, 1, 2, 3, 4, 5, 8, 9))))


def from_elements_with_intervals(run: Any) -> None:
    span = DataTypes.INTERVAL(DataTypes.SECOND(3))
    schema = DataTypes.ROW([DataTypes.FIELD("s", span)])
    table = run.batch().from_elements([(datetime.timedelta(days=1, microseconds=10),)], schema)
    run.schema(table)
    run.rows(table.select(col("s").cast(DataTypes.STRING())))


def from_elements_of_expressions(run: Any) -> None:
    t_env = run.batch()
    schema = DataTypes.ROW(
        [
            DataTypes.FIELD("a", DataTypes.INT()),
            DataTypes.FIELD("b", DataTypes.STRING()),
            DataTypes.FIELD("c", DataTypes.FLOAT()),
        ]
    )
    table = t_env.from_elements([row(1, "abc", 2.0), row(2, "de", 3.5)], schema)
    run.schema(table)
    run.rows(table, sort=True)
    run.fails(lambda: t_env.from_elements([lit(1), 2]))


def from_elements_with_decimals(run: Any) -> None:
    kind = DataTypes.ROW([DataTypes.FIELD("d", DataTypes.DECIMAL(3, 1))])
    given = ["1.25", "-1.25", "1.24999", "99.95", "1234.5", "0"]
    run.rows(run.streaming().from_elements([(decimal.Decimal(each),) for each in given], kind))
