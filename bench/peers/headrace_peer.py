"""Headrace itself. Options: ``runner`` (streaming, batch, local), ``payload`` (bytes added to each
record), ``rules`` (job rules: broadcast, or constant in the function), ``conditions`` (of patterns:
functions, or columns), ``executors`` (local-cluster), ``events`` (1: Spark's own account of its
tasks), and any configuration key as ``conf:<key>``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench import jobs, two_stream_jobs, two_streams, workload
from bench.peers import event_log
from bench.peers.protocol import Outcome, Task, answer
from bench.processes import processor_seconds
from bench.tally import LastByKey
from headrace.common import Configuration, Types
from headrace.connector import Source
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema

WHOLE = 1_000_000
"""So many outputs at most are counted at a time."""

RUNNERS = {
    "streaming": {"execution.runtime-mode": "STREAMING"},
    "batch": {"execution.runtime-mode": "BATCH"},
    "local": {"execution.target": "local"},
}


def settings(task: Task) -> dict[str, str]:
    """The job's configuration."""
    runner = task.option("runner", "streaming")
    chosen = dict(RUNNERS[runner])
    if runner == "streaming":
        chosen["execution.checkpointing.dir"] = str(task.folder / "checkpoints")
    if runner != "local":
        chosen["parallelism.default"] = "2"
    executors = task.option("executors", "")
    if executors:
        cores = 2 // int(executors)
        chosen["headrace.spark.conf.spark.master"] = f"local-cluster[{executors},{cores},2048]"
    if event_log.is_wanted(task):
        events = event_log.settings(task).items()
        chosen |= {f"headrace.spark.conf.{name}": value for name, value in events}
    for name, value in task.options.items():
        if name.startswith("conf:"):
            chosen[name.removeprefix("conf:")] = value
    return chosen


def micro_batches(checkpoints: Path) -> int:
    """How many micro-batches Spark has committed."""
    numbers = [int(path.name) for path in checkpoints.rglob("commits/*") if path.name.isdigit()]
    return max(numbers, default=-1) + 1


def generator(task: Task) -> Callable[[int], Any]:
    """The function from an index to a record, with a payload if one is asked for."""
    if workload.is_windowed(task.job):
        return workload.timed_record_function(task.job, task.keys)
    if workload.is_pattern(task.job):
        return workload.event_function(task.keys)
    make = workload.record_function(task.keys, task.distribution)
    size = int(task.option("payload", "0"))
    if not size:
        return make
    # Different bytes in each record: pickle would write equal objects once.
    return lambda index: (*make(index), index.to_bytes(8, "big") * (size // 8))


def two_streams_of(task: Task, api: jobs.Api, env: StreamExecutionEnvironment) -> Any:
    """The outputs of the jobs join and rules."""

    def made(make: Callable[[int], Any], count: int, name: str) -> Any:
        return env.from_source(DataGeneratorSource(make, count=count), None, name)

    if task.job == "join":
        sides = [
            made(two_streams.side_function(right, task.keys), task.records // 2, name)
            for right, name in ((False, "left"), (True, "right"))
        ]
        return two_stream_jobs.interval_join(api, *sides)
    rules = None
    if task.option("rules", "broadcast") == "broadcast":
        rules = made(two_streams.rule, two_streams.RULES, "rules")
    return two_stream_jobs.summed(api, made(generator(task), task.records, "records"), rules)


def csv_source(task: Task) -> FileSource:
    """Rows of the CSV jobs."""
    schema = CsvSchema.builder().set_use_header()
    for name in workload.CSV_HEADER.split(","):
        schema = schema.add_number_column(name)
    folder = workload.csv_folder(task.records, task.keys, task.scratch)
    rows = CsvReaderFormat.for_schema(schema.build())
    return FileSource.for_record_stream_format(rows, str(folder)).build()


def columns_source(task: Task) -> DataGeneratorSource:
    """The records of the window jobs, made as columns."""
    make = workload.timed_record_function(task.job, task.keys)
    names = workload.CSV_HEADER.split(",")
    return DataGeneratorSource.of_columns(
        lambda indexes: dict(zip(names, make(indexes), strict=True)), count=task.records
    )


def has_conditions_over_columns(task: Task) -> bool:
    """Whether the job is a pattern with conditions over columns."""
    return workload.is_pattern(task.job) and task.option("conditions", "functions") == "columns"


def events_as_columns(task: Task) -> DataGeneratorSource:
    """The events of a pattern's job, made as columns of a known type."""
    make, names = workload.event_function(task.keys), workload.CSV_HEADER.split(",")
    rows = Types.ROW_NAMED(names, [Types.LONG()] * len(names))
    return DataGeneratorSource.of_columns(
        lambda indexes: dict(zip(names, make(indexes), strict=True)),
        count=task.records,
        record_type=rows,
    )


def source(task: Task) -> Source:
    """What the job reads."""
    if task.job == "d":
        folder = str(workload.json_folder(task.records, task.scratch))
        return FileSource.for_record_stream_format(StreamFormat.text_line_format(), folder).build()
    if task.job.startswith("csv"):
        return csv_source(task)
    if task.job == "wc":
        return columns_source(task)
    if has_conditions_over_columns(task):
        return events_as_columns(task)
    return DataGeneratorSource(generator(task), count=task.records)


def nothing(values: list[Any]) -> None:
    """A sink for what was counted before it."""
    assert not values, values


def build(task: Task, env: StreamExecutionEnvironment) -> None:
    """Put the job into the environment."""
    api = jobs.Api("headrace")
    if task.job in two_streams.JOBS:
        two_streams_of(task, api, env).sink_to(FunctionSink(task.tally))
        return
    records, tally = env.from_source(source(task), None, "records"), task.tally
    if isinstance(tally, LastByKey):
        # Counted as columns, as they come: rows would be made for the sink alone.
        names, types = workload.CSV_HEADER.split(","), api.common.Types
        rows = types.ROW_NAMED(names, [types.LONG()] * len(names))
        counted = jobs.csv_job(records).map_batches(
            tally.columns, batch_size=WHOLE, input_type=rows
        )
        counted.sink_to(FunctionSink(nothing))
        return
    if task.job == "d":
        outputs = jobs.stateless_job(api, records)
    elif task.job in ("wc", "csvw"):
        outputs = jobs.columns_job(api, records)
    elif has_conditions_over_columns(task):
        outputs = jobs.pattern_over_columns_job(api, task.job, records, task.keys)
    elif workload.is_pattern(task.job):
        outputs = jobs.pattern_job(api, task.job, records, task.keys)
    elif workload.is_windowed(task.job):
        outputs = jobs.window_job(api, task.job, records)
    else:
        outputs = jobs.keyed_job(api, task.job, records, task.keys)
    outputs.sink_to(FunctionSink(tally))


def run(task: Task) -> Outcome:
    """Run the job to its end."""
    Path(task.folder).mkdir(exist_ok=True)
    chosen = settings(task)
    configuration = Configuration.from_dict(chosen)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    build(task, env)
    used, started = processor_seconds(os.getpid()), time.perf_counter()
    result = env.execute(f"bench-{task.job}")
    seconds = time.perf_counter() - started
    after = processor_seconds(os.getpid())
    facts: dict[str, Any] = {"net_runtime_ms": result.get_net_runtime()}
    facts["processor_seconds"] = {kind: round(after[kind] - used[kind], 2) for kind in after}
    if "execution.checkpointing.dir" in chosen:
        facts["micro_batches"] = micro_batches(task.folder / "checkpoints")
    if event_log.is_wanted(task):
        facts |= {"task_seconds": event_log.task_seconds(task), "phases": event_log.phases(task)}
    return Outcome(seconds, task.tally.total(), facts)


if __name__ == "__main__":
    answer(run)
