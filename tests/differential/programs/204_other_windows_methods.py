"""What count windows and global windows say about themselves.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, StreamExecutionEnvironment
from pyflink.datastream.window import CountWindow, GlobalWindow


def facts(number):
    yield "count", CountWindow(3).id, str(CountWindow(3)), CountWindow(3).max_timestamp()
    yield "count equal", CountWindow(3) == CountWindow(3), CountWindow(3) == CountWindow(4)
    yield "global", str(GlobalWindow.get()), GlobalWindow.get().max_timestamp()
    yield "global equal", GlobalWindow.get() == GlobalWindow(), GlobalWindow() == CountWindow(3)


def build(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1]).flat_map(facts)
