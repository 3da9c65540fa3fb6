"""Computes the rate of job (a) on 100 executors from measurements on two cores."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from typing import NamedTuple

from bench import layers, workload
from bench.contenders import FEW_KEYS, MANY_KEYS
from bench.measure.growth import PARTITIONS
from bench.targets import Measured
from bench.throughput import figures
from headrace.runtime.block import Block, encode

EXECUTORS, CORES_EACH = 100, 4
CORES = EXECUTORS * CORES_EACH
BATCH_SECONDS, LONGEST_SECONDS, FIXED_PARTS = 10, 60, 3
"""The engine's pacing (docs/adr/0011-pacing.md): a micro-batch takes ``BATCH_SECONDS``, or
``FIXED_PARTS`` times its fixed price if that is longer, up to ``LONGEST_SECONDS``."""

KEY_GROUPS = 128
MORE_KEY_GROUPS = 1_024
STAGE = ("decode", "stage in pages")
"""The layers that process a record on the core of its key."""

_LEAST_US = 0.005
"""Anything below this would be printed as 0.00."""

Line = tuple[str, str, str]


class _Price(NamedTuple):
    """Processor time of an almost empty micro-batch: of the driver, and of all tasks together."""

    partitions: int
    driver_ms: float
    tasks_ms: float


def lines(measured: Measured) -> Iterator[Line]:
    """Yield rows (what, figure, where it comes from); none if a measurement is missing."""
    used = _record(measured)
    prices = [price for at in PARTITIONS if (price := _fixed(measured, at)) is not None]
    if not used or len(prices) < len(PARTITIONS):
        return
    record_us = sum(used.values())
    ideal = CORES / record_us * 1e6
    costs = ", ".join(f"{kind} {us:.2f}" for kind, us in used.items())
    at = f"with {MORE_KEY_GROUPS:,} key groups: {costs}"
    yield "processor time of a record", f"{record_us:.2f} us", f"measured {at}"
    yield f"{CORES} cores at that price", _rate(ideal), "if nothing else had a cost"
    for price in prices:
        yield (
            f"a micro-batch's fixed price with {price.partitions} partitions",
            f"driver {price.driver_ms:,.0f} ms, tasks {price.tasks_ms:,.0f} ms",
            "measured",
        )
    some, many = prices[-2:]
    slope = (many.driver_ms - some.driver_ms) / (many.partitions - some.partitions)
    driver_ms = many.driver_ms + slope * (CORES - many.partitions)
    yield (
        f"the driver's part of it with {CORES} partitions",
        f"{driver_ms:,.0f} ms",
        f"extrapolated from {some.partitions} and {many.partitions} partitions",
    )
    seconds = (driver_ms + many.tasks_ms / many.partitions) / 1000
    yield (
        "duration of an almost empty micro-batch: the lowest latency",
        f"{seconds:.1f} s",
        "the driver's part, then the tasks, with one core for each partition",
    )
    batch_seconds = max(BATCH_SECONDS, min(FIXED_PARTS * seconds, LONGEST_SECONDS))
    share = min(seconds / batch_seconds, 1)
    rate = ideal * (1 - share)
    yield (
        f"rate in micro-batches of {batch_seconds:.0f} s",
        _rate(rate),
        f"{share:.0%} of each micro-batch is the fixed price",
    )
    yield from _lines_of_keys(measured)
    yield from _lines_of_shuffle(rate)


def _lines_of_keys(measured: Measured) -> Iterator[Line]:
    name = layers.contender(FEW_KEYS)
    parts = [measured.value("layers", name, "us_per_record", layer) for layer in STAGE]
    stage_us = sum(part.median for part in parts if part is not None)
    if None in parts:
        return
    for keys in (FEW_KEYS, MANY_KEYS):
        share = workload.ZipfRecords(keys).share_of_first()
        yield (
            f"rate at which the most frequent of {keys:,} Zipf keys uses all of its core",
            _rate(1e6 / stage_us / share),
            f"the key has {share:.1%} of the records; decode and stage cost {stage_us:.2f} us",
        )
    yield (
        f"busy cores in a keyed stage with {KEY_GROUPS} key groups",
        f"{min(KEY_GROUPS, CORES)} of {CORES}",
        "all records of a key group are on one core",
    )


def _lines_of_shuffle(rate: float) -> Iterator[Line]:
    record = workload.record_function(FEW_KEYS)
    values = [record(index) for index in range(512)]
    block = Block([value[0] for value in values], values, None, False, [], None, 0)
    size = len(encode(block)) / len(values)
    yield (
        "data that each machine sends in an exchange",
        f"{rate * size / EXECUTORS / 1e6:,.0f} MB/s",
        f"{size:.0f} bytes a record",
    )
    yield (
        f"blocks between two keyed stages with {MORE_KEY_GROUPS:,} key groups",
        f"up to {MORE_KEY_GROUPS**2:,}",
        "in each micro-batch: from each group to each group; groups with few records share a block",
    )


def _record(measured: Measured) -> dict[str, float]:
    """Microseconds of processor time of a record in each kind of process, where it has any."""
    used: dict[str, list[float]] = {}
    for row in measured.rows("growth"):
        if row["point"] == f"key groups {MORE_KEY_GROUPS:,}" and "runs" in row:
            for figure in figures(row["runs"]).values():
                for kind, us in figure.processor.items():
                    used.setdefault(kind, []).append(us)
    return {kind: us for kind, each in used.items() if (us := median(each)) >= _LEAST_US}


def _fixed(measured: Measured, partitions: int) -> _Price | None:
    at = f"partitions {partitions}"
    driver = measured.value("growth", "headrace", "driver_ms_per_batch", at)
    tasks = measured.value("growth", "headrace", "task_ms_per_batch", at)
    if driver is None or tasks is None:
        return None
    return _Price(partitions, driver.median, tasks.median)


def _rate(records_per_second: float) -> str:
    return f"{records_per_second / 1e6:,.1f} million records/s"
