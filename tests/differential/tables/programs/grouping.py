"""Groups: in a stream each row changes them, in a batch they are given once."""

from __future__ import annotations

from typing import Any

from pyflink.table.expressions import col, lit

SALES = [("ann", "pen", 3), ("bob", "ink", 5), ("ann", "ink", 4), ("ann", "pen", 1)]
NAMES = ["who", "what", "amount"]


def sums_in_a_stream(run: Any) -> None:
    sales = run.streaming().from_elements(SALES, NAMES)
    made = sales.group_by(col("who")).select(col("who"), col("amount").sum.alias("total"))
    run.schema(made)
    run.rows(made)


def sums_in_a_batch(run: Any) -> None:
    sales = run.batch().from_elements(SALES, NAMES)
    made = sales.group_by(col("who")).select(
        col("who"),
        col("amount").sum,
        col("amount").min,
        col("amount").max,
        col("amount").avg,
        col("amount").count,
        lit(1).count,
    )
    run.rows(made, sort=True)


def of_all_rows(run: Any) -> None:
    sales = run.batch().from_elements(SALES, NAMES)
    run.rows(sales.select(col("amount").sum, col("amount").count, col("who").max))


def of_all_rows_in_a_stream(run: Any) -> None:
    sales = run.streaming().from_elements(SALES, NAMES)
    run.rows(sales.select(col("amount").sum.alias("total")))


def of_different_values(run: Any) -> None:
    sales = run.batch().from_elements(SALES, NAMES)
    made = sales.group_by(col("who")).select(col("who"), col("what").count.distinct.alias("kinds"))
    run.rows(made, sort=True)


def groups_that_are_filtered(run: Any) -> None:
    sales = run.streaming().from_elements(SALES, NAMES)
    made = sales.group_by(col("who")).select(col("who"), col("amount").sum.alias("total"))
    run.rows(made.where(col("total") > 6))


def by_an_expression(run: Any) -> None:
    sales = run.batch().from_elements(SALES, NAMES)
    made = sales.group_by(col("who"), (col("amount") > 3).alias("large"))
    run.rows(made.select(col("who"), col("large"), lit(1).count.alias("n")), sort=True)


def different_rows(run: Any) -> None:
    sales = run.streaming().from_elements(SALES, NAMES)
    run.rows(sales.select(col("who")).distinct())


def groups_of_groups(run: Any) -> None:
    sales = run.streaming().from_elements(SALES, NAMES)
    first = sales.group_by(col("who")).select(col("who"), lit(1).count.alias("n"))
    run.rows(first.group_by(col("n")).select(col("n"), lit(1).count.alias("people")))


def order_and_limit(run: Any) -> None:
    sales = run.batch().from_elements(SALES, NAMES)
    run.rows(sales.order_by(col("amount").desc))
    run.rows(sales.order_by(col("who").asc, col("amount").desc).fetch(2))
    run.rows(sales.order_by(col("amount")).offset(1).fetch(2))
    run.rows(sales.order_by(col("amount")).limit(2, 2))
