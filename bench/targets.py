"""The targets of the benchmarks, each with the number that follows from the results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import truediv
from statistics import median
from typing import Any

from bench.contenders import FEW_KEYS, MAX_KEYS
from bench.throughput import Figure, figures


@dataclass(frozen=True)
class Rounds:
    """A figure: what each round gave. ``run`` tells the rounds of one command from another's."""

    run: str
    values: Mapping[int, float]
    least: int
    """How many rounds are behind it, or behind the part of it that has the fewest."""

    @property
    def median(self) -> float:
        """The figure itself."""
        return median(self.values.values())


AVRO_HEADERS, AVRO_FORMS = ("", " with header"), ("dicts", "dataclasses")

Both = tuple[Rounds | None, Rounds | None]
"""Headrace's figure and a peer's."""

NEITHER: Both = (None, None)


class Measured:
    """Questions to the results; None where something was not measured or failed."""

    def __init__(self, results: dict[str, dict[str, Any]]) -> None:
        self._results = results

    def rows(self, experiment: str) -> list[dict[str, Any]]:
        """An experiment's rows."""
        rows: list[dict[str, Any]] = self._results.get(experiment, {}).get("rows", [])
        return rows

    def rate(self, case: str, contender: str = "headrace") -> Rounds | None:
        """Records per second."""
        return self._rate(case, figures(self.rows(case)).get(contender))

    def beside(self, prefix: str, *cases: str) -> Both:
        """Headrace's rate and that of a peer's best variant, in that of the cases, all of the same
        job, where the two are closest: rates of different runs are not compared."""
        found = [(self.rate(case), self.best(case, prefix)) for case in cases]
        pairs = [(own, peer) for own, peer in found if own is not None and peer is not None]
        return min(pairs, key=lambda pair: pair[0].median / pair[1].median, default=NEITHER)

    def best(self, case: str, prefix: str) -> Rounds | None:
        """The rate of the fastest of a peer's variants."""
        found = figures(self.rows(case)).values()
        rated = [f for f in found if f.contender.startswith(prefix) and f.rate]
        return self._rate(case, max(rated, key=lambda f: f.rate or 0, default=None))

    def _rate(self, case: str, figure: Figure | None) -> Rounds | None:
        return None if figure is None else self._rounds(case, figure.by_round)

    def value(
        self, experiment: str, contender: str, name: str, point: str | None = None
    ) -> Rounds | None:
        """One value in the rows of a contender, at a point where there are some."""
        return self._rounds(
            experiment,
            {
                row["round"]: row["values"][name]
                for row in self.rows(experiment)
                if (row["contender"], row.get("point") if point else None) == (contender, point)
                and name in row.get("values", {})
            },
        )

    def seconds(self, experiment: str) -> dict[int, Rounds]:
        """The seconds by the number of records, which ascend."""
        found: dict[int, dict[int, float]] = {}
        for row in self.rows(experiment):
            if "values" in row:
                found.setdefault(row["records"], {})[row["round"]] = row["values"]["seconds"]
        by_size = {size: self._rounds(experiment, found[size]) for size in sorted(found)}
        return {size: rounds for size, rounds in by_size.items() if rounds is not None}

    def _rounds(self, experiment: str, values: Mapping[int, float]) -> Rounds | None:
        result = self._results.get(experiment, {})
        run = f"{result.get('commit')} {result.get('arguments')}"
        return Rounds(run, values, len(values)) if values else None


def together(work: Callable[..., float], *found: Rounds | None) -> Rounds | None:
    """What follows from figures: round by round if one command took them all, else by medians.

    A machine is not as fast in one round as in another, so rounds tell more than medians do.
    """
    given = [each for each in found if each is not None]
    if len(given) < len(found):
        return None
    least = min(each.least for each in given)
    common = [n for n in given[0].values if all(n in each.values for each in given)]
    if common and len({each.run for each in given}) == 1:
        values = {n: work(*(each.values[n] for each in given)) for n in common}
        return Rounds(given[0].run, values, min(least, len(common)))
    return Rounds("", {0: work(*(each.median for each in given))}, least)


def ratio(above: Rounds | None, below: Rounds | None) -> Rounds | None:
    """A quotient, None where either is missing."""
    return together(truediv, above, below)


CEP, SQL, FLINK_SQL = "flink-cep", "headrace-sql", "flink-tables"


@dataclass(frozen=True)
class Target:
    """``ask`` gives the number, which should be at least (or, ``most``, at most) ``bound``."""

    text: str
    bound: float
    ask: Callable[[Measured], Rounds | None]
    unit: str = "x"
    most: bool = False

    def met(self, number: float) -> bool:
        """Whether a number is good enough."""
        return number <= self.bound if self.most else number >= self.bound


Ask = Callable[[Measured], Rounds | None]


def _peer(case: str, prefix: str, *more: str) -> Ask:
    return lambda m: ratio(*m.beside(prefix, case, *more))


def _with_keys(measured: Measured, keys: int) -> Rounds | None:
    """The rate of (a) at a point of the growth, where one command takes all of them."""
    return measured.value("growth", "headrace", "records_per_second", f"keys {keys:,}")


def _against(case: str, other: str) -> Ask:
    return lambda m: ratio(m.rate(case), m.rate(other))


def _only(case: str, peer: str) -> Ask:
    """Headrace's rate to that of a peer of one name, with no other variant of it."""
    return lambda m: ratio(m.rate(case), m.rate(case, peer))


def _columns(measured: Measured) -> Rounds | None:
    """Windows over columns to the same job by the fastest of Flink SQL's settings."""
    _, fastest = measured.beside("flink-sql", "windows")
    return ratio(measured.rate("windows-columns"), fastest)


def _sql(case: str, peer: str) -> Ask:
    """The better of Headrace's settings for SQL to the best of a peer's, in the same case."""
    return lambda m: ratio(m.best(case, SQL), m.best(case, peer))


def _firing(contender: str) -> Ask:
    return lambda m: ratio(
        m.value("firing", contender, "fire_seconds"), m.value("firing", contender, "fill_seconds")
    )


def _to_the_client(measured: Measured) -> Rounds | None:
    at = "lookups_per_second", "over HTTP, 20,000 lookups"
    found = [
        measured.value("lookups", name, *at) for name in ("headrace-unordered", "client-alone")
    ]
    return ratio(*found)


def _map_batches(point: str) -> Ask:
    return lambda m: m.value("map-batches", "headrace-local", "time_to_plain_loop", point)


def _decoded(rows: str, what: str) -> Ask:
    """How many rows of JSON tables decode on one core; ``what``: lines, or messages."""
    name = f"json_{rows}_{what}_per_second"
    return lambda m: m.value("sql-formats", "headrace-sql-local", name)


def _avro(what: str) -> Ask:
    """The slowest way: dicts or dataclasses, with a header or without."""
    forms = [f"{what}{header}, {form}" for header in AVRO_HEADERS for form in AVRO_FORMS]

    def ask(measured: Measured) -> Rounds | None:
        return together(
            min, *(measured.value("avro", "headrace-local", "to_wanted", form) for form in forms)
        )

    return ask


def _trickle(contender: str) -> Ask:
    """To the faster of a query with Spark's settings and with Headrace's."""

    def ask(measured: Measured) -> Rounds | None:
        names = contender, f"{contender}-light"
        found = [measured.value("trickle", name, "ms_per_batch") for name in names]
        known = [each for each in found if each is not None]
        least = min(known, key=lambda each: each.median, default=None)
        return ratio(measured.value("trickle", "headrace", "ms_per_batch"), least)

    return ask


def _latency(value: str) -> Ask:
    return lambda m: ratio(
        m.value("latency", "headrace", value), m.value("latency", "pyflink-default", value)
    )


def _kafka(experiment: str, peer: str) -> Ask:
    """Records per second to a peer's."""
    rate = "records_per_second"
    return lambda m: ratio(m.value(experiment, "headrace", rate), m.value(experiment, peer, rate))


def _kafka_latency(peer: str) -> Ask:
    return lambda m: ratio(
        m.value("kafka-latency", "headrace", "median_ms"),
        m.value("kafka-latency", peer, "median_ms"),
    )


def _stage(measured: Measured) -> Rounds | None:
    """The cost of one of the two stages that (c) has more than (a), to that of all of (a)."""
    return together(lambda a, c: (a / c - 1) / 2, measured.rate("a"), measured.rate("c"))


def _linear(measured: Measured) -> Rounds | None:
    """The cost of a record in the largest batch to that in the smallest; by the medians, as a
    slope of few seconds swings."""
    seconds = measured.seconds("batch-linear")
    sizes = list(seconds)
    if len(sizes) < 3:
        return None

    def cost(at: int) -> float:
        more = seconds[sizes[at + 1]].median - seconds[sizes[at]].median
        return more / (sizes[at + 1] - sizes[at])

    rounds = min(each.least for each in seconds.values())
    return Rounds("", {0: cost(len(sizes) - 2) / cost(0)}, rounds)


TARGETS = (
    Target("(a) to PyFlink, the best of its settings", 10, _peer("a", "pyflink", "tune")),
    Target("(a) to PySpark's transformWithState (Row)", 4, _peer("a", "spark-state", "tune")),
    Target("(a) to Bytewax, two workers, recovery on", 1, _peer("a", "bytewax", "tune")),
    Target("(a) to Flink SQL's GROUP BY, the fastest", 1 / 1.5, _peer("a", "flink-sql")),
    Target(
        "the same, its state in RocksDB as here",
        1 / 1.5,
        lambda m: ratio(m.rate("a"), m.rate("a", "flink-sql-rocksdb")),
    ),
    Target(
        "(a) to the same source and exchange, with a keyed function that does nothing",
        0.6,
        _against("a", "exchange"),
    ),
    Target("(a) with 1,000,000 keys to 10,000", 0.5, _against("a-million", "a")),
    Target("(a) with Zipf keys to uniform", 0.7, _against("a-zipf", "a")),
    Target("(b) to PyFlink, the better of its modes", 5, _peer("b", "pyflink")),
    Target("a further stage of (c), with its exchange, to all of (a)", 1, _stage, most=True),
    Target("(d) to PyFlink, the better of its modes", 5, _peer("d", "pyflink")),
    Target("(d) to Spark's mapInArrow", 0.8, _peer("d", "spark-arrow")),
    Target(
        "a micro-batch of 100 records to one of a bare transformWithState query",
        1.3,
        _trickle("spark-state"),
        most=True,
    ),
    Target(
        "the same to a query with source and sink in Python, as here",
        1.3,
        _trickle("spark-shape"),
        most=True,
    ),
    Target(
        "latency at 2,000 records/s, median, to PyFlink's default",
        1,
        _latency("median_ms"),
        most=True,
    ),
    Target(
        "latency at 2,000 records/s, 99th percentile, to PyFlink's default",
        1,
        _latency("p99_ms"),
        most=True,
    ),
    Target(
        "first output of a cold start, one keyed stage",
        10,
        lambda m: m.value("start", "headrace-cold", "first_output_seconds"),
        "s",
        most=True,
    ),
    Target(
        "first output on a warm session",
        2,
        lambda m: m.value("start", "headrace-warm", "first_output_seconds"),
        "s",
        most=True,
    ),
    Target(
        "first output of the local runner, from the start of its process",
        0.5,
        lambda m: m.value("start", "headrace-local", "first_output_seconds"),
        "s",
        most=True,
    ),
    Target("local runner on (a)", 300_000, lambda m: m.rate("a", "headrace-local"), "records/s"),
    Target(
        "10,000,000 keys: memory of the largest Python worker",
        1024,
        lambda m: m.value("memory", "headrace", "worker_mib"),
        "MiB",
        most=True,
    ),
    Target(
        "10,000,000 keys: rate to that with 10,000",
        1 / 3,
        lambda m: ratio(_with_keys(m, MAX_KEYS), _with_keys(m, FEW_KEYS)),
    ),
    Target(
        "batch runner on (a) to the streaming runner",
        1.5,
        lambda m: ratio(m.rate("a", "headrace-batch"), m.rate("a")),
    ),
    Target(
        "batch runner: a record's cost at the largest size to that at the smallest",
        1.2,
        _linear,
        most=True,
    ),
    Target("windows to PyFlink, the better of its modes", 40, _peer("windows", "pyflink")),
    Target("windows to Bytewax's, recovery on", 3, _peer("windows", "bytewax")),
    Target("windows to Flink SQL's, state in RocksDB", 2, _only("windows", "flink-sql-rocksdb")),
    Target(
        "windows to Flink SQL's, state on the heap, mini-batches",
        0.5,
        _only("windows", "flink-sql-minibatch"),
    ),
    Target("windows to a loop of plain Python on one core", 0.5, _only("windows", "plain-python")),
    Target(
        "a function of whole windows to PyFlink, the better of its modes",
        15,
        _peer("windows-process", "pyflink"),
    ),
    Target(
        "sliding windows to PyFlink, the better of its modes",
        30,
        _peer("windows-sliding", "pyflink"),
    ),
    Target(
        "what a record costs in sliding windows to tumbling ones",
        1.3,
        _against("windows", "windows-sliding"),
        most=True,
    ),
    Target(
        "sessions to PyFlink, the better of its modes", 10, _peer("windows-sessions", "pyflink")
    ),
    Target("windows with 1,000,000 keys to 10,000", 0.5, _against("windows-million", "windows")),
    Target(
        "100,000 windows: seconds to fire all at once to those to fill them",
        1,
        _firing("headrace"),
        most=True,
    ),
    Target("the same on the local runner", 1, _firing("headrace-local"), most=True),
    Target(
        "100,000 windows: memory of the largest Python worker",
        1024,
        lambda m: m.value("firing", "headrace", "worker_mib"),
        "MiB",
        most=True,
    ),
    Target(
        "100,000 windows: memory of the JVM",
        1024,
        lambda m: m.value("firing", "headrace", "jvm_mib"),
        "MiB",
        most=True,
    ),
    Target(
        "100,000 windows: memory of the local runner",
        1024,
        lambda m: m.value("firing", "headrace-local", "driver_mib"),
        "MiB",
        most=True,
    ),
    Target("windows over columns to Flink SQL's, the fastest", 1, _columns),
    Target("CSV, sums by key as a stream, to Pathway", 1.2, _peer("csv", "pathway")),
    Target(
        "CSV, sums by key as a batch, to Pathway",
        2,
        lambda m: ratio(m.rate("csv", "headrace-batch"), m.beside("pathway", "csv")[1]),
    ),
    Target("CSV, sums by window, to Pathway", 3, _peer("csv-windows", "pathway")),
    Target(
        "Kafka to Kafka, JSON, stateless, to a loop over confluent-kafka in two processes",
        0.8,
        _kafka("kafka", "confluent-kafka"),
    ),
    Target("the same to Quix Streams, two processes", 1, _kafka("kafka", "quix")),
    Target(
        "Kafka to Kafka, keyed count, exactly once, to PyFlink, process mode",
        10,
        _kafka("kafka-count", "pyflink-process"),
    ),
    Target(
        "latency from produce to committed read, median, to PyFlink's, checkpoints each second",
        1,
        _kafka_latency("pyflink-1s"),
        most=True,
    ),
    Target(
        "an interval join to PyFlink's by hand, the better of its modes",
        10,
        _peer("join", "pyflink"),
    ),
    Target("a pattern, 1 % of the events relevant, to Flink's CEP", 2, _only("patterns-1", CEP)),
    Target("a pattern, 10 % of the events relevant, to Flink's CEP", 1, _only("patterns-10", CEP)),
    Target(
        "1,000 rules broadcast to 10,000 keys, to the same rules in the function",
        0.8,
        _only("broadcast", "headrace-constant-rules"),
    ),
    Target(
        "lookups of 20 ms over HTTP, 1,000 at once: how many times one by one",
        800,
        lambda m: m.value(
            "lookups", "headrace-ordered", "times_one_by_one", "over HTTP, 1,000 lookups"
        ),
    ),
    Target(
        "the same with a sleep of 20 ms in place of the service",
        800,
        lambda m: m.value(
            "lookups", "headrace-ordered", "times_one_by_one", "a sleep, 1,000 lookups"
        ),
    ),
    Target(
        "20,000 lookups over HTTP, 1,000 at once, to the client alone",
        1 / 1.2,
        _to_the_client,
    ),
    *(
        Target(
            f"`map_batches` with {model}, columns: time to that of a plain loop",
            1.2,
            _map_batches(f"{model}, columns"),
            most=True,
        )
        for model in ("logistic regression", "boosted trees")
    ),
    Target("Yahoo Streaming Benchmark to PyFlink", 10, _only("ysb", "pyflink")),
    Target("Yahoo Streaming Benchmark to Quix Streams", 1.5, _only("ysb", "quix")),
    Target("Yahoo Streaming Benchmark to Spark's own operators", 1, _only("ysb", "spark")),
    Target("Yahoo Streaming Benchmark to Flink SQL", 0.5, _only("ysb", "flink-sql")),
    Target(
        "Yahoo Streaming Benchmark, median latency at half the rate, to PyFlink's at half of its",
        1,
        lambda m: ratio(
            m.value("ysb-latency", "headrace", "median_ms"),
            m.value("ysb-latency", "pyflink", "median_ms"),
        ),
        most=True,
    ),
    *(
        Target(
            f"Avro of 12 fields, {done}: to 200,000 records/s or fastavro's own loop, "
            "whichever is less",
            1,
            _avro(what),
        )
        for what, done in (("write", "written"), ("read", "read"))
    ),
    Target("SQL: GROUP BY to Flink SQL's, the fastest", 2, _sql("sql-group-by", FLINK_SQL)),
    Target(
        "SQL: GROUP BY with 1,000,000 keys to Flink SQL's, the fastest",
        1,
        _sql("sql-group-by-million", FLINK_SQL),
    ),
    Target("SQL: tumbling windows to Flink SQL's, the fastest", 2, _sql("sql-tumble", FLINK_SQL)),
    Target("SQL: GROUP BY to Spark's own streaming SQL", 1, _sql("sql-group-by", "spark-sql")),
    Target(
        "SQL: filter and projection of Parquet to Spark SQL",
        1,
        _sql("sql-parquet-filter", "spark-sql"),
    ),
    Target(
        "SQL: a Python function, row by row, to PyFlink's, the better of its modes",
        5,
        _sql("sql-python-row", "pyflink-table"),
    ),
    Target(
        "SQL: a Python function over pandas to PyFlink's, the better of its modes",
        5,
        _sql("sql-python-pandas", "pyflink-table"),
    ),
    Target(
        "SQL: Kafka to Kafka, JSON, exactly once, to Flink SQL",
        1,
        lambda m: ratio(
            m.value("sql-kafka", SQL, "records_per_second"),
            m.value("sql-kafka", FLINK_SQL, "records_per_second"),
        ),
    ),
    Target(
        "SQL: the first row of a statement over the local runner, from the start of its process",
        1,
        lambda m: m.value("sql-start", "headrace-sql-local", "first_row_seconds"),
        "s",
        most=True,
    ),
    *(
        Target(
            f"SQL: {what} of JSON, {described}, decoded into columns by one core, in processor"
            " time",
            2_000_000,
            _decoded(rows, what),
            "rows/s",
        )
        for rows, described in (
            ("mixed", "a number, a text, a price and a timestamp"),
            ("numbers", "three numbers"),
        )
        for what in ("lines", "messages")
    ),
)
