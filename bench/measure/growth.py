"""How the rate changes with keys, record size, stages, key groups and executors, and the price of a
micro-batch with partitions; Headrace only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from bench.contenders import CONTENDERS, FEW_KEYS, MILLION, THOUSAND, Case, Contender
from bench.measure import trickle
from bench.throughput import Plan, Row, figures, one, tell
from bench.throughput import measure as rates_of

LINEAR_SIZES = (1 * MILLION, 10 * MILLION, 25 * MILLION, 50 * MILLION)
PARTITIONS = (2, 8, 32, 128)
_OWN = "headrace"


@dataclass(frozen=True)
class Point:
    """One value on one axis: what runs there and at which sizes."""

    axis: str
    value: int
    sizes: tuple[int, int]
    job: str = "a"
    keys: int = FEW_KEYS
    options: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """As it stands in the results."""
        return f"{self.axis} {self.value:,}"


def points() -> Iterator[Point]:
    """All points at which the rate is taken."""
    for keys in (THOUSAND, FEW_KEYS, 100 * THOUSAND, MILLION):
        yield Point("keys", keys, (4 * MILLION, 12 * MILLION), keys=keys)
    yield Point("keys", 10 * MILLION, (10 * MILLION, 16 * MILLION), keys=10 * MILLION)
    for size, most in ((50, 12_000), (500, 4_000), (2_000, 2_000), (10_000, 500)):
        # A record without a payload takes about as much as the smallest size.
        payload = {"payload": str(size)} if size > 50 else {}
        yield Point("record bytes", size, (most * 250, most * THOUSAND), options=payload)
    for stages in range(1, 6):
        most = 12 * MILLION // (stages + 1)
        yield Point("stages", stages, (2 * MILLION, 2 * MILLION + most), job=f"c{stages}")
    for groups in (16, 64, 128, 256, 1024):
        chosen = {"conf:pipeline.max-parallelism": str(groups)}
        yield Point("key groups", groups, (4 * MILLION, 12 * MILLION), options=chosen)
    for executors in (1, 2):
        chosen = {"executors": str(executors)}
        yield Point("executors", executors, (4 * MILLION, 12 * MILLION), options=chosen)


def measure(plan: Plan) -> list[Row]:
    """One row for each round of each point, with its rate; then what a task more costs."""
    rows: list[Row] = []
    for point in points():
        case = Case(point.name, point.job, point.keys, sizes={_OWN: point.sizes})
        options = {"runner": "streaming", **point.options}
        contender = Contender(_OWN, "headrace_peer", options=options)
        found: list[Row] = []
        for rounds in rates_of([case], Plan(plan.runs, plan.scale), {_OWN: contender}):
            found = rounds[case.name]
        figure = figures(found)[_OWN]
        row: Row = {"contender": _OWN, "point": point.name}
        if figure.failure:
            rows.append({**row, "runs": found, "failure": figure.failure})
            continue
        rows += [{**row, "values": {"records_per_second": rate}} for rate in figure.rates]
        rows[-1]["runs"] = found
    return rows + _tasks(plan)


def _tasks(plan: Plan) -> list[Row]:
    """The cost of a micro-batch of 100 records over the number of partitions, on the same cores."""
    rows: list[Row] = []
    for number in range(plan.runs):
        for partitions in PARTITIONS:
            row = {"round": number, **trickle.cost(trickle.headrace(partitions), plan.scale)}
            tell(row)
            rows.append({**row, "point": f"partitions {partitions}"})
    return rows


def batch_linear(plan: Plan) -> list[Row]:
    """The batch runner's seconds over the size of its input."""
    contender = CONTENDERS["headrace-batch"]
    case = Case("batch-linear", "a")
    rows: list[Row] = []
    for number in range(plan.runs):
        for records in LINEAR_SIZES:
            row = one(case, contender, round(records * plan.scale))
            tell(row)
            row |= {"round": number, "point": f"records {row['records']:,}"}
            if "seconds" in row:
                row["values"] = {"seconds": row["seconds"]}
            rows.append(row)
    return rows
