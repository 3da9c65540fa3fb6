"""Values of many kinds but None travel unharmed where no type is declared.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

from pyflink.common import Row
from pyflink.datastream import DataStream, StreamExecutionEnvironment

VALUES = [
    1,
    2**70,
    1.5,
    float("inf"),
    True,
    "text \u00e9\u4e16",
    b"\x00\xff",
    (1, "a", None),
    [1, [2, [3]]],
    {"k": 1, 2: [None]},
    {1, 2, 3},
    Row(1, "a"),
    Row(name="a", value=1),
    Decimal("12.3400"),
    date(2024, 2, 29),
    time(12, 30, 1, 250),
    datetime(2024, 2, 29, 12, 30, 1, 250),
    datetime(2024, 2, 29, 12, 30, tzinfo=UTC),
    timedelta(days=1, seconds=2, microseconds=3),
]


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection(VALUES).map(lambda value: value)
