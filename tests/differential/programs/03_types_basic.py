"""Every basic type that PyFlink 2.3 carries, declared at the source and after a map.

PyFlink cannot take a CHAR at all, keeps a BIG_INT whole only while no Python function sees it, and
cannot collect an INSTANT: it is seen through an untyped map.

compare: ordered
parallelism: 1
mode: streaming
"""

from decimal import Decimal

from pyflink.common import Types
from pyflink.common.time import Instant
from pyflink.datastream import DataStream, StreamExecutionEnvironment

CASES = {
    "string": (Types.STRING(), ["a", "", "\u00e9"]),
    "byte": (Types.BYTE(), [1, -128, 127]),
    "boolean": (Types.BOOLEAN(), [True, False]),
    "short": (Types.SHORT(), [1, -32768]),
    "int": (Types.INT(), [1, -(2**31), 2**31 - 1]),
    "long": (Types.LONG(), [1, -(2**63), 2**63 - 1]),
    "float": (Types.FLOAT(), [1.5, -0.25]),
    "double": (Types.DOUBLE(), [1.5, 0.1]),
    "big_dec": (Types.BIG_DEC(), [Decimal("1.50"), Decimal("-0.001")]),
}


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    streams = {
        name: env.from_collection(values, type_info=kind).map(lambda value: value, output_type=kind)
        for name, (kind, values) in CASES.items()
    }
    streams["big_int"] = env.from_collection([2**70, -(2**65)], type_info=Types.BIG_INT())
    streams["instant"] = env.from_collection(
        [Instant.of_epoch_milli(1_700_000_000_123)], type_info=Types.INSTANT()
    ).map(lambda value: (value, value.seconds, value.nanos))
    return streams
