"""Headrace. Options: any configuration key as ``conf:<key>``."""

from __future__ import annotations

from typing import Any

from bench import jobs, workload
from bench.kafka.inputs import STATELESS, summary
from bench.kafka.peers import pipeline
from bench.peers.protocol import options
from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.formats._json.messages import (
    JsonDeserializationSchema,
    JsonSerializationSchema,
)


def outputs(job: str, records: Any) -> Any:
    """What a job makes of dicts: dicts."""
    if job == STATELESS:
        return records.filter(workload.wanted).map(summary)
    _, names = pipeline.fields(job)
    triples = records.map(lambda record: (record["key"], record["value"], record["time"]))
    found = pipeline.keyed(jobs.Api("headrace"), job, triples)
    return found.map(lambda record: dict(zip(names, record, strict=True)))


def main() -> None:
    job_options = options()
    settings = {
        "execution.runtime-mode": "STREAMING",
        "parallelism.default": "2",
        "execution.checkpointing.dir": f"{job_options['folder']}/checkpoints",
        **pipeline.configured(job_options),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = pipeline.source("headrace", job_options, JsonDeserializationSchema())
    found = outputs(job_options["job"], env.from_source(source, None, "records"))
    found.sink_to(pipeline.sink("headrace", job_options, JsonSerializationSchema()))
    env.execute("kafka")


if __name__ == "__main__":
    main()
