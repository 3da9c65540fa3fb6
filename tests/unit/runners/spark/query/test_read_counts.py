"""The counts of records that source tasks send in the columns of their packets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headrace.metrics._merging import MergeRule, MetricId, MetricValue
from headrace.runners.spark.query.packets import MemoryContent, envelopes_in
from headrace.runners.spark.query.read_counts import is_shown, records_read, with_counts
from headrace.runners.spark.query.wire import Row, pack
from headrace.runtime.block import Envelope, Kind

PROGRAM: Any = SimpleNamespace(
    sources=[SimpleNamespace(id="a", number=0), SimpleNamespace(id="b", number=1)]
)


def rows(count: int) -> list[Row]:
    """Rows of packets, each for a stage of its own."""
    return [
        row
        for stage in range(1, count + 1)
        for row in pack([Envelope(stage, 0, "v", Kind.METRICS, 3, 0, {"n": stage})], 1)
    ]


def contents(sent: list[Row]) -> list[int]:
    return [len([*envelopes_in(MemoryContent(row.payload), row.stage)]) for row in sent]


def test_only_the_records_of_sources_count() -> None:
    metrics = {
        MetricId("a", "orders", "numRecordsIn"): MetricValue(MergeRule.SUM, 7),
        MetricId("a", "orders", "numRecordsOut"): MetricValue(MergeRule.SUM, 5),
        MetricId("map", "map", "numRecordsIn"): MetricValue(MergeRule.SUM, 7),
        MetricId("b", "prices", "numRecordsIn"): MetricValue(MergeRule.SUM, 2),
    }
    assert records_read(PROGRAM, metrics) == {0: 7, 1: 2}


def test_the_last_row_has_the_count() -> None:
    sent = [*with_counts(iter(rows(3)), {1: 40})]
    assert [(row.sender, row.seq) for row in sent] == [(0, 0), (0, 0), (1, 40)]
    assert contents(sent) == [1, 1, 1]


def test_each_further_source_has_a_row_without_envelopes() -> None:
    sent = [*with_counts(iter(rows(1)), {0: 7, 1: 2})]
    assert [(row.sender, row.seq) for row in sent] == [(0, 7), (1, 2)]
    assert contents(sent) == [1, 0]


@pytest.mark.parametrize("count", [0, 2])
def test_without_counts_rows_are_the_same(count: int) -> None:
    assert [*with_counts(iter(rows(count)), {})] == rows(count)


@pytest.mark.parametrize(
    ("page", "listeners", "shown"),
    [(None, [], False), ("http://127.0.0.1:4040", [], True), (None, ["one"], True)],
)
def test_spark_shows_queries_on_its_page_and_to_listeners(
    page: str | None, listeners: list[str], shown: bool
) -> None:
    manager = SimpleNamespace(listListeners=lambda: listeners)
    spark: Any = SimpleNamespace(
        sparkContext=SimpleNamespace(uiWebUrl=page), streams=SimpleNamespace(_jsqm=manager)
    )
    assert is_shown(spark) is shown
