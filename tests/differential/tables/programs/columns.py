"""What a program does with columns: select, add, rename and drop them, and compute."""

from __future__ import annotations

import datetime
from typing import Any

from pyflink.table import DataTypes
from pyflink.table.expressions import (
    and_,
    array,
    coalesce,
    col,
    concat,
    if_then_else,
    lit,
    map_,
    not_,
    null_of,
    or_,
    row,
    with_columns,
    without_columns,
)
from pyflink.table.udf import udf


def _people(run: Any) -> Any:
    kind = DataTypes.ROW(
        [
            DataTypes.FIELD("id", DataTypes.INT()),
            DataTypes.FIELD("name", DataTypes.STRING()),
            DataTypes.FIELD("born", DataTypes.DATE()),
            DataTypes.FIELD("height", DataTypes.DOUBLE()),
        ]
    )
    return run.streaming().from_elements(
        [
            (1, "Ann", datetime.date(1990, 5, 17), 1.7),
            (2, "bob", datetime.date(2001, 12, 31), None),
            (3, None, None, 1.85),
        ],
        kind,
    )


def select_and_alias(run: Any) -> None:
    people = _people(run)
    run.rows(people.select(col("id"), col("name").alias("who")))
    run.schema(people.select(col("id"), col("name").alias("who")))
    run.rows(people.select(col("*")))
    run.schema(people.alias("a", "b"))


def add_rename_and_drop(run: Any) -> None:
    people = _people(run)
    added = people.add_columns((col("id") * 100).alias("code"), concat(col("name"), "?").alias("q"))
    run.schema(added)
    run.rows(added.drop_columns(col("born"), col("height")))
    replaced = people.add_or_replace_columns((col("id") + 1).alias("id"), lit(7).alias("new"))
    run.schema(replaced)
    run.rows(replaced.select(col("id"), col("new")))
    renamed = people.rename_columns(col("name").alias("who"), col("id").alias("number"))
    run.schema(renamed)
    run.fails(lambda: people.add_columns(col("name")))
    run.fails(lambda: people.drop_columns(col("nothing")))


def choose_columns(run: Any) -> None:
    people = _people(run)
    run.schema(people.select(with_columns(col("id"), col("born"))))
    run.schema(people.select(without_columns(col("id"))))


def filters(run: Any) -> None:
    people = _people(run)
    run.rows(people.filter(col("name").is_not_null).select(col("id")))
    run.rows(people.where(and_(col("id") > 1, col("height").is_null)).select(col("id")))
    run.rows(people.where(or_(col("id") == 1, col("height") > 1.8)).select(col("id")))
    run.rows(people.where(not_(col("id") == 2)).select(col("id")))
    run.rows(people.where((col("id") >= 2) & (col("id") != 3)).select(col("id")))
    run.rows(people.where(col("id").between(2, 3)).select(col("id")))
    run.rows(people.where(col("id").in_(1, 3)).select(col("id")))
    run.rows(people.where(col("name").like("%n%")).select(col("id")))


def arithmetic(run: Any) -> None:
    table = run.streaming().from_elements([(7, 2, 2.5)], ["a", "b", "x"])
    made = table.select(
        (col("a") + col("b")).alias("plus"),
        (col("a") - col("b")).alias("minus"),
        (col("a") * col("x")).alias("times"),
        (col("a") / col("b")).alias("divided"),
        (col("a") % col("b")).alias("rest"),
        (-col("a")).alias("negative"),
        col("x").floor().alias("floor"),
        col("x").ceil().alias("ceil"),
        col("x").round(0).alias("round"),
        col("b").power(3).alias("power"),
        (col("a") * -1).abs.alias("abs"),
    )
    run.schema(made)
    run.rows(made)


def texts(run: Any) -> None:
    people = _people(run)
    made = people.select(
        col("name").upper_case,
        col("name").lower_case,
        col("name").char_length,
        col("name").substring(1, 2),
        concat(col("name"), "-", col("id").cast(DataTypes.STRING())),
        col("name").replace("n", "m"),
        col("name").lpad(5, "*"),
        col("name").position("n"),
    )
    run.rows(made)


def conditions_and_nulls(run: Any) -> None:
    people = _people(run)
    made = people.select(
        if_then_else(col("height") > 1.8, lit("tall"), lit("not tall")).alias("size"),
        coalesce(col("name"), "nobody").alias("name"),
        col("name").if_null("none").alias("or_none"),
        null_of(DataTypes.INT()).alias("nothing"),
        col("height").is_null.alias("unknown"),
        (col("height") > 1.75).is_true.alias("sure"),
    )
    run.schema(made)
    run.rows(made)


def casts(run: Any) -> None:
    table = run.streaming().from_elements([("12", 3.75, 1)], ["s", "x", "n"])
    made = table.select(
        col("s").cast(DataTypes.INT()).alias("number"),
        col("x").cast(DataTypes.INT()).alias("whole"),
        col("x").cast(DataTypes.DECIMAL(10, 1)).alias("decimal"),
        col("n").cast(DataTypes.STRING()).alias("text"),
        col("n").cast(DataTypes.DOUBLE()).alias("double"),
        col("s").try_cast(DataTypes.DATE()).alias("no_date"),
    )
    run.schema(made)
    run.rows(made)


def dates(run: Any) -> None:
    people = _people(run).where(col("born").is_not_null)
    from pyflink.table.expression import TimeIntervalUnit

    run.rows(
        people.select(
            col("born").extract(TimeIntervalUnit.YEAR),
            col("born").extract(TimeIntervalUnit.MONTH),
            col("born") + lit(1).days,
            col("born").floor(TimeIntervalUnit.MONTH),
            lit("2020-02-28").to_date + lit(2).days,
        )
    )


def collections(run: Any) -> None:
    table = run.streaming().from_elements([(1, 2)], ["a", "b"])
    made = table.select(
        array(col("a"), col("b"), 3).alias("list"),
        map_("x", col("a"), "y", col("b")).alias("map"),
        row(col("a"), "z").alias("pair"),
    )
    run.rows(made)
    run.rows(
        made.select(
            col("list").at(1),
            col("list").cardinality,
            col("map").at("y"),
            col("pair").get(1),
        )
    )


def plus_puts_texts_together(run: Any) -> None:
    table = run.streaming().from_elements([("a", 1, 1.5)], ["a", "b", "c"])
    run.rows(table.select(col("a") + col("b"), col("a") + 1.5, col("a") + col("c") + "x"))
    run.rows(table.select(col("a") + lit(True)))
    run.fails(lambda: table.select(col("b") + col("a")))
    run.fails(lambda: table.select(lit(1) + col("a")))


def functions_in_place_of_operators(run: Any) -> None:
    tables = run.streaming()
    minus_one = udf(lambda one, other: one + other - 1, result_type=DataTypes.BIGINT())
    tables.create_temporary_system_function("plus", minus_one)
    tables.create_temporary_system_function(
        "greaterThan", udf(lambda one, other: one < other, result_type=DataTypes.BOOLEAN())
    )
    tables.create_temporary_function("minus", minus_one)
    table = tables.from_elements([(1, 2), (4, 3)], ["a", "b"])
    tables.create_temporary_view("t", table)
    run.rows(table.where(col("a") > col("b")).select(col("a") + col("b"), col("a") - col("b")))
    run.rows(tables.sql_query("SELECT a + b FROM t WHERE a > b"))
