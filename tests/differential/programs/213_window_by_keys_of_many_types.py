"""Windows by keys of several types, each stream with one type of key.

compare: multiset
parallelism: 1
mode: streaming, batch
"""

from decimal import Decimal

from pyflink.common import WatermarkStrategy
from pyflink.common.time import Duration, Time
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import TumblingEventTimeWindows


class Last(TimestampAssigner):
    def extract_timestamp(self, value, record_timestamp):
        return value[-1]


def timed(env: StreamExecutionEnvironment, events: list) -> DataStream:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(60))
    return env.from_collection(events).assign_timestamps_and_watermarks(
        strategy.with_timestamp_assigner(Last())
    )


class Show(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, sorted(element[1] for element in elements)


KEYS = {
    "text": ["a", "b", "a"],
    "integer": [1, 2, 1],
    "boolean": [True, False, True],
    "float": [0.5, 1.5, 0.5],
    "tuple": [("a", 1), ("a", 2), ("a", 1)],
    "bytes": [b"a", b"b", b"a"],
    "decimal": [Decimal("1.5"), Decimal("2"), Decimal("1.5")],
    "none": [None, "b", None],
}


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    windows = TumblingEventTimeWindows.of(Time.seconds(5))

    def counted(keys):
        events = [(key, number, 1_000 + number) for number, key in enumerate(keys)]
        return timed(env, events).key_by(lambda event: event[0]).window(windows).process(Show())

    return {name: counted(keys) for name, keys in KEYS.items()}
