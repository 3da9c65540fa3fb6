"""Runs one contender, and sees from outside what a reader of committed records would see."""

from __future__ import annotations

import json
import tempfile
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import processes
from bench.contenders import Contender
from bench.environments import python_for
from bench.kafka.inputs import PARTITIONS, Digest, digest, messages, wanted
from bench.throughput import Row
from bench.ysb.jars import jars_of
from bench.ysb.watch import last_lines, process
from headrace.datastream.connectors._kafka.client.consumer import TopicPartition
from headrace.datastream.connectors._kafka.client.librdkafka import LibrdkafkaClients
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.dev import topics

_POLL_S = 0.2
_SETTLE_S = 3.0
"""Who commits each second and has written nothing for so long has written all."""

Ends = Mapping[TopicPartition, int]


@dataclass
class Seen:
    """When the readable ends of the output's partitions came to be where they were, and what the
    contender's processes had used shortly before their end."""

    times: list[tuple[float, Ends]] = field(default_factory=list)
    processor_seconds: dict[str, float] = field(default_factory=dict)

    def note_used(self, session: int) -> None:
        """Take down what was used so far: processes that have ended are not measured any more."""
        for kind, seconds in processes.processor_seconds(session).items():
            self.processor_seconds[kind] = max(self.processor_seconds.get(kind, 0.0), seconds)

    def seconds(self, last: Mapping[TopicPartition, int]) -> float:
        """From when on each partition's last record could be read."""
        for at, ends in self.times:
            if all(
                ends.get(topic_partition, 0) > offset for topic_partition, offset in last.items()
            ):
                return at
        return self.times[-1][0]


def new_topic(brokers: str, name: str) -> str:
    """A topic that nobody else has."""
    topic = f"{name}-{uuid.uuid4().hex[:8]}"
    topics.create(brokers, topic, PARTITIONS)
    return topic


def filled(brokers: str, job: str, records: int) -> str:
    """A topic with a job's input, made where it is not there."""
    topic = f"{job}-{records}"
    if topic not in {facts.name for facts in topics.list_topics(brokers)}:
        topics.create(brokers, topic, PARTITIONS)
        topics.produce(brokers, topic, messages(job, records))
    return topic


def arguments(
    contender: Contender, brokers: str, topic: str, output: str, folder: Path
) -> list[str]:
    """A contender's command line."""
    job_options = {"brokers": brokers, "topic": topic, "output": output, "folder": str(folder)}
    job_options |= contender.options
    job_options |= jars_of("flink" if contender.environment == "pyflink" else "")
    return [f"{name}={value}" for name, value in job_options.items()]


def run(contender: Contender, brokers: str, job: str, records: int) -> Row:
    """A row of a contender's run over so many records."""
    row: Row = {"case": job, "contender": contender.name, "records": records}
    topic, expected = filled(brokers, job, records), wanted(job, records)
    output = new_topic(brokers, "output")
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        job_options = arguments(contender, brokers, topic, output, Path(name))
        log = Path(name, "log")
        python, module = python_for(contender.environment), f"bench.kafka.peers.{contender.module}"
        with process(python, module, [*job_options, f"job={job}"], log) as child:
            seen = _until_still(child, brokers, output, expected.count, contender.limit_seconds)
        found, last = _read(brokers, output)
        if found != expected:
            said = "\n".join(last_lines(log))
            return {**row, "failure": f"{found}, expected {expected}\n{said}"}
    seconds = seen.seconds(last)
    facts = {"processor_seconds": seen.processor_seconds}
    return {**row, "seconds": seconds, "wall_seconds": seconds, "facts": facts}


def _until_still(child: Any, brokers: str, output: str, count: int, limit_s: float) -> Seen:
    """Watch until the process ends, or has written so much and then nothing for a while."""
    topic_partitions = [(output, number) for number in range(PARTITIONS)]
    cluster = LibrdkafkaClients(brokers, None, "bench", Properties()).cluster()
    begun = changed = time.monotonic()
    seen = Seen()
    try:
        while (now := time.monotonic()) < begun + limit_s:
            if not (ended := child.poll() is not None):
                seen.note_used(child.pid)
            ends = cluster.latest_offsets(topic_partitions)
            if not seen.times or ends != seen.times[-1][1]:
                seen.times.append((time.monotonic() - begun, ends))
                changed = now
            if ended or (sum(ends.values()) >= count and now > changed + _SETTLE_S):
                break
            time.sleep(_POLL_S)
    finally:
        cluster.close()
    return seen


def _read(brokers: str, topic: str) -> tuple[Digest, dict[TopicPartition, int]]:
    """What the topic holds, and the last offset with a record in each partition."""
    shown = [*topics.consume(brokers, topic)]
    last = {(topic, record.partition): record.offset for record in shown}
    return digest(json.loads(record.value or b"{}") for record in shown), last
