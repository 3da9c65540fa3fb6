"""What print writes for records without a declared type.

compare: printed
parallelism: 1
mode: streaming
"""

from datetime import date, datetime
from decimal import Decimal

from pyflink.common import Row
from pyflink.datastream import StreamExecutionEnvironment

VALUES = [
    1,
    1.0,
    0.1,
    1e20,
    True,
    "text",
    "",
    (1, "a", None),
    (1,),
    [1, ["a", None]],
    {"k": 1},
    Row(1, "a"),
    Row(name="a", value=None),
    Decimal("1.50"),
    date(2024, 2, 29),
    datetime(2024, 2, 29, 12, 30),
]


def build(env: StreamExecutionEnvironment) -> None:
    env.from_collection(VALUES).map(lambda value: value).print()
