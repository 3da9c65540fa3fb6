"""``python -m tests.storage.lines_job BASE FAILS_AT [KEY=VALUE ...]``: running sums by key.

Input, results and checkpoint are in folders of BASE. It fails at the line with the number FAILS_AT.
It is a program of its own, as a process has one Spark session, and that one storage. The
environment variable ``LINE_SECONDS`` says how long each line takes.
"""

from __future__ import annotations

import os
import sys
import time

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat


def main() -> None:
    base, fails_at = sys.argv[1], int(sys.argv[2])
    line_seconds = float(os.environ.get("LINE_SECONDS", "0"))

    def pair(line: str) -> tuple[str, int]:
        key, number = line.split(",")
        time.sleep(line_seconds)
        if int(number) == fails_at:
            raise ValueError("not now")
        return key, int(number)

    configuration = {
        "parallelism.default": "2",
        "headrace.source.max-records-per-batch": "100",
        "headrace.source.min-records-per-batch": "100",
        "execution.checkpointing.dir": f"{base}/checkpoint",
        **dict(setting.split("=", 1) for setting in sys.argv[3:]),
    }
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(configuration)
    )
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{base}/in")
    lines = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines").uid("in")
    pairs = lines.map(pair).key_by(lambda pair: pair[0])
    sums = pairs.reduce(lambda a, b: (b[0], a[1] + b[1])).uid("sums")
    sink = FileSink.for_row_format(f"{base}/out", Encoder.simple_string_encoder()).build()
    sums.map(str, Types.STRING()).sink_to(sink).uid("out")
    env.execute("sums of lines")


if __name__ == "__main__":
    main()
