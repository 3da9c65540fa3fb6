"""``python -m tests.storage.savepoints_job BASE [KEY=VALUE ...]``: sums that stop with a savepoint.

The first run, without ``execution.state-recovery.path``, stops with a savepoint below BASE/saved
after two micro-batches; another one with it runs to its end. It checks that restore points are
complete while it runs.
"""

from __future__ import annotations

import sys
import time

from headrace.common import Configuration, Encoder, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink, FileSource, StreamFormat
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.checkpoint.retained import restore_points

NAME = "sums with savepoints"


def main() -> None:
    base = sys.argv[1]
    settings = dict(setting.split("=", 1) for setting in sys.argv[2:])
    restored = "execution.state-recovery.path" in settings
    configuration = {
        "parallelism.default": "3" if restored else "2",
        "pipeline.max-parallelism": "7" if restored else "16",
        "headrace.source.max-records-per-batch": "400" if restored else "40",
        "headrace.source.min-records-per-batch": "400" if restored else "40",
        "execution.checkpointing.dir": f"{base}/checkpoint{'-2' if restored else ''}",
        "execution.checkpointing.interval": "1 s",
        "execution.checkpointing.num-retained": "1" if restored else "2",
        **settings,
    }
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(configuration)
    )
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), f"{base}/in")
    lines = env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "lines").uid("in")
    pairs = lines.map(lambda line: (line.split(",")[0], int(line.split(",")[1])))
    sums = pairs.key_by(lambda pair: pair[0]).reduce(lambda a, b: (b[0], a[1] + b[1])).uid("sums")
    sink = FileSink.for_row_format(f"{base}/out", Encoder.simple_string_encoder()).build()
    sums.map(str, Types.STRING()).sink_to(sink).uid("out")
    if restored:
        env.execute(NAME)
        return
    client = env.execute_async(NAME)
    folder = CheckpointFolder.of_job(f"{base}/checkpoint", NAME)
    deadline = time.monotonic() + 120
    while not restore_points(folder):
        assert time.monotonic() < deadline, "no restore point was kept"
        time.sleep(0.1)
    print(client.stop_with_savepoint(False, f"{base}/saved").result(), flush=True)


if __name__ == "__main__":
    main()
