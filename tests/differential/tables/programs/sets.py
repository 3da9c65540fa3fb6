"""More than one table."""

from __future__ import annotations

from typing import Any

from pyflink.table.expressions import col


def _two(tables: Any) -> tuple[Any, Any]:
    left = tables.from_elements([(1, "a"), (2, "b"), (2, "b")], ["n", "s"])
    return left, tables.from_elements([(2, "b"), (3, "c")], ["n", "s"])


def union_all(run: Any) -> None:
    left, right = _two(run.batch())
    run.rows(left.union_all(right), sort=True)


def union(run: Any) -> None:
    left, right = _two(run.batch())
    run.rows(left.union(right), sort=True)


def minus(run: Any) -> None:
    left, right = _two(run.batch())
    run.rows(left.minus(right), sort=True)
    run.rows(left.minus_all(right), sort=True)


def intersect(run: Any) -> None:
    left, right = _two(run.batch())
    run.rows(left.intersect(right), sort=True)
    run.rows(left.intersect_all(right), sort=True)


def types_of_a_union(run: Any) -> None:
    tables = run.batch()
    left, _ = _two(tables)
    run.fails(lambda: left.union_all(tables.from_elements([("x", 1)], ["n", "s"])))
    run.schema(left.union_all(left.select(col("n"), col("s").alias("other"))))
