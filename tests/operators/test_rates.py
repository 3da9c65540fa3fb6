"""Two inputs with columns give what they give with rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from headrace.common import Configuration, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.runtime.columns.selectors import ByColumns, TimestampColumn
from headrace.testing import run_pipeline
from tests.operators.connecting import connected
from tests.operators.rates import RatesSpec, came

RECORDS = 200
TIMES = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimestampColumn("at"))


@pytest.fixture(autouse=True)
def nothing_came_yet() -> Iterator[None]:
    came.update(columns=[0, 0], rows=[0, 0])
    yield


def amounts(numbers: Any) -> dict[str, Any]:
    return {"user": numbers % 7, "amount": numbers, "at": numbers * 2}


def rates(numbers: Any, later_ms: int = 1) -> dict[str, Any]:
    return {"user": numbers % 5, "rate": numbers % 11 + 1, "at": numbers * 2 + later_ms}


def row_of(columns: Any) -> Any:
    return lambda number: columns(number)


def rated(*as_columns: bool, later_ms: int = 1, **settings: str) -> DataStream:
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    streams = []
    of_rates = partial(rates, later_ms=later_ms)
    for columns, whole in zip((amounts, of_rates), as_columns, strict=True):
        if whole:
            source = DataGeneratorSource.of_columns(columns, RECORDS)
        else:
            source = DataGeneratorSource(row_of(columns), RECORDS)
        stream = env.from_source(source, TIMES, "amounts" if columns is amounts else "rates")
        streams.append(stream.key_by(ByColumns("user")))
    return connected(RatesSpec(), *streams)


def test_each_input_is_given_columns_where_it_has_them() -> None:
    in_order = {"cuts": [1] * RECORDS}
    expected = sorted(map(repr, run_pipeline(rated(False, False), **in_order).only))
    assert came == {"columns": [0, 0], "rows": [RECORDS] * 2}
    for first, second in ((True, True), (True, False), (False, True)):
        came.update(columns=[0, 0], rows=[0, 0])
        found = run_pipeline(rated(first, second), **in_order).only
        assert sorted(map(repr, found)) == expected
        assert came["columns"] == [RECORDS * first, RECORDS * second]
        assert came["rows"] == [RECORDS * (not first), RECORDS * (not second)]


def test_a_batch_merges_columns_of_both_by_time() -> None:
    batches = [
        run_pipeline(rated(how, how), mode="batch", parallelism=2).only for how in (True, False)
    ]
    assert sorted(map(repr, batches[0])) == sorted(map(repr, batches[1]))
    # Cut into runs of one record columns would cost more than rows.
    assert came == {"columns": [0, 0], "rows": [2 * RECORDS] * 2}
    came.update(columns=[0, 0], rows=[0, 0])
    one_after_another = [
        run_pipeline(rated(how, how, later_ms=10_000), mode="batch").only for how in (True, False)
    ]
    assert sorted(map(repr, one_after_another[0])) == sorted(map(repr, one_after_another[1]))
    assert came == {"columns": [RECORDS] * 2, "rows": [RECORDS] * 2}


def test_the_plan_says_what_each_input_is_given() -> None:
    assert "HASH exchange -> vertex 0 (input 1) (columns)" in rated(True, True).explain()
    off = rated(True, True, **{"headrace.columns.enabled": "false"}).explain()
    assert "(input 1) (rows: columns are turned off)" in off
    assert "(columns)" not in off
