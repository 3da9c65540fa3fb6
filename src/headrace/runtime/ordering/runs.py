"""Short runs are put together, so that an operator is called with many records at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.runtime.ordering.run import Run

RUN_RECORDS = 512
"""Runs under one watermark are put together up to this many records."""


def merge_adjacent_runs(reads: Iterable[Run]) -> Iterator[Run]:
    """Merge adjacent small runs: a sender often has one or two records between watermarks."""
    short: list[Run] = []
    records = 0
    for run in reads:
        short.append(run)
        records += len(run.values)
        if records >= RUN_RECORDS:
            yield concatenate_runs(short)
            short, records = [], 0
    if short:
        yield concatenate_runs(short)


def concatenate_runs(runs: list[Run]) -> Run:
    """Return the records of several runs of one input, one after another, as one run."""
    if len(runs) == 1:
        return runs[0]
    if not all(isinstance(run.values, list) for run in runs):
        from headrace.runtime.ordering.column_runs import concatenate_column_runs, to_row_run

        together = concatenate_column_runs(runs)
        if together is not None:
            return together
        runs = [*map(to_row_run, runs)]
    keys: list[Any] = []
    values: list[Any] = []
    timestamps: list[int | None] = []
    for run in runs:
        values += run.values
        if run.keys is not None:
            keys += run.keys
        timestamps += [None] * len(run.values) if run.timestamps is None else run.timestamps
    return Run(keys or None, values, timestamps, runs[0].input)
