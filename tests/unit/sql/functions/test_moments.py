"""Timestamps of nanoseconds reach from 1677 to 2262: what is beyond is never another time."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import SqlError
from headrace.sql.evaluate import compile_expressions
from headrace.sql.functions.function import Session
from headrace.sql.types import DATE, TimestampType
from tests.unit.sql.reading import expression

pytest.importorskip("sqlglot")

TYPES = {"m": TimestampType(3), "n": TimestampType(9), "d": DATE}


def computed(text: str, year: int, zone: str = "UTC") -> Any:
    batch = pa.RecordBatch.from_pydict(
        {
            "m": pa.array([datetime(year, 12, 31), None], pa.timestamp("ms")),
            "n": pa.array([datetime(2020, 1, 1), None], pa.timestamp("ns")),
            "d": pa.array([date(year, 12, 31), None], pa.date32()),
        }
    )
    (found,) = compile_expressions([expression(text, TYPES)], batch.schema)(batch, Session(zone))
    value, null = found.cast(pa.timestamp("us")) if pa.types.is_timestamp(found.type) else found
    assert not null.is_valid or text.startswith("COALESCE")
    return value.as_py()


@pytest.mark.parametrize(
    "text",
    [
        "CAST(m AS TIMESTAMP(9))",
        "CAST(d AS TIMESTAMP(9))",
        "CAST(m AS TIMESTAMP_LTZ(9))",
        "m > n",
        "n + INTERVAL '999' YEAR(3)",
        "TIMESTAMPADD(DAY, 1000000, n)",
    ],
)
def test_what_is_beyond_is_an_error(text: str) -> None:
    for year in (9999, 1600):
        with pytest.raises(SqlError, match="from 1677 to 2262"):
            computed(text, year)


def test_what_is_within_is_itself() -> None:
    for year in (2261, 1678):
        last = datetime(year, 12, 31)
        for text in ("CAST(m AS TIMESTAMP(9))", "CAST(d AS TIMESTAMP(9))"):
            assert computed(text, year) == last
        assert computed("m > n", year) is (year > 2020)
        assert computed("TRY_CAST(m AS TIMESTAMP(9))", year) == last
    assert computed("CAST(m AS TIMESTAMP(6))", 9999) == datetime(9999, 12, 31)


def test_try_cast_gives_null() -> None:
    for year in (9999, 1600):
        assert computed("TRY_CAST(m AS TIMESTAMP(9))", year) is None
        assert computed("TRY_CAST(d AS TIMESTAMP(9))", year) is None
        assert computed("TRY_CAST(d AS TIMESTAMP(3))", year) == datetime(year, 12, 31)
