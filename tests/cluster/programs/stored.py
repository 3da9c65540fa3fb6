"""``stored.py BASE``: input, checkpoint and output are on a storage, below one URL.

Each line of the input is a number. Whenever one comes, the job writes its key, how many numbers the
key has, the number, and the sum of all of the key.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.datastream import (
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.datastream.state import ValueStateDescriptor

KEYS = 7


class Totals(KeyedProcessFunction):
    """Keeps the count and the sum of a key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        of_both = Types.TUPLE([Types.LONG(), Types.LONG()])
        self.total = runtime_context.get_state(ValueStateDescriptor("total", of_both))

    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        count, total = self.total.value() or (0, 0)
        self.total.update((count + 1, total + value))
        yield f"{ctx.get_current_key()} {count + 1} {value} {total + value}"


def main() -> None:
    base = sys.argv[1]
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "execution.checkpointing.dir": f"{base}/checkpoint",
                "headrace.source.max-records-per-batch": "100",
            }
        )
    )
    lines = StreamFormat.text_line_format()
    source = FileSource.for_record_stream_format(lines, f"{base}/in").build()
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").map(int)
    totals = numbers.key_by(lambda number: number % KEYS).process(Totals(), Types.STRING())
    sink = FileSink.for_row_format(f"{base}/out", Encoder.simple_string_encoder()).build()
    totals.uid("totals").sink_to(sink).uid("files")
    env.execute("stored")


if __name__ == "__main__":
    main()
