"""How the work of a micro-batch is spread over its source tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.runtime.program import SourceProgram
from headrace.runtime.tasks.source_task import SplitWork


def distribute_work(
    works: Sequence[SplitWork], tasks: int, sources: Mapping[Any, SourceProgram]
) -> list[list[SplitWork]]:
    """Cut the work into at most ``tasks`` runs of about equal size, keeping its order.

    Ranges of one split go to several tasks only if its watermarks may be made in several places.
    """
    pieces: list[tuple[SplitWork, int]] = []
    for work in works:
        size = sum(split_range.records for split_range in work.ranges)
        if len(work.ranges) < 2 or sources[work.source].one_task_per_split:
            pieces.append((work, size))
            continue
        last = len(work.ranges) - 1
        for index, split_range in enumerate(work.ranges):
            piece = SplitWork(
                work.source,
                work.split,
                (split_range,),
                announce=work.announce and index == 0,
                finished=work.finished and index == last,
                idle=work.idle,
                state=work.state,
            )
            pieces.append((piece, split_range.records))
    total = sum(size for _, size in pieces)
    runs: list[list[SplitWork]] = [[] for _ in range(tasks)]
    done = 0
    for work, size in pieces:
        # The task in whose share the middle of the piece lies.
        index = min(int((done + size / 2) * tasks / total), tasks - 1) if total else 0
        done += size
        run = runs[index]
        if run and run[-1].split == work.split and run[-1].source == work.source:
            run[-1] = _with_ranges_of(run[-1], work)
        else:
            run.append(work)
    return [run for run in runs if run]


def _with_ranges_of(first: SplitWork, second: SplitWork) -> SplitWork:
    return SplitWork(
        first.source,
        first.split,
        (*first.ranges, *second.ranges),
        announce=first.announce or second.announce,
        finished=second.finished,
        idle=first.idle,
        state=first.state,
    )
