"""What joins keep while their input grows: ``python -m bench.measure.joins [--svg FILE]``.

Two streams of one rate, 10,000 keys, timestamps up to 5 s out of order. After every so many
records: the records that a join keeps (heap backend), and the bytes of its state, timers included,
as a state store holds them (paged backend). Both are bounded by time, so they stop to grow when the
first records are old enough.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from headrace.metrics.metricbase import MetricGroup
from headrace.operators.joins import as_of, interval
from headrace.operators.joins.base import LEFT, RIGHT
from headrace.runtime.block import Block, Mark
from headrace.runtime.channel import Channel
from headrace.runtime.context import TaskInfo
from headrace.runtime.operator import NodeProgram, OperatorSpec
from headrace.runtime.program import ChainProgram, JobProgram, Settings, VertexProgram
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.tasks.keyed_task import KeyedTask, TaskInput
from headrace.runtime.user_function import UserFunction

KEYS, RATE, DISORDER_MS = 10_000, 5_000, 5_000
"""``RATE``: records a second of each stream."""

REACH_MS = 10_000
CHUNK = 2_500
POINTS = (25_000, 50_000, 100_000, 150_000, 200_000, 300_000, 400_000)

INPUTS = Channel("left"), Channel("right")


class Kept(NamedTuple):
    """What is kept after so many ``records`` of both streams together."""

    records: int
    left: int
    right: int
    state_bytes: int


class _Drops:
    """Stands for a user's function that makes nothing of a pair."""

    def process_element(self, left: Any, right: Any, context: Any) -> None:
        return None


def joins() -> dict[str, OperatorSpec]:
    """Joins by name."""
    function = UserFunction(_Drops(), "process_element")
    within = interval.IntervalJoinSpec(function, -REACH_MS, REACH_MS)
    nearest = as_of.AsOfJoinSpec(function, "process", tolerance_ms=REACH_MS)
    latest = as_of.AsOfJoinSpec(function, "process")
    return {
        "interval join, 10 s to both sides": within,
        "as-of join, tolerance 10 s": nearest,
        "as-of join without tolerance": latest,
    }


class Join:
    """A join at work in one key group, on either backend."""

    def __init__(self, spec: OperatorSpec, paged: bool) -> None:
        node = NodeProgram("join", "join", None, "", spec, ())
        chain = ChainProgram(node.id, {node.id: node}, ())
        inputs = {channel.exchange: number for number, channel in enumerate(INPUTS)}
        vertex = VertexProgram(node.id, 1, True, 1, 1, chain, INPUTS, inputs=inputs)
        job = JobProgram("joins", "", (), ((vertex,),), (), Settings(), 1)
        self._task = KeyedTask(vertex, job, TaskInfo(max_parallelism=1), MetricGroup())
        self.heap = HeapBackend()
        self.pages = MemoryPages() if paged else None

    def take(self, *blocks: Block) -> None:
        """One micro-batch."""
        for _ in self._task.advance(TaskInput(0, blocks, 0), self._backend()):
            raise AssertionError("the join has no receivers")

    def _backend(self) -> StateBackend:
        return self.heap if self.pages is None else PagedBackend(self.pages, 1)


def blocks(records: int) -> Iterator[list[Block]]:
    """Micro-batches: records of both streams, and the watermark after them."""
    drawn, number = random.Random(7), 0
    while number < records // 2:
        made, latest = [], 0
        for side, channel in enumerate(INPUTS):
            at = [number + index for index in range(CHUNK)]
            keys = [f"user-{drawn.randrange(KEYS)}" for _ in at]
            latest = (number + CHUNK) * 1_000 // RATE
            times: list[int | None] = [
                each * 1_000 // RATE - drawn.randrange(DISORDER_MS) for each in at
            ]
            mark = Mark(CHUNK, channel, latest - DISORDER_MS - 1)
            values = [*zip(keys, at, strict=True)]
            opening = ((0, channel),)
            made.append(
                Block(
                    keys, values, times, False, [mark], None, 0, channel_starts=opening, input=side
                )
            )
        yield made
        number += CHUNK


def measure(points: tuple[int, ...] = POINTS) -> dict[str, list[Kept]]:
    """For each join, what it keeps at each number of records."""
    found: dict[str, list[Kept]] = {}
    for name, spec in joins().items():
        on_heap, in_pages = Join(spec, paged=False), Join(spec, paged=True)
        assert in_pages.pages is not None
        rows = found[name] = []
        done = 0
        for given in blocks(max(points)):
            on_heap.take(*given)
            in_pages.take(*given)
            done += len(given) * CHUNK
            if done in points:
                entries = [entry for _, entry in on_heap.heap.scan()]
                sides = (sum(len(each.get(side, ())) for each in entries) for side in (LEFT, RIGHT))
                size = sum(map(len, in_pages.pages.records.values()))
                rows.append(Kept(done, *sides, size))
    return found


def svg(found: dict[str, list[Kept]]) -> str:
    """The records kept over the records read, one line for each join."""
    wide, high, left, low = 620, 300, 70, 50
    most_read = max(row.records for rows in found.values() for row in rows)
    most = max(row.left + row.right for rows in found.values() for row in rows) * 1.25
    colours = ("#1f77b4", "#d62728", "#2ca02c")

    def place(read: float, kept: float) -> str:
        x = left + read / most_read * (wide - left - 20)
        return f"{x:.0f},{high - low - kept / most * (high - low - 20):.0f}"

    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{wide}" height="{high}" fill="white"/>',
        f'<polyline points="{place(0, most)} {place(0, 0)} {place(most_read, 0)}" fill="none" '
        'stroke="black"/>',
        f'<text x="{wide // 2}" y="{high - 10}" text-anchor="middle">records read of both streams,'
        f" {2 * RATE:,} a second</text>",
        f'<text transform="translate(16 {high // 2}) rotate(-90)" text-anchor="middle">'
        "records kept</text>",
    ]
    for read in _ticks(most_read):
        x, y = place(read, 0).split(",")
        lines.append(f'<text x="{x}" y="{int(y) + 16}" text-anchor="middle">{read:,}</text>')
    for kept in _ticks(most):
        x, y = place(0, kept).split(",")
        lines.append(f'<text x="{int(x) - 6}" y="{int(y) + 4}" text-anchor="end">{kept:,}</text>')
    drawn = zip(colours, (-6, -6, 16), found.items(), strict=True)  # two lines lie on each other
    for colour, beside, (name, rows) in drawn:
        points = " ".join(place(row.records, row.left + row.right) for row in rows)
        last = rows[-1].left + rows[-1].right
        x, y = place(most_read, last).split(",")
        lines += [
            f'<polyline points="{place(0, 0)} {points}" fill="none" stroke="{colour}" '
            'stroke-width="2"/>',
            f'<text x="{x}" y="{int(y) + beside}" text-anchor="end" fill="{colour}">'
            f"{name}: {last:,}</text>",
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def _ticks(most: float) -> list[int]:
    """Four or more round numbers from 0 to ``most``."""
    step = next(
        size * 10**power
        for power in range(9, -1, -1)
        for size in (5, 2, 1)
        if size * 10**power * 4 <= most
    )
    return [*range(0, int(most) + 1, step)]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--svg", type=Path, help="draw it into this file")
    found = measure()
    print("| join | records read | left kept | right kept | state, MB |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, rows in found.items():
        for row in rows:
            cells = f"{row.records:,} | {row.left:,} | {row.right:,}"
            print(f"| {name} | {cells} | {row.state_bytes / 1e6:.1f} |")
    path = parser.parse_args().svg
    if path is not None:
        path.write_text(svg(found), "utf-8")


if __name__ == "__main__":
    main()
