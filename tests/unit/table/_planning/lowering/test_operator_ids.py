"""The ids of operators, sources and sinks."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.common.changelog_mode import ChangelogMode
from headrace.sql.rel import Aggregate, AggregateCall, Column, Scan
from headrace.sql.types import BIGINT, STRING
from headrace.table._planning.lowering.operator_ids import OperatorIds

pytest.importorskip("sqlglot")

SCAN = Scan(("c", "d", "t"), (Column("k", STRING),))
COUNTS = Aggregate(SCAN, ("k",), (AggregateCall("n", "COUNT", (), BIGINT),))


def ids(reads: str = "files /data", mode: ChangelogMode | None = None) -> OperatorIds:
    given = mode or ChangelogMode.insert_only()
    return OperatorIds(lambda _: reads, lambda _: given, "UTC")


def test_an_id_says_what_it_is_of() -> None:
    made = ids()
    found = made.of(COUNTS), made.of_rows(COUNTS, "materialize"), made.of_source(SCAN)
    kinds = [each.split("-")[-2] for each in (*found, made.of_sink("c.d.t"))]
    assert [each.rpartition(":")[2].rpartition(".")[2] for each in kinds] == [
        "aggregate",
        "materialize",
        "source",
        "sink",
    ]


def test_names_of_results_are_no_part_of_an_id() -> None:
    renamed = replace(COUNTS, calls=(replace(COUNTS.calls[0], name="total"),))
    assert ids().of(renamed) == ids().of(COUNTS)


@pytest.mark.parametrize(
    "other", [ids(reads="files /other"), ids(mode=ChangelogMode.upsert())], ids=["files", "mode"]
)
def test_an_id_depends_on_what_is_read(other: OperatorIds) -> None:
    assert other.of(COUNTS) != ids().of(COUNTS)
    assert other.of_source(SCAN) != ids().of_source(SCAN)


def test_operators_that_compute_the_same_are_numbered() -> None:
    made = ids()
    first = made.of(COUNTS)
    assert [made.of(COUNTS), made.of(COUNTS)] == [f"{first}-2", f"{first}-3"]


def test_rows_for_different_tables_have_different_ids() -> None:
    made = ids()
    assert made.of_rows(COUNTS, "materialize", "a") != made.of_rows(COUNTS, "materialize", "b")
