"""What issue 4 asks for, each as a number that follows from the results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from bench.throughput import Figure, figures


class Measured:
    """Questions to the results; None where something was not measured or failed."""

    def __init__(self, results: dict[str, dict[str, Any]]) -> None:
        self._results = results
        self._rounds: list[int] = []

    def ask(self, target: Target) -> tuple[float | None, int]:
        """A target's number, and the rounds behind the figure in it that has the fewest."""
        self._rounds = []
        number = target.ask(self)
        return number, min(self._rounds, default=0)

    def rows(self, experiment: str) -> list[dict[str, Any]]:
        """An experiment's rows."""
        rows: list[dict[str, Any]] = self._results.get(experiment, {}).get("rows", [])
        return rows

    def rate(self, case: str, contender: str = "headrace") -> float | None:
        """Records per second, the median."""
        return self._rate(figures(self.rows(case)).get(contender))

    def best(self, cases: Sequence[str], prefix: str) -> float | None:
        """The rate of the fastest of a peer's variants in some cases of the same job."""
        found = [f for case in cases for f in figures(self.rows(case)).values()]
        rated = [f for f in found if f.contender.startswith(prefix) and f.rate]
        return self._rate(max(rated, key=lambda f: f.rate or 0, default=None))

    def _rate(self, figure: Figure | None) -> float | None:
        if figure is None or figure.rate is None:
            return None
        self._rounds.append(len(figure.rates))
        return figure.rate

    def value(
        self, experiment: str, contender: str, name: str, point: str | None = None
    ) -> float | None:
        """The median of one value over the rows of a contender, at a point where there are some."""
        found: list[float] = [
            row["values"][name]
            for row in self.rows(experiment)
            if (row["contender"], row.get("point") if point else None) == (contender, point)
            and name in row.get("values", {})
        ]
        if not found:
            return None
        self._rounds.append(len(found))
        return median(found)

    def seconds(self, experiment: str) -> dict[int, float]:
        """The median of the seconds by the number of records."""
        found: dict[int, list[float]] = {}
        for row in self.rows(experiment):
            if "values" in row:
                found.setdefault(row["records"], []).append(row["values"]["seconds"])
        self._rounds += [len(seconds) for seconds in found.values()]
        return {size: median(found[size]) for size in sorted(found)}


@dataclass(frozen=True)
class Target:
    """``ask`` gives the number, which should be at least (or, ``most``, at most) ``bound``."""

    text: str
    bound: float
    ask: Callable[[Measured], float | None]
    unit: str = "x"
    most: bool = False

    def met(self, number: float) -> bool:
        """Whether a number is good enough."""
        return number <= self.bound if self.most else number >= self.bound


def ratio(above: float | None, below: float | None) -> float | None:
    """A quotient, None where either is missing."""
    return above / below if above is not None and below else None


def _peer(case: str, prefix: str, *more: str) -> Callable[[Measured], float | None]:
    return lambda m: ratio(m.rate(case), m.best([case, *more], prefix))


def _against(case: str, other: str) -> Callable[[Measured], float | None]:
    return lambda m: ratio(m.rate(case), m.rate(other))


def _trickle(contender: str) -> Callable[[Measured], float | None]:
    """To the faster of a query with Spark's settings and with Headrace's."""

    def ask(measured: Measured) -> float | None:
        names = contender, f"{contender}-light"
        found = [measured.value("trickle", name, "ms_per_batch") for name in names]
        least = min((ms for ms in found if ms is not None), default=None)
        return ratio(measured.value("trickle", "headrace", "ms_per_batch"), least)

    return ask


def _latency(value: str) -> Callable[[Measured], float | None]:
    return lambda m: ratio(
        m.value("latency", "headrace", value), m.value("latency", "pyflink-default", value)
    )


def _stage(measured: Measured) -> float | None:
    """The cost of one of the two stages that (c) has more than (a), to that of all of (a)."""
    one, three = measured.rate("a"), measured.rate("c")
    return (one / three - 1) / 2 if one and three else None


def _linear(measured: Measured) -> float | None:
    """The cost of a record in the largest batch to that in the smallest."""
    seconds = measured.seconds("batch-linear")
    sizes = list(seconds)
    if len(sizes) < 3:
        return None

    def cost(at: int) -> float:
        return (seconds[sizes[at + 1]] - seconds[sizes[at]]) / (sizes[at + 1] - sizes[at])

    return ratio(cost(len(sizes) - 2), cost(0))


TARGETS = (
    Target("(a) to PyFlink, the best of its settings", 10, _peer("a", "pyflink", "tune")),
    Target("(a) to PySpark's transformWithState (Row)", 4, _peer("a", "spark-state")),
    Target("(a) to Bytewax, two workers, recovery on", 1, _peer("a", "bytewax", "tune")),
    Target("(a) to Flink SQL's GROUP BY, the fastest", 1 / 1.5, _peer("a", "flink-sql")),
    Target(
        "the same, its state in RocksDB as Spark's is",
        1 / 1.5,
        lambda m: ratio(m.rate("a"), m.rate("a", "flink-sql-rocksdb")),
    ),
    Target("(a) to the same job's source and exchange alone", 0.6, _against("a", "exchange")),
    Target("(a) with 1,000,000 keys to 10,000", 0.5, _against("a-million", "a")),
    Target("(a) with Zipf keys to uniform", 0.7, _against("a-zipf", "a")),
    Target("(b) to PyFlink, the better of its modes", 5, _peer("b", "pyflink")),
    Target("a further stage of (c), with its exchange, to all of (a)", 1, _stage, most=True),
    Target("(d) to PyFlink, the better of its modes", 5, _peer("d", "pyflink")),
    Target("(d) to Spark's mapInArrow", 0.8, _peer("d", "spark-arrow")),
    Target(
        "a micro-batch of 100 records to one of a bare transformWithState query of its shape",
        1.3,
        _trickle("spark-shape"),
        most=True,
    ),
    Target(
        "the same to a query with source and sink in the JVM",
        1.3,
        _trickle("spark-state"),
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
        lambda m: ratio(m.value("memory", "headrace", "records_per_second"), m.rate("a")),
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
)
