"""Who takes part, at which two sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.ysb.events import TAIL_MS

CATCHING_UP, LIVE = "ysb", "ysb-latency"
"""The experiments, in results and rows."""
THOUSAND, MILLION = 1_000, 1_000_000


@dataclass(frozen=True)
class Contender:
    """A program of ``bench.ysb.peers`` with its options, and how long one run may take."""

    name: str
    words: str
    module: str
    sizes: tuple[int, int]
    environment: str = "headrace"
    options: Mapping[str, str] = field(default_factory=dict)
    behind: Mapping[str, str] = field(default_factory=dict)
    """Further options for catching up only."""
    jars: str = ""
    """What of ``jars.txt`` it gets as its option ``jars``: paths with commas."""
    limit_s: float = 240


CONTENDERS = (
    Contender("headrace", "Headrace", "headrace_job", (1 * MILLION, 4 * MILLION)),
    Contender(
        "quix",
        "Quix Streams",
        "quix_job",
        (100 * THOUSAND, 400 * THOUSAND),
        "quix",
        options={"grace_ms": "200"},
        behind={"grace_ms": str(TAIL_MS // 2)},
    ),
    Contender(
        "pyflink",
        "PyFlink, process mode",
        "flink_job",
        (100 * THOUSAND, 300 * THOUSAND),
        "pyflink",
        jars="flink",
    ),
    Contender(
        "flink-sql",
        "Flink SQL (no Python but for Redis)",
        "flink_sql_job",
        (1 * MILLION, 4 * MILLION),
        "pyflink",
        jars="flink",
    ),
    Contender(
        "spark",
        "Spark Structured Streaming's own operators",
        "spark_job",
        (1 * MILLION, 4 * MILLION),
        options={"late_ms": "200", "batch": str(500 * THOUSAND)},
        jars="spark",
    ),
)
