"""Rates from Kafka to Kafka: every contender at two sizes, over the same broker."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from bench import processes
from bench.contenders import MILLION, THOUSAND, Contender, size
from bench.kafka import watch
from bench.kafka.inputs import COUNT, SQL, STATELESS
from bench.throughput import Plan, Row, figures, sloped
from headrace.dev import servers

EXACTLY, AT_LEAST = ({"guarantee": name} for name in ("EXACTLY_ONCE", "AT_LEAST_ONCE"))

HEADRACE = partial(Contender, "headrace", "headrace_job")
QUIX = partial(Contender, "quix", "quix_job", "quix")
FLINK = partial(Contender, "pyflink-process", "flink_job", "pyflink")

CONTENDERS: Mapping[str, tuple[tuple[Contender, tuple[int, int]], ...]] = {
    STATELESS: (
        (HEADRACE(options=AT_LEAST), (2 * MILLION, 8 * MILLION)),
        (
            Contender("headrace-exactly-once", "headrace_job", options=EXACTLY),
            (2 * MILLION, 8 * MILLION),
        ),
        (Contender("confluent-kafka", "plain_loop"), (2 * MILLION, 8 * MILLION)),
        (QUIX(options=AT_LEAST), (200 * THOUSAND, 1 * MILLION)),
        (FLINK(options=AT_LEAST), (200 * THOUSAND, 1 * MILLION)),
    ),
    COUNT: (
        (HEADRACE(options=EXACTLY), (1 * MILLION, 4 * MILLION)),
        (QUIX(options=EXACTLY), (100 * THOUSAND, 300 * THOUSAND)),
        (FLINK(options=EXACTLY), (200 * THOUSAND, 600 * THOUSAND)),
    ),
    SQL: (
        (Contender("headrace-sql", "headrace_sql_job"), (1 * MILLION, 6 * MILLION)),
        (Contender("flink-tables", "flink_sql_job", "pyflink"), (1 * MILLION, 6 * MILLION)),
    ),
}
"""Who takes part, at which two sizes."""


@contextlib.contextmanager
def broker() -> Iterator[str]:
    """The address of a broker on a free port, below ``build``; wiped at the end.

    Raises:
        JobError: it does not start.
    """
    folder = processes.scratch() / "kafka"
    servers.down(folder, wipe=True)  # what a run left behind that was killed
    try:
        found: Any = servers.up(folder, ["kafka"], {"kafka": 0})["kafka"]
        yield found.url
    finally:
        servers.down(folder, wipe=True)


def measure(job: str, plan: Plan) -> list[Row]:
    """One row for each contender of a job: its rate by two sizes, and its start."""
    rows = []
    with broker() as brokers:
        for contender, sizes in CONTENDERS[job]:
            if plan.takes(contender.name):
                wanted = (size(records, plan.scale) for records in sizes)
                row = sloped(contender, (watch.run(contender, brokers, job, n) for n in wanted))
                if "values" in row:
                    row["values"]["start_s"] = figures(row["runs"])[contender.name].start
                rows.append(row)
    return rows
