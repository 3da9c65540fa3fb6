"""SQL dates, times and timestamps; a timestamp is seen through an untyped map.

PyFlink 2.3 cannot collect a stream whose declared type is SQL_TIMESTAMP.

compare: ordered
parallelism: 1
mode: streaming
"""

from datetime import date, datetime, time

from pyflink.common import Types
from pyflink.datastream import DataStream, StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    dates = env.from_collection([date(2024, 2, 29), date(1969, 12, 31)], type_info=Types.SQL_DATE())
    times = env.from_collection([time(0, 0, 1), time(23, 59, 59)], type_info=Types.SQL_TIME())
    stamps = env.from_collection(
        [datetime(2024, 2, 29, 12, 30, 1, 250000)], type_info=Types.SQL_TIMESTAMP()
    )
    return {
        "date": dates.map(lambda value: value, output_type=Types.SQL_DATE()),
        "time": times.map(lambda value: value, output_type=Types.SQL_TIME()),
        "timestamp": stamps.map(lambda value: value),
    }
