"""PyFlink's side of the latency: the time is put into the record, and read again, outside Python.

Options: ``mode`` (process, thread), ``bundle``, ``bundle_ms``, ``buffer_ms``; without them,
PyFlink's defaults.
"""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import jobs
from bench.measure.latency import KEYS, RATE, SECONDS, WARM_UP_SECONDS, summary
from bench.peers import flink
from bench.peers.protocol import Task, options

PATTERN = "yyyy-MM-dd HH:mm:ss.SSS"
KEYS_OF_OPTIONS = {
    "mode": "python.execution-mode",
    "bundle": "python.fn-execution.bundle.size",
    "bundle_ms": "python.fn-execution.bundle.time",
    "buffer_ms": "execution.buffer-timeout.interval",
}


def settings(chosen: dict[str, str], folder: Path) -> dict[str, str]:
    """Flink's settings: the common ones, the chosen ones, and its defaults for the rest."""
    values = flink.settings(Task("latency", 0, KEYS, "uniform", {}, folder, folder))
    values["table.local-time-zone"] = "UTC"
    for name, key in KEYS_OF_OPTIONS.items():
        if name in chosen:
            values[key] = chosen[name] + (" ms" if name == "buffer_ms" else "")
    return values


def records(env: Any) -> Any:
    """A stream of (random key, time of making), made one by one at an even rate.

    SQL's own generator makes all records of a second at once.
    """
    from pyflink.common import Types, WatermarkStrategy
    from pyflink.datastream.connectors.base import Source
    from pyflink.java_gateway import get_gateway
    from pyflink.table import StreamTableEnvironment

    jvm = get_gateway().jvm
    number = Types.INT()
    j_number = number.get_java_type_info()
    connector = jvm.org.apache.flink.connector.datagen
    elements = jvm.java.util.Collections.nCopies(RATE * SECONDS, 0)
    made = connector.functions.IndexLookupGeneratorFunction(j_number, elements)
    limits = jvm.org.apache.flink.api.connector.source.util.ratelimit.RateLimiterStrategy
    source = connector.source.DataGeneratorSource(
        made, RATE * SECONDS, limits.perSecond(float(RATE)), j_number
    )
    ticks = env.from_source(Source(source), WatermarkStrategy.no_watermarks(), "ticks", number)
    tables = StreamTableEnvironment.create(env)
    tables.create_temporary_view("ticks", tables.from_data_stream(ticks).alias("tick"))
    query = (
        f"SELECT tick + RAND_INTEGER({KEYS}),"
        f" DATE_FORMAT(CURRENT_ROW_TIMESTAMP(), '{PATTERN}') FROM ticks"
    )
    return tables.to_data_stream(tables.sql_query(query))


def passing(api: jobs.Api) -> Any:
    """The keyed count of the other side, which gives on what it gets, as text."""
    pair = api.longs(2)
    descriptor = api.state.ValueStateDescriptor

    class Passing(api.datastream.KeyedProcessFunction):  # type: ignore[misc,name-defined]
        def open(self, runtime_context: Any) -> None:
            self.state = runtime_context.get_state(descriptor("count and sum", pair))

        def process_element(self, record: Any, ctx: Any) -> Any:
            count, total = self.state.value() or (0, 0)
            self.state.update((count + 1, total + record[0]))
            yield f"{record[0]}|{record[1]}"

    return Passing()


class Printed(threading.Thread):
    """Reads what the JVM prints, and notes when it came."""

    def __init__(self, pipe: int) -> None:
        super().__init__(daemon=True)
        self._pipe = pipe
        self.came: list[tuple[float, float]] = []
        """When each record was made, in seconds, and its latency in ms."""

    def run(self) -> None:
        """Read to the end."""
        with os.fdopen(self._pipe) as lines:
            for line in lines:
                now = time.time()
                _, bar, made = line.strip().partition("|")
                if bar:
                    at = datetime.strptime(made, "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
                    made_at = at.timestamp()
                    self.came.append((made_at, 1000 * (now - made_at)))


def main() -> None:
    chosen = options()
    flink.use_this_python()
    os.environ["_python_worker_execution_mode"] = "process"  # noqa: SIM112
    kept = os.dup(1)
    reading, writing = os.pipe()
    os.dup2(writing, 1)  # the JVM inherits it
    printed = Printed(reading)
    printed.start()
    api = jobs.Api("pyflink")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        env = flink.environment(settings(chosen, Path(name)))
        keyed = records(env).key_by(lambda row: row[0], api.common.Types.INT())
        keyed.process(passing(api), api.common.Types.STRING()).print()
        env.execute("latency")
    deadline = time.time() + 5
    while len(printed.came) < RATE * SECONDS and time.time() < deadline:
        time.sleep(0.05)
    os.dup2(kept, 1)
    found = printed.came
    if len(found) != RATE * SECONDS:
        raise RuntimeError(f"{len(found)} records came instead of {RATE * SECONDS}")
    late = min(made for made, _ in found) + WARM_UP_SECONDS
    print("\n" + json.dumps(summary([ms for made, ms in found if made >= late])))


if __name__ == "__main__":
    main()
