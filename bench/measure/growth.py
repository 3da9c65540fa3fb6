"""How the rate changes with keys, record size, stages, key groups and executors; Headrace only."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from bench.contenders import CONTENDERS, FEW_KEYS, MILLION, THOUSAND, Case, Contender
from bench.throughput import Plan, Row, figures, one, tell
from bench.throughput import measure as rates_of

LINEAR_SIZES = (1 * MILLION, 10 * MILLION, 25 * MILLION, 50 * MILLION)
_OWN = "headrace"


@dataclass(frozen=True)
class Point:
    """One value on one axis: what runs there and at which sizes."""

    axis: str
    value: int
    case: Case
    options: dict[str, str]


def _point(
    axis: str,
    value: int,
    sizes: tuple[int, int],
    job: str = "a",
    keys: int = FEW_KEYS,
    options: dict[str, str] | None = None,
) -> Point:
    case = Case(f"{axis} {value:,}", job, keys, sizes={_OWN: sizes})
    return Point(axis, value, case, {"runner": "streaming", **(options or {})})


def points() -> Iterator[Point]:
    """All points of all axes."""
    for keys in (THOUSAND, FEW_KEYS, 100 * THOUSAND, MILLION):
        yield _point("keys", keys, (1 * MILLION, 6 * MILLION), keys=keys)
    yield _point("keys", 10 * MILLION, (10 * MILLION, 16 * MILLION), keys=10 * MILLION)
    for size, most in ((50, 4_000), (500, 2_000), (2_000, 1_000), (10_000, 300)):
        sizes = (most * THOUSAND // 5, most * THOUSAND)
        # A record without a payload takes about as much as the smallest size.
        payload = {"payload": str(size)} if size > 50 else {}
        yield _point("record bytes", size, sizes, options=payload)
    for stages in range(1, 6):
        sizes = (500 * THOUSAND, 6 * MILLION // (stages + 1))
        yield _point("stages", stages, sizes, job=f"c{stages}")
    for groups in (16, 64, 128, 256, 1024):
        chosen = {"conf:pipeline.max-parallelism": str(groups)}
        yield _point("key groups", groups, (1 * MILLION, 4 * MILLION), options=chosen)
    for executors in (1, 2):
        chosen = {"executors": str(executors)}
        yield _point("executors", executors, (1 * MILLION, 4 * MILLION), options=chosen)


def measure(plan: Plan) -> list[Row]:
    """One row for each round of each point, with its rate."""
    rows: list[Row] = []
    for point in points():
        contender = Contender(_OWN, "headrace_peer", options=point.options)
        found: list[Row] = []
        for rounds in rates_of([point.case], Plan(plan.runs, plan.scale), {_OWN: contender}):
            found = rounds[point.case.name]
        figure = figures(found)[_OWN]
        row: Row = {"contender": _OWN, "point": point.case.name, "runs": found}
        if figure.failure:
            rows.append({**row, "failure": figure.failure})
            continue
        rows += [{**row, "values": {"records_per_second": rate}} for rate in figure.rates[:1]]
        rows += [
            {"contender": _OWN, "point": point.case.name, "values": {"records_per_second": rate}}
            for rate in figure.rates[1:]
        ]
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
