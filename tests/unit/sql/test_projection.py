"""Random values, the watermark, and what a projection says of itself."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import SqlValidationError
from headrace.operators.columns.calc import BatchContext
from headrace.sql.projection import Projection
from headrace.sql.rel import Column
from headrace.sql.types import BIGINT, TimestampType
from tests.unit.sql.reading import expression

COLUMNS = (Column("n", BIGINT),)
BATCH = pa.RecordBatch.from_pydict({"n": pa.array(range(1000), pa.int64())})
FIRST = BatchContext(now_ms=1, seed=7)


def projection(*texts: str, condition: str | None = None) -> Projection:
    known = {"n": BIGINT}
    made = tuple(expression(each, known) for each in texts)
    kept = None if condition is None else expression(condition, known)
    return Projection(COLUMNS, tuple(f"c{at}" for at in range(len(texts))), made, kept)


def values(given: Projection, context: BatchContext) -> list[Any]:
    batch, _ = given.compile()(BATCH, context)
    found: list[Any] = batch.column(0).to_pylist()
    return found


@pytest.mark.parametrize("text", ["RAND()", "UUID()"])
def test_no_two_rows_have_the_same_value(text: str) -> None:
    given = projection(text)
    contexts = [FIRST, replace(FIRST, first_row=1000), replace(FIRST, seed=8)]
    found = [each for context in contexts for each in values(given, context)]
    assert len(set(found)) == 3000


def test_a_repeated_batch_has_the_same_values() -> None:
    assert values(projection("RAND()"), FIRST) == values(projection("RAND()"), FIRST)


def test_a_condition_has_random_numbers_of_its_own() -> None:
    kept = values(projection("RAND()", condition="RAND() < 0.2"), FIRST)
    assert 100 < len(kept) < 300
    assert max(kept) > 0.8


def test_what_it_reads() -> None:
    assert projection("RAND() + 1").reads_chance
    assert projection("n", condition="RAND() < 0.5").reads_chance
    assert not projection("n + 1", "CURRENT_TIMESTAMP").reads_chance


def test_the_watermark() -> None:
    kind = TimestampType(3, attribute="rowtime")
    call = expression("CURRENT_WATERMARK(ts)", {"ts": kind})
    given = Projection((Column("ts", kind),), ("w",), (call,))
    assert given.reads_watermark
    rows = pa.RecordBatch.from_pydict({"ts": pa.array([0], pa.timestamp("ms"))})
    before, _ = given.compile()(rows, BatchContext())
    after, _ = given.compile()(rows, BatchContext(watermark_ms=1500))
    assert before.column(0).to_pylist() == [None]
    assert after.column(0).to_pylist() == [datetime(1970, 1, 1, 0, 0, 1, 500_000)]
    with pytest.raises(SqlValidationError, match="takes a time attribute"):
        expression("CURRENT_WATERMARK(ts)", {"ts": TimestampType(3)})
