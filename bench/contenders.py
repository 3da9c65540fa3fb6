"""Who runs what, at which two sizes: a table, and nothing else.

The sizes suit two cores: the larger run takes half a minute or so. Headrace's smaller one is long
enough for its micro-batches to have grown: the slope is then that of a job at work. ``--scale``
multiplies both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

THOUSAND = 1_000
MILLION = 1_000_000
FEW_KEYS, MANY_KEYS = 10_000, MILLION


@dataclass(frozen=True)
class Contender:
    """A program with its options, and how long one run may take."""

    name: str
    module: str
    environment: str = "headrace"
    options: Mapping[str, str] = field(default_factory=dict)
    limit_seconds: float = 400

    @property
    def own(self) -> bool:
        """Whether it is Headrace."""
        return self.name.startswith("headrace")


@dataclass(frozen=True)
class Case:
    """A job on an input."""

    name: str
    job: str
    keys: int = FEW_KEYS
    distribution: str = "uniform"
    sizes: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """By contender: the numbers of records of the small and the large run."""
    step: int = THOUSAND
    """Sizes are multiples of this."""


def _headrace(runner: str, **options: str) -> Contender:
    name = "headrace" if runner == "streaming" else f"headrace-{runner}"
    return Contender(name, "headrace_peer", options={"runner": runner, **options})


def _flink(mode: str) -> Contender:
    return Contender(f"pyflink-{mode}", "flink_python", "pyflink", {"mode": mode})


def _spark(thousands: int) -> Contender:
    options = {"batch": str(thousands * THOUSAND)}
    return Contender(f"spark-state-{thousands}k", "spark_state", options=options)


CONTENDERS = {
    each.name: each
    for each in (
        _headrace("streaming"),
        _headrace("batch"),
        _headrace("local"),
        _flink("process"),
        _flink("thread"),
        Contender("flink-sql", "flink_sql", "pyflink"),
        Contender("flink-sql-minibatch", "flink_sql", "pyflink", {"minibatch": "1"}),
        Contender("flink-sql-rocksdb", "flink_sql", "pyflink", {"backend": "rocksdb"}),
        _spark(100),
        _spark(500),
        Contender("spark-arrow", "spark_arrow"),
        Contender("bytewax", "bytewax_peer", "bytewax", {"workers": "processes"}),
        Contender("bytewax-threads", "bytewax_peer", "bytewax", {"workers": "threads"}),
        Contender("plain-python", "plain_python"),
        *(
            Contender(
                f"pyflink-process-bundle-{thousands}k",
                "flink_python",
                "pyflink",
                {"mode": "process", "bundle": str(thousands * THOUSAND)},
            )
            for thousands in (1, 10, 1000)
        ),
        Contender(
            "pyflink-process-loopback",
            "flink_python",
            "pyflink",
            {"mode": "process", "worker": "loopback"},
        ),
        Contender("bytewax-flat-map", "bytewax_peer", "bytewax", {"operator": "flat_map"}),
        Contender("bytewax-batch-5000", "bytewax_peer", "bytewax", {"batch": "5000"}),
    )
}

_HEADRACE = {
    "headrace": (4 * MILLION, 16 * MILLION),
    "headrace-batch": (2 * MILLION, 10 * MILLION),
    "headrace-local": (500 * THOUSAND, 3 * MILLION),
}
_FLINK = {
    "pyflink-process": (50 * THOUSAND, 300 * THOUSAND),
    "pyflink-thread": (20 * THOUSAND, 120 * THOUSAND),
}
_FLINK_SLOW = dict.fromkeys(_FLINK, (20 * THOUSAND, 100 * THOUSAND))
_TUNED = (
    "pyflink-process-bundle-1k",
    "pyflink-process-bundle-10k",
    "pyflink-process-bundle-1000k",
    "pyflink-process-loopback",
)
_OTHERS = {
    "flink-sql": (4 * MILLION, 24 * MILLION),
    "flink-sql-minibatch": (4 * MILLION, 24 * MILLION),
    "flink-sql-rocksdb": (1 * MILLION, 6 * MILLION),
    "spark-state-100k": (300 * THOUSAND, 900 * THOUSAND),
    "spark-state-500k": (500 * THOUSAND, 2 * MILLION),
    "bytewax": (1 * MILLION, 5 * MILLION),
    "bytewax-threads": (500 * THOUSAND, 2 * MILLION),
    "plain-python": (1 * MILLION, 5 * MILLION),
}

CASES = {
    each.name: each
    for each in (
        Case("a", "a", sizes={**_HEADRACE, **_FLINK, **_OTHERS}),
        Case("a-million", "a", MANY_KEYS, sizes={"headrace": (4 * MILLION, 12 * MILLION)}),
        Case("a-zipf", "a", FEW_KEYS, "zipf", {"headrace": (4 * MILLION, 16 * MILLION)}),
        Case("a-million-zipf", "a", MANY_KEYS, "zipf", {"headrace": (4 * MILLION, 12 * MILLION)}),
        Case("exchange", "exchange", sizes={"headrace": (4 * MILLION, 16 * MILLION)}),
        Case("b", "b", sizes={"headrace": (2 * MILLION, 6 * MILLION), **_FLINK_SLOW}),
        Case("c", "c", sizes={"headrace": (3 * MILLION, 8 * MILLION)}),
        Case("c-timed", "ct", sizes={"headrace": (3 * MILLION, 8 * MILLION)}),
        Case(
            "d",
            "d",
            sizes={
                "headrace": (2 * MILLION, 6 * MILLION),
                "spark-arrow": (500 * THOUSAND, 4 * MILLION),
                "plain-python": (500 * THOUSAND, 2 * MILLION),
                **_FLINK,
            },
        ),
        Case(
            "tune",
            "a",
            sizes={
                **dict.fromkeys(_TUNED, (100 * THOUSAND, 400 * THOUSAND)),
                **_FLINK,
                "bytewax": (1 * MILLION, 4 * MILLION),
                "bytewax-flat-map": (1 * MILLION, 4 * MILLION),
                "bytewax-batch-5000": (1 * MILLION, 4 * MILLION),
            },
        ),
    )
}
"""A million keys and skewed ones are compared with Headrace's own (a): no peer runs them."""


def size(records: int, scale: float, step: int = THOUSAND) -> int:
    """A size under a scale, a whole number of steps and at least one."""
    return max(round(records * scale / step), 1) * step
