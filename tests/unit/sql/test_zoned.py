"""What reads the session's time zone is known to do so."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.sql.evaluate import compile_expressions
from headrace.sql.expressions import Expression, walk
from headrace.sql.functions.function import Session
from headrace.sql.functions.table import FUNCTIONS
from headrace.sql.types import BIGINT, DATE, STRING, TimestampLtzType, TimestampType
from headrace.sql.zoned import reads_time_zone
from tests.unit.sql.reading import expression

pytest.importorskip("sqlglot")

TYPES = {
    "m": TimestampLtzType(3),
    "ts": TimestampType(3),
    "s": STRING,
    "n": BIGINT,
    "d": DATE,
}
BATCH = pa.RecordBatch.from_pydict(
    {
        "m": pa.array([1], pa.timestamp("ms", "UTC")),
        "ts": pa.array([1], pa.timestamp("ms")),
        "s": ["2020-01-01 00:00:00"],
        "n": [1],
        "d": pa.array([1], pa.date32()),
    }
)
ZONED = """
    CAST(m AS STRING); CAST(m AS DATE); CAST(m AS TIMESTAMP(3)); CAST(ts AS TIMESTAMP_LTZ(3));
    CAST(d AS TIMESTAMP_LTZ(3)); CAST(ARRAY[m] AS ARRAY<STRING>); m > ts; m > '2020-01-01 00:00:00';
    m BETWEEN ts AND ts; FLOOR(m TO DAY); CEIL(m TO HOUR); EXTRACT(HOUR FROM m); DAYOFWEEK(m);
    TIMESTAMPDIFF(DAY, m, m); DATE_FORMAT(m, 'HH'); CURRENT_DATE; LOCALTIME; LOCALTIMESTAMP;
    UNIX_TIMESTAMP(s); FROM_UNIXTIME(n)
"""
PLAIN = """
    m; m = m; COALESCE(m, m); CASE WHEN n > 1 THEN m END; IF(n > 1, m, m); NOW(); PROCTIME();
    TO_TIMESTAMP_LTZ(n, 3); TO_TIMESTAMP_LTZ(s); UNIX_TIMESTAMP(); CAST(ts AS STRING); s > '2020';
    FLOOR(ts TO DAY); DATE_FORMAT(ts, 'HH'); CONVERT_TZ(s, 'UTC', 'Asia/Tokyo'); UPPER(s)
"""


def says(made: Expression) -> bool:
    return any(map(reads_time_zone, walk(made)))


def reads(made: Expression) -> bool:
    """Whether the zone is asked for when an expression is computed."""
    asked = []

    class Watched(Session):
        def __getattribute__(self, name: str) -> Any:
            if name == "time_zone":
                asked.append(name)
            return super().__getattribute__(name)

    compile_expressions([made], BATCH.schema)(BATCH, Watched("Asia/Tokyo"))
    return bool(asked)


@pytest.mark.parametrize("text", [each.strip() for each in ZONED.split(";")])
def test_what_reads_the_zone(text: str) -> None:
    made = expression(text, TYPES)
    assert says(made) and reads(made)


@pytest.mark.parametrize("text", [each.strip() for each in PLAIN.split(";")])
def test_what_does_not(text: str) -> None:
    made = expression(text, TYPES)
    assert not says(made) and not reads(made)


def test_the_examples_of_all_functions() -> None:
    examples = [text for each in FUNCTIONS.values() for text, _ in each.examples]
    assert len(examples) > 100
    for text in examples:
        made = expression(text)
        assert says(made) or not reads(made), text
