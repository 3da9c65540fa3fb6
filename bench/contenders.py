"""Who runs what, at which two sizes: a table, and nothing else.

The sizes suit two cores: the larger run takes a minute or so, a slow peer's more. The smaller one
is long enough to be warm, and for Headrace's micro-batches to have grown: the slope is then that of
a job at work. ``--scale`` multiplies both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bench.workload import TIMER_RECORDS_PER_KEY

THOUSAND = 1_000
MILLION = 1_000_000
FEW_KEYS, MANY_KEYS, MAX_KEYS = 10_000, MILLION, 10 * MILLION


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
    name = f"spark-state-{thousands}k"
    return Contender(name, "spark_state", options=options, limit_seconds=900)


def _bundle(thousands: int, seconds: int = 1) -> Contender:
    options = {"bundle": str(thousands * THOUSAND), "bundle_ms": str(seconds * THOUSAND)}
    name = f"pyflink-process-bundle-{thousands}k" + (f"-{seconds}s" if seconds > 1 else "")
    return Contender(name, "flink_python", "pyflink", {"mode": "process", **options})


def _bytewax(operator: str, thousands: int) -> Contender:
    name = f"bytewax-{operator.replace('_', '-')}-{thousands}k"
    options = {"operator": operator, "batch": str(thousands * THOUSAND)}
    return Contender(name, "bytewax_peer", "bytewax", options)


def _bytewax_windows(thousands: int) -> Contender:
    options = {"workers": "processes", "batch": str(thousands * THOUSAND)}
    return Contender(f"bytewax-{thousands}k", "bytewax_peer", "bytewax", options, 60)


def _headrace_sql(name: str, runner: str, **options: str) -> Contender:
    return Contender(name, "headrace_sql", options={"runner": runner, **options})


def _flink_tables(name: str, **options: str) -> Contender:
    return Contender(name, "flink_tables", "pyflink", options)


def _spark_sql(store: str, thousands: int) -> Contender:
    options = {"store": store, "batch": str(thousands * THOUSAND)}
    return Contender(f"spark-sql-{store}", "spark_sql", options=options)


def _pathway(name: str, windows: str) -> Contender:
    return Contender(name, "pathway_peer", "pathway", {"windows": windows}, 60)


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
        _spark(2_000),
        Contender("flink-cep", "flink_cep", "pyflink"),
        Contender("spark-arrow", "spark_arrow"),
        Contender("bytewax", "bytewax_peer", "bytewax", {"workers": "processes"}),
        Contender("bytewax-threads", "bytewax_peer", "bytewax", {"workers": "threads"}),
        Contender("plain-python", "plain_python"),
        Contender(
            "headrace-constant-rules",
            "headrace_peer",
            options={"runner": "streaming", "rules": "constant"},
        ),
        Contender(
            "headrace-columns",
            "headrace_peer",
            options={"runner": "streaming", "conditions": "columns"},
        ),
        Contender(
            "headrace-one-phase",
            "headrace_peer",
            options={"runner": "streaming", "conf:headrace.combining.enabled": "false"},
        ),
        _bundle(10),
        _bundle(100, seconds=10),
        Contender(
            "pyflink-process-loopback",
            "flink_python",
            "pyflink",
            {"mode": "process", "worker": "loopback"},
        ),
        _bytewax("flat_map", 1),
        _bytewax("batch", 5),
        _bytewax("batch", 50),
        _bytewax_windows(200),
        _headrace_sql("headrace-sql", "streaming"),
        _headrace_sql("headrace-sql-minibatch", "streaming", minibatch="1"),
        _headrace_sql("headrace-sql-batch", "batch"),
        _headrace_sql("headrace-sql-local", "local"),
        _flink_tables("flink-tables-minibatch", minibatch="1"),
        _flink_tables("flink-tables-rocksdb", minibatch="1", backend="rocksdb"),
        _flink_tables("pyflink-table-process", mode="process"),
        _flink_tables("pyflink-table-thread", mode="thread"),
        _spark_sql("heap", 1_000),
        _spark_sql("rocksdb", 1_000),
        Contender("spark-sql", "spark_sql"),
        _pathway("pathway", "operator"),
        _pathway("pathway-grouped", "grouped"),
    )
}


def _variants(beginning: str) -> list[str]:
    return [name for name in CONTENDERS if name.startswith(beginning)]


_HEADRACE = {
    "headrace": (4 * MILLION, 16 * MILLION),
    "headrace-batch": (2 * MILLION, 10 * MILLION),
    "headrace-local": (500 * THOUSAND, 3 * MILLION),
}
_FLINK = {
    "pyflink-process": (200 * THOUSAND, 600 * THOUSAND),
    "pyflink-thread": (60 * THOUSAND, 180 * THOUSAND),
}
_FLINK_SLOW = dict.fromkeys(_FLINK, (40 * THOUSAND, 200 * THOUSAND))
# A window of 10 s holds 100,000 records, a slide 600,000, the turn of a block of sessions 150,000.
_FLINK_WINDOWS = dict.fromkeys(_FLINK, (60 * THOUSAND, 180 * THOUSAND))
_FLINK_SLIDING = dict.fromkeys(_FLINK, (5 * THOUSAND, 20 * THOUSAND))
_FLINK_SESSIONS = dict.fromkeys(_FLINK, (40 * THOUSAND, 120 * THOUSAND))
_BYTEWAX = (1 * MILLION, 5 * MILLION)
_INTERVAL = TIMER_RECORDS_PER_KEY * FEW_KEYS
_OTHERS = {
    "flink-sql": (4 * MILLION, 24 * MILLION),
    "flink-sql-minibatch": (4 * MILLION, 24 * MILLION),
    "flink-sql-rocksdb": (1 * MILLION, 6 * MILLION),
    "spark-state-100k": (300 * THOUSAND, 900 * THOUSAND),
    "spark-state-500k": (1_500 * THOUSAND, 3 * MILLION),
    "bytewax": _BYTEWAX,
    "bytewax-threads": (500 * THOUSAND, 2 * MILLION),
    "plain-python": (1 * MILLION, 5 * MILLION),
}

# No run of these should take a minute. A batch of Bytewax's source is the least of its sizes.
_WINDOW_PEERS = {
    "flink-sql": (4 * MILLION, 16 * MILLION),
    "flink-sql-minibatch": (4 * MILLION, 16 * MILLION),
    "flink-sql-rocksdb": (2 * MILLION, 8 * MILLION),
    "bytewax": (500 * THOUSAND, 2 * MILLION),
    "bytewax-200k": (600 * THOUSAND, 2_600 * THOUSAND),
}
_CSV_PEERS = {"pathway": (2 * MILLION, 8 * MILLION)}
_CSV_WINDOW_PEERS = {
    "pathway": (1 * MILLION, 4 * MILLION),
    "pathway-grouped": (1 * MILLION, 4 * MILLION),
}
_PATTERNS = {
    "headrace": (3 * MILLION, 9 * MILLION),
    "headrace-columns": (8 * MILLION, 24 * MILLION),
    "headrace-local": (500 * THOUSAND, 2 * MILLION),
    "flink-cep": (1 * MILLION, 5 * MILLION),
}
_CSV = {
    "headrace": (8 * MILLION, 32 * MILLION),
    "headrace-batch": (8 * MILLION, 32 * MILLION),
}

_SQL_GROUPS = {
    "headrace-sql": (4 * MILLION, 16 * MILLION),
    "headrace-sql-minibatch": (4 * MILLION, 64 * MILLION),
    "flink-tables-minibatch": (4 * MILLION, 16 * MILLION),
    "flink-tables-rocksdb": (2 * MILLION, 8 * MILLION),
    "spark-sql-heap": (4 * MILLION, 16 * MILLION),
    "spark-sql-rocksdb": (2 * MILLION, 8 * MILLION),
}
_SQL_PYTHON = {
    "headrace-sql": (1 * MILLION, 8 * MILLION),
    "headrace-sql-local": (1 * MILLION, 4 * MILLION),
}
_SQL_PYTHON_ROWS = _SQL_PYTHON | dict.fromkeys(
    ("pyflink-table-process", "pyflink-table-thread"), (250 * THOUSAND, 2 * MILLION)
)
# PyFlink runs pandas in processes only. One million records did not end in four minutes.
_SQL_PYTHON_PANDAS = {
    "headrace-sql": (2 * MILLION, 48 * MILLION),
    "headrace-sql-local": (2 * MILLION, 24 * MILLION),
    "pyflink-table-process": (50 * THOUSAND, 700 * THOUSAND),
}

CASES = {
    each.name: each
    for each in (
        Case("a", "a", sizes={**_HEADRACE, **_FLINK, **_OTHERS}),
        Case("a-million", "a", MANY_KEYS, sizes={"headrace": (4 * MILLION, 12 * MILLION)}),
        Case("a-zipf", "a", FEW_KEYS, "zipf", {"headrace": (4 * MILLION, 16 * MILLION)}),
        Case("a-million-zipf", "a", MANY_KEYS, "zipf", {"headrace": (4 * MILLION, 12 * MILLION)}),
        Case("exchange", "exchange", sizes={"headrace": (4 * MILLION, 16 * MILLION)}),
        Case(
            "b",
            "b",
            sizes={"headrace": (2 * MILLION, 6 * MILLION), **_FLINK_SLOW},
            step=_INTERVAL,
        ),
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
            "windows",
            "wt",
            sizes={
                "headrace": (4 * MILLION, 12 * MILLION),
                "headrace-one-phase": (2 * MILLION, 6 * MILLION),
                "headrace-batch": (2 * MILLION, 8 * MILLION),
                "headrace-local": (1 * MILLION, 4 * MILLION),
                "plain-python": (1 * MILLION, 4 * MILLION),
                **_FLINK_WINDOWS,
                **_WINDOW_PEERS,
            },
        ),
        Case(
            "windows-process",
            "wp",
            sizes={"headrace": (2 * MILLION, 6 * MILLION), **_FLINK_WINDOWS},
        ),
        Case(
            "windows-sliding",
            "ws",
            sizes={
                "headrace": (3 * MILLION, 12 * MILLION),
                **_FLINK_SLIDING,
            },
        ),
        Case(
            "windows-sessions",
            "we",
            sizes={
                "headrace": (3 * MILLION, 9 * MILLION),
                "plain-python": (900 * THOUSAND, 3_600 * THOUSAND),
                **_FLINK_SESSIONS,
            },
        ),
        Case(
            "windows-million",
            "wt",
            MANY_KEYS,
            sizes={
                "headrace": (6 * MILLION, 20 * MILLION),
            },
        ),
        Case("windows-columns", "wc", sizes={"headrace": (20 * MILLION, 80 * MILLION)}),
        Case(
            "csv",
            "csv",
            sizes={**_CSV, **_CSV_PEERS, "plain-python": (500 * THOUSAND, 2 * MILLION)},
        ),
        Case("csv-windows", "csvw", sizes={**_CSV, **_CSV_WINDOW_PEERS}),
        Case(
            "join",
            "join",
            sizes={
                "headrace": (1 * MILLION, 4 * MILLION),
                "headrace-local": (200 * THOUSAND, 1 * MILLION),
                "plain-python": (500 * THOUSAND, 2 * MILLION),
                **dict.fromkeys(_FLINK, (30 * THOUSAND, 120 * THOUSAND)),
            },
        ),
        Case("patterns-1", "p1", sizes=_PATTERNS),
        Case("patterns-10", "p10", sizes=_PATTERNS),
        Case("patterns-100", "p100", sizes=dict.fromkeys(_PATTERNS, (1 * MILLION, 3 * MILLION))),
        Case(
            "patterns-million",
            "p10",
            MANY_KEYS,
            sizes={
                "headrace": (3 * MILLION, 9 * MILLION),
                "flink-cep": (2 * MILLION, 6 * MILLION),
            },
        ),
        Case(
            "broadcast",
            "rules",
            sizes=dict.fromkeys(
                ("headrace", "headrace-constant-rules"), (4 * MILLION, 16 * MILLION)
            ),
        ),
        Case("sql-group-by", "sg", sizes=_SQL_GROUPS),
        Case("sql-group-by-million", "sg", MANY_KEYS, sizes=_SQL_GROUPS),
        Case("sql-tumble", "st", sizes=_SQL_GROUPS),
        Case(
            "sql-parquet-filter",
            "sf",
            sizes=dict.fromkeys(
                ("headrace-sql", "headrace-sql-batch", "spark-sql"), (8 * MILLION, 64 * MILLION)
            ),
        ),
        Case("sql-python-row", "sr", sizes=_SQL_PYTHON_ROWS),
        Case("sql-python-pandas", "sp", sizes=_SQL_PYTHON_PANDAS),
        Case(
            "tune",
            "a",
            sizes={
                "headrace": _HEADRACE["headrace"],
                **dict.fromkeys(_variants("pyflink-process"), (100 * THOUSAND, 300 * THOUSAND)),
                # Each bundle ends with a call to the JVM for each key that it changed.
                "pyflink-process-bundle-10k": (50 * THOUSAND, 150 * THOUSAND),
                "spark-state-2000k": (4 * MILLION, 8 * MILLION),
                "bytewax": _BYTEWAX,
                **dict.fromkeys(_variants("bytewax-flat-map"), _BYTEWAX),
                **dict.fromkeys(_variants("bytewax-batch"), _BYTEWAX),
            },
        ),
    )
}
"""A million keys and skewed ones are compared with Headrace's own (a) and windows: no peer runs
them.

In (b) the sizes are whole intervals of its timers: the slope is then of a record with its share of
them. So are those of windows: whole windows, slides and turns, where a peer is not too slow for it.
Columns are compared with Flink SQL in case ``windows``, where the records are the same.
"""


def size(records: int, scale: float, step: int = THOUSAND) -> int:
    """A size under a scale, a whole number of steps and at least one."""
    return max(round(records * scale / step), 1) * step
