"""PyFlink: JSON is read and written in the JVM, as rows with the fields that are needed.

Options: ``checkpoint``: how often; ``bundle``, ``bundle_ms``, ``buffer_ms``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream.formats.json import (
    JsonRowDeserializationSchema,
    JsonRowSerializationSchema,
)

from bench import jobs
from bench.contenders import FEW_KEYS
from bench.kafka.inputs import STATELESS
from bench.kafka.peers import pipeline
from bench.peers import flink, flink_python
from bench.peers.protocol import Task, options


def rows(names: tuple[str, ...]) -> Any:
    """The type of rows with such fields."""
    kinds = [Types.STRING() if name == "symbol" else Types.LONG() for name in names]
    return Types.ROW_NAMED([*names], kinds)


def outputs(job: str, records: Any) -> Any:
    """What a job makes of rows: rows."""
    _, names = pipeline.fields(job)
    if job == STATELESS:
        even = records.filter(lambda order: order[3] % 2 == 0)
        return even.map(lambda order: Row(order[0], order[1], order[2] * order[3]), rows(names))
    api = jobs.Api("pyflink")
    triples = records.map(lambda row: (row[0], row[1], row[2]), api.longs(3))
    return pipeline.keyed(api, job, triples).map(lambda found: Row(*found), rows(names))


def main() -> None:
    job_options = options()
    flink.use_this_python()
    folder = Path(job_options["folder"])
    settings = flink_python.settings(Task("a", 0, FEW_KEYS, "uniform", job_options, folder, folder))
    settings["pipeline.jars"] = ";".join(f"file://{jar}" for jar in job_options["jars"].split(","))
    settings["execution.checkpointing.interval"] = job_options.get("checkpoint", "10 s")
    settings["execution.buffer-timeout.interval"] = job_options.get("buffer_ms", "100") + " ms"
    env = flink.environment(settings)
    read, written = (rows(names) for names in pipeline.fields(job_options["job"]))
    json_in = JsonRowDeserializationSchema.builder().type_info(read).build()
    json_out = JsonRowSerializationSchema.builder().with_type_info(written).build()
    source = pipeline.source("pyflink", job_options, json_in)
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "records")
    outputs(job_options["job"], records).sink_to(pipeline.sink("pyflink", job_options, json_out))
    env.execute("kafka")


if __name__ == "__main__":
    main()
