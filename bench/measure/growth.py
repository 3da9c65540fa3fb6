"""How the rate changes with keys, record size, stages, key groups and executors, and the price of a
micro-batch with partitions; Headrace only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bench.contenders import (
    CONTENDERS,
    FEW_KEYS,
    MAX_KEYS,
    MILLION,
    THOUSAND,
    Case,
    Contender,
    size,
)
from bench.measure import memory, trickle
from bench.throughput import Plan, Row, one, slope, tell

LINEAR_SIZES = (1 * MILLION, 10 * MILLION, 25 * MILLION, 50 * MILLION)
RECORD_BYTES = {
    50: (3 * MILLION, 12 * MILLION),
    500: (1 * MILLION, 4 * MILLION),
    2_000: (500 * THOUSAND, 1_500 * THOUSAND),
    10_000: (200 * THOUSAND, 400 * THOUSAND),
}
"""By size of a record: the numbers of records. The smaller is behind the first, small
micro-batches."""

BARE_BYTES = 20
"""About what a record takes on its way without a payload, its key included."""

PARTITIONS = (2, 8, 32, 128)
_ALL_BATCHES = 16
"""Up to so many partitions it is as many micro-batches as with two; then fewer, as each is long."""

_WARM_UP = 6
"""But at least so many before those that count."""

_OWN = "headrace"


@dataclass(frozen=True)
class Point:
    """One value on one axis: what runs there and at which sizes."""

    axis: str
    value: int
    sizes: tuple[int, int]
    job: str = "a"
    keys: int = FEW_KEYS
    distribution: str = "uniform"
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As it stands in the results."""
        return f"{self.axis} {self.value:,}"


def points() -> Iterator[Point]:
    """All points at which the rate is taken."""
    for keys in (THOUSAND, FEW_KEYS, 100 * THOUSAND, MILLION):
        yield Point("keys", keys, (4 * MILLION, 12 * MILLION), keys=keys)
    sizes = MAX_KEYS, MAX_KEYS + 6 * MILLION
    yield Point("keys", MAX_KEYS, sizes, keys=MAX_KEYS, distribution=memory.EACH)
    for width, sizes in RECORD_BYTES.items():
        payload = {"payload": str(width - BARE_BYTES)}
        yield Point("record bytes", width, sizes, options=payload)
    for stages in range(1, 6):
        more = 12 * MILLION // (stages + 1)
        yield Point("stages", stages, (3 * MILLION, 3 * MILLION + more), job=f"c{stages}")
    for groups in (16, 64, 128, 256, 1024):
        chosen = {"conf:pipeline.max-parallelism": str(groups)}
        yield Point("key groups", groups, (4 * MILLION, 12 * MILLION), options=chosen)
    for executors in (1, 2):
        chosen = {"executors": str(executors)}
        yield Point("executors", executors, (4 * MILLION, 12 * MILLION), options=chosen)


def measure(plan: Plan) -> list[Row]:
    """One row for each point, with its rate; then the price of a micro-batch."""
    rows = []
    for point in points():
        options = {"runner": "streaming", **point.options}
        contender = Contender(_OWN, "headrace_peer", options=options)
        case = Case(point.name, point.job, point.keys, point.distribution)
        sizes = [size(records, plan.scale) for records in point.sizes]
        rows.append({**slope(case, contender, sizes), "point": point.name})
    return rows + _partitions(plan)


def _partitions(plan: Plan) -> list[Row]:
    """The cost of a micro-batch of 100 records over the number of partitions, on two executors.

    With the time of its tasks, which more executors would share, and the driver's processor time.
    """
    rows: list[Row] = []
    for partitions in PARTITIONS:
        fewer = min(1.0, _ALL_BATCHES / partitions)
        contender = trickle.headrace(partitions, events="1", executors="2")
        row = trickle.cost(contender, *trickle.batches(plan.scale * fewer, _WARM_UP))
        tell(row)
        rows.append({**row, "point": f"partitions {partitions}"})
    return rows


def batch_linear(plan: Plan) -> list[Row]:
    """The batch runner's seconds over the size of its input."""
    contender = CONTENDERS["headrace-batch"]
    case = Case("batch-linear", "a")
    rows: list[Row] = []
    for records in LINEAR_SIZES:
        row = one(case, contender, round(records * plan.scale))
        tell(row)
        row["point"] = f"records {row['records']:,}"
        if "seconds" in row:
            row["values"] = {"seconds": row["seconds"]}
        rows.append(row)
    return rows
