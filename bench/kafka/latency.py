"""Latency at 2,000 records/s: from handing a record to a producer to reading its output, committed.

One keyed stage, exactly once, in between. Feeding and reading are processes outside the contender.
Starts are caught up before the records that count; each record must come out once.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import confluent_kafka

from bench.contenders import Contender
from bench.environments import python_for, versions
from bench.kafka import watch
from bench.kafka.inputs import PARTITIONS, digest
from bench.kafka.rates import AT_LEAST, EXACTLY, HEADRACE, broker
from bench.measure.latency import QUICK, RATE, SECONDS, WARM_UP_SECONDS, percentile, summary
from bench.throughput import Plan, Row
from bench.ysb.watch import last_lines, process
from headrace.dev import topics

_PASS = {**EXACTLY, "job": "pass"}
_LIMIT_S = SECONDS + 60
_AT_ONCE, _WAIT_S = 10_000, 0.1


def _flink(name: str, **options: str) -> Contender:
    return Contender(name, "flink_job", "pyflink", {**_PASS, **options})


CONTENDERS = (
    HEADRACE(options=_PASS),
    Contender("headrace-at-least-once", "headrace_job", options={**_PASS, **AT_LEAST}),
    _flink("pyflink-10s"),
    _flink("pyflink-1s", checkpoint="1 s"),
    _flink("pyflink-1s-quick", checkpoint="1 s", **QUICK),
)
"""Flink's records are readable after its checkpoints, whose interval is in the name."""


def measure(plan: Plan) -> list[Row]:
    """One row for each contender."""
    rows = []
    with broker() as brokers:
        for contender in CONTENDERS:
            if plan.takes(contender.name):
                rows.append(_one(contender, brokers))
                said = rows[-1].get("failure") or json.dumps(rows[-1]["values"])
                print(f"kafka-latency  {contender.name:<24} {said}", file=sys.stderr)
    return rows


def _one(contender: Contender, brokers: str) -> Row:
    """The row of one run."""
    row: Row = {"contender": contender.name, "versions": versions(contender.environment)}
    topic, output = (watch.new_topic(brokers, name) for name in ("input", "output"))
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        job_options = watch.arguments(contender, brokers, topic, output, folder)
        module = f"bench.kafka.peers.{contender.module}"
        fed = process(sys.executable, "bench.kafka.feed", [brokers, topic], folder / "feed.log")
        with (
            fed,
            process(
                python_for(contender.environment), module, job_options, folder / "log"
            ) as child,
        ):
            came = _came(brokers, output, child)
        if digest(record for record, _ in came) != digest(_values(brokers, topic)):
            log = "\n".join(last_lines(folder / "log"))
            return {**row, "failure": f"{len(came)} records that are not those read\n{log}"}
    late_us = min(record["time"] for record, _ in came) + 1_000_000 * WARM_UP_SECONDS
    waits = [now_ms - record["time"] / 1000 for record, now_ms in came if record["time"] >= late_us]
    return {**row, "values": {**summary(waits), "p95_ms": percentile(waits, 0.95)}}


def _values(brokers: str, topic: str) -> list[Any]:
    return [json.loads(record.value or b"{}") for record in topics.consume(brokers, topic)]


def _came(brokers: str, topic: str, child: Any) -> list[tuple[dict[str, Any], float]]:
    """The output's records, each with the ms at which it was read."""
    settings = {"bootstrap.servers": brokers, "group.id": "outside", "enable.auto.commit": False}
    consumer = confluent_kafka.Consumer({**settings, "fetch.wait.max.ms": 20})
    consumer.assign([confluent_kafka.TopicPartition(topic, n, 0) for n in range(PARTITIONS)])
    came: list[tuple[dict[str, Any], float]] = []
    deadline = time.monotonic() + _LIMIT_S
    try:
        while len(came) < RATE * SECONDS and time.monotonic() < deadline and child.poll() is None:
            first = consumer.poll(_WAIT_S)
            found = [first, *consumer.consume(_AT_ONCE, 0)] if first is not None else []
            now_ms = time.time() * 1000
            came += [(json.loads(each.value()), now_ms) for each in found if each.error() is None]
    finally:
        consumer.close()
    return came
