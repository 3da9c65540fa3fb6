"""The order in which a keyed task reads the blocks of a batch: by timestamp."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice, pairwise
from operator import itemgetter, le
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.runtime.block import Block, Mark
from headrace.runtime.ordering.run import Read, Run
from headrace.runtime.ordering.runs import concatenate_runs, merge_adjacent_runs

RECORDS_BETWEEN = 512
"""So many records of a batch are read from one watermark to the next, or a few more."""

_SHORT = 16
"""Columns that would be cut into runs of fewer records than this are read as rows."""


def merge_batch_blocks(blocks: Sequence[Block], channels: Iterable[Any]) -> Iterator[Read]:
    """Yield all records by timestamp (those without one first), then the final watermark.

    If timestamps are equal, records of the first input are first. ``channels``: the known channels;
    those of the blocks are added. A batch is complete, so all its inputs end after the records.
    """
    by_input: dict[int, list[Block]] = {}
    for block in blocks:
        if block.values:
            by_input.setdefault(block.input, []).append(block)
    in_time = [_sort_input_by_time(full) for _, full in sorted(by_input.items())]
    yield from (
        in_time[0] if len(in_time) == 1 else _merge_inputs_by_time(map(_concatenate, in_time))
    )
    for channel in known_channels(blocks, channels):
        yield Mark(0, channel, MAX_WATERMARK)


def with_watermarks(reads: Iterable[Read]) -> Iterator[Read | int]:
    """Add watermarks (ms, as int) of all inputs between records with different timestamps.

    There is one after every ``RECORDS_BETWEEN`` records: a watermark costs its receiver more than a
    record does, and only makes timers fire earlier.
    """
    read_since = 0
    latest_ms = MAX_WATERMARK
    for read in reads:
        if isinstance(read, Mark) or read.timestamps is None:
            yield read
            continue
        stamps, start = read.timestamps, 0
        while start < len(stamps):
            stamp = stamps[start]
            if read_since >= RECORDS_BETWEEN and stamp is not None and stamp > latest_ms:
                yield stamp - 1
                read_since = 0
            stop = min(start + max(RECORDS_BETWEEN - read_since, 1), len(stamps))
            while stop < len(stamps) and stamps[stop] == stamps[stop - 1]:
                stop += 1
            yield read.slice(start, stop)
            last = stamps[stop - 1]
            latest_ms = MIN_WATERMARK if last is None else last
            read_since += stop - start
            start = stop


def _sort_input_by_time(blocks: Sequence[Block]) -> Iterator[Run]:
    """Yield the records of one input by timestamp."""
    every = map(Run.of, blocks)
    if all(block.timestamps is None for block in blocks):
        yield from merge_adjacent_runs(every)
    else:
        yield _sort_by_time(concatenate_runs([*every]))


def sort_batch_by_time(blocks: Sequence[Block]) -> Run:
    """Return all records of one input of a batch, sorted by timestamp; there must be some."""
    return _concatenate(_sort_input_by_time([block for block in blocks if block.values]))


def _concatenate(runs: Iterable[Run]) -> Run:
    return concatenate_runs([*runs])


def _merge_inputs_by_time(inputs: Iterable[Run]) -> Iterator[Run]:
    """Yield the records of several inputs, each by timestamp already, merged by timestamp."""
    runs = [*inputs]
    moments = [
        [MIN_WATERMARK if stamp is None else stamp for stamp in run.timestamps or ()]
        or [MIN_WATERMARK] * len(run.values)
        for run in runs
    ]
    # A sort that keeps the order of equals merges sequences that are in order in linear time.
    turns = [(stamp, number) for number, stamps in enumerate(moments) for stamp in stamps]
    turns.sort(key=itemgetter(0))
    if not all(isinstance(run.values, list) for run in runs):
        pieces = 1 + sum(one[1] != other[1] for one, other in pairwise(turns))
        if pieces * _SHORT > len(turns):
            from headrace.runtime.ordering.column_runs import to_row_run

            runs = [*map(to_row_run, runs)]
    at = [0] * len(runs)
    for number, found in groupby(turns, key=itemgetter(1)):
        start = at[number]
        at[number] += sum(1 for _ in found)
        yield runs[number].slice(start, at[number])


def known_channels(blocks: Iterable[Block], known: Iterable[Any]) -> list[Any]:
    """Return the known channels, and then those that marks of the blocks name."""
    named = (mark.channel for block in blocks for mark in block.marks)
    return [*dict.fromkeys([*known, *named])]


def _sort_by_time(run: Run) -> Run:
    """Return the records in the order of their timestamps, those without one first."""
    if not isinstance(run.values, list):
        from headrace.runtime.ordering.column_runs import (
            sort_columns_by_time,  # jobs with rows start without it
        )

        return sort_columns_by_time(run)
    assert run.timestamps is not None
    moments = [MIN_WATERMARK if stamp is None else stamp for stamp in run.timestamps]
    if all(map(le, moments, islice(moments, 1, None))):
        return run  # senders that do not overlap in time
    order = sorted(range(len(moments)), key=moments.__getitem__)
    known: Any = run.keys
    keys = None if known is None else [*map(known.__getitem__, order)]
    timestamps = [*map(run.timestamps.__getitem__, order)]
    return Run(keys, [*map(run.values.__getitem__, order)], timestamps, run.input)
