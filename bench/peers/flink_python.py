"""PyFlink's DataStream API.

Options: ``mode`` (process, thread), ``worker`` (process: an interpreter per slot and operator, as
on a cluster; loopback: threads of this one, PyFlink's default at a desk), ``bundle`` (records),
``bundle_ms``, ``backend`` (hashmap, rocksdb), ``buffers`` (job join: list, map).
"""

from __future__ import annotations

import os
import time
from typing import Any

from bench import jobs, two_stream_jobs, two_streams, workload
from bench.peers import flink
from bench.peers.protocol import Outcome, Task, answer


def settings(task: Task) -> dict[str, str]:
    """Flink's settings with the caches above the number of keys."""
    cache = str(max(2 * task.keys, 100_000))
    entries = str(max(16 * task.keys, 100_000))
    chosen = flink.settings(task)
    if task.job == "we" and task.option("mode", "process") == "thread":
        # Its checkpoints fail while sessions are open in this mode (it keeps what windows have
        # merged under no window, and then casts that to one): without this, so does the job.
        chosen["execution.checkpointing.tolerable-failed-checkpoints"] = "1000"
    return {
        **chosen,
        "python.execution-mode": task.option("mode", "process"),
        "python.state.cache-size": cache,
        "python.map-state.read-cache-size": entries,
        "python.map-state.write-cache-size": entries,
        "python.fn-execution.bundle.size": task.option("bundle", "100000"),
        "python.fn-execution.bundle.time": task.option("bundle_ms", "1000"),
    }


def records(task: Task, env: Any, api: jobs.Api) -> Any:
    """Records made by the same Python function as everywhere, of indexes made in the JVM."""
    if workload.is_windowed(task.job):
        timed, half = workload.timed_record_function(task.job, task.keys), task.records // 2

        def make(number: int) -> workload.Record:
            return timed(workload.interleaved(number, half))

    else:
        make = workload.record_function(task.keys, task.distribution)
    return flink.numbers(env, task.records).map(make, api.longs(3))


def sides(task: Task, env: Any, api: jobs.Api) -> list[Any]:
    """The left and the right stream of job join."""
    half = task.records // 2
    made = []
    for right in (False, True):
        make = two_streams.interleaved(two_streams.side_function(right, task.keys), half)
        made.append(flink.numbers(env, half).map(make, api.longs(3)))
    return made


def lines(task: Task, env: Any) -> Any:
    """The lines of job (d), read in the JVM."""
    from pyflink.common import WatermarkStrategy
    from pyflink.datastream.connectors.file_system import FileSource, StreamFormat

    folder = str(workload.json_folder(task.records, task.scratch))
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder).build()
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")


def run(task: Task) -> Outcome:
    """Run the job to its end."""
    flink.use_this_python()
    os.environ["_python_worker_execution_mode"] = task.option("worker", "process")  # noqa: SIM112
    from pyflink.datastream.connectors.base import Sink
    from pyflink.java_gateway import get_gateway

    env = flink.environment(settings(task))
    api = jobs.Api("pyflink")
    if task.job == "d":
        outputs = jobs.stateless_job(api, lines(task, env))
    elif task.job == "join":
        buffers = task.option("buffers", "list")
        outputs = two_stream_jobs.join_by_hand(api, *sides(task, env, api), buffers)
    elif workload.is_windowed(task.job):
        outputs = jobs.window_job(api, task.job, records(task, env, api))
    else:
        outputs = jobs.keyed_job(api, task.job, records(task, env, api), task.keys)
    # The outputs are counted in the operator's own interpreter: nothing goes back to the JVM.
    discarding = get_gateway().jvm.org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink()
    outputs.filter(jobs.counting(api, task.tally)).sink_to(Sink(discarding))
    started = time.perf_counter()
    result = env.execute(f"bench-{task.job}")
    seconds = time.perf_counter() - started
    facts = {"net_runtime_ms": result.get_net_runtime()}
    return Outcome(seconds, task.tally.total(), facts)


if __name__ == "__main__":
    answer(run)
