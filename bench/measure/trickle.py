"""What a micro-batch of 100 records costs: Headrace beside bare transformWithState queries.

Each runs few and many micro-batches back to back; the slope is the cost of one. ``spark-shape`` has
a source and a sink in Python as Headrace has; ``spark-state`` reads Spark's own source in the JVM
and writes to its memory sink, so it has two Python parts fewer. Each is there as it comes and, as
``-light``, with the settings of Headrace's own session that make small micro-batches cheap.
"""

from __future__ import annotations

from bench.contenders import FEW_KEYS, Case, Contender
from bench.throughput import NO_SLOPE, Plan, Row, one, tell

RECORDS = 100
BATCHES = (20, 40)
"""How many come first, and how many more there are in the larger run."""

LIMIT_SECONDS = 400
SECONDS_PER_PARTITION = 10
"""How long a run may take, with the time that a partition adds to it."""


def headrace(partitions: int = 2, **more: str) -> Contender:
    """Headrace with micro-batches of so many records; ``more`` options of its peer."""
    options = {
        "runner": "streaming",
        "conf:headrace.source.max-records-per-batch": str(RECORDS),
        "conf:parallelism.default": str(partitions),
        **more,
    }
    limit = LIMIT_SECONDS + SECONDS_PER_PARTITION * partitions
    return Contender("headrace", "headrace_peer", options=options, limit_seconds=limit)


def _spark(module: str, light: bool) -> Contender:
    name = module.replace("_", "-") + ("-light" if light else "")
    options = {"batch": str(RECORDS), "light": str(int(light))}
    return Contender(name, module, options=options)


CONTENDERS = (
    headrace(),
    *(
        _spark(module, light)
        for module in ("spark_shape", "spark_state")
        for light in (False, True)
    ),
)
_CASE = Case("trickle", "a", FEW_KEYS)


def measure(plan: Plan) -> list[Row]:
    """One row for each contender."""
    rows: list[Row] = []
    for contender in CONTENDERS:
        if plan.takes(contender.name):
            rows.append(cost(contender, *batches(plan.scale)))
            tell(rows[-1])
    return rows


def batches(scale: float, warm_up: int = 2) -> tuple[int, int]:
    """The micro-batches of the smaller run, a warm-up at least, and of the larger."""
    first, more = (round(count * scale) for count in BATCHES)
    few = max(first, warm_up)
    return few, few + max(more, 2)


def cost(contender: Contender, few: int, many: int) -> Row:
    """The row of a round: the cost of a micro-batch in ms, by the slope between so many of them.

    Also the processor time of all its processes and, where they are told, the time of its tasks,
    and the processor time that the driver's JVM and its Python used: without its tasks' if the
    executors are processes of their own.
    """
    seconds, of_all, of_tasks, of_driver = [], [], [], []
    for count in (few, many):
        row = one(_CASE, contender, count * RECORDS)
        if "failure" in row:
            return row
        ran = row["facts"].get("micro_batches", count)
        if ran < count:
            return {**row, "failure": f"{ran} micro-batches, not {count}"}
        seconds.append(row["seconds"])
        if "processor_seconds" in row["facts"]:
            of_all.append(sum(row["facts"]["processor_seconds"].values()))
        if "task_seconds" in row["facts"]:
            of_tasks.append(row["facts"]["task_seconds"])
            used = row["facts"]["processor_seconds"]
            of_driver.append(used["jvm"] + used["driver"])
    if seconds[1] <= seconds[0]:
        return {**row, "failure": NO_SLOPE}
    measured = {"ms": seconds, "processor_ms": of_all, "task_ms": of_tasks, "driver_ms": of_driver}
    values = {
        f"{name}_per_batch": 1000 * (found[1] - found[0]) / (many - few)
        for name, found in measured.items()
        if found
    }
    return {**row, "values": values}
