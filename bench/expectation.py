"""What each job must give out, worked out by the plainest loop that does it.

A tally is the number of outputs and the sums of some of their fields. The sum that job (a) keeps
(and ``rules``) depends on the order in which a key's records arrive, which no peer with two readers
promises; so that field has a tolerance, and all others are exact. In (b) so do the sums of single
timers: what is checked is that each timer fired once, and that no record is missing in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench import two_streams, workload
from bench.sql import program, statements

Tally = tuple[int, ...]
"""The number of outputs, then the sum of each counted field."""

CHUNK = 1_000_000
"""So many indexes are made records at a time."""


@cache
def expected(job: str, records: int, keys: int, distribution: str, scratch: Path) -> Tally:
    """The tally of a job over the first ``records`` records."""
    if job == "d":
        return _stateless(records, scratch)
    if job == "csv":
        return _last_sums(records, keys)
    if job == "we":
        return _sessions(records, keys)
    if workload.is_windowed(job):
        slides = workload.SLIDE_MS, workload.SLIDING_MS
        tumbles = workload.TUMBLING_MS, workload.TUMBLING_MS
        return _windows(records, keys, *(slides if job == "ws" else tumbles))
    if workload.is_pattern(job):
        return _matches(job, records, keys)
    if job in statements.JOBS:
        return _of_sql(job, records, keys)
    if job == "exchange":
        return _every_hundredth(records, keys, distribution)
    if job in two_streams.JOBS:
        return _added_up(two_streams.outputs(job, records, keys, distribution))
    if job == "b":
        return _timers(records, keys, distribution)
    return _counts(records, keys, distribution, workload.stages(job) - 1)


def _counts(records: int, keys: int, distribution: str, rekeyed: int) -> Tally:
    make = workload.record_function(keys, distribution)
    state: dict[int, tuple[int, int]] = {}
    outputs = key_sum = count_sum = value_sum = 0
    for index in range(records):
        key, value, _ = make(index)
        for _ in range(rekeyed):
            key = workload.rekey(key, keys)
        count, total = state.get(key, (0, 0))
        state[key] = count, total = count + 1, total + value
        if (key + count) % workload.OUTPUT_EVERY == 0:
            outputs += 1
            key_sum += key
            count_sum += count
            value_sum += total
    return outputs, key_sum, count_sum, value_sum


def _added_up(outputs: Iterable[tuple[int, int, int]]) -> Tally:
    count = first = second = third = 0
    for a, b, c in outputs:
        count, first, second, third = count + 1, first + a, second + b, third + c
    return count, first, second, third


def _matches(job: str, records: int, keys: int) -> Tally:
    """A match takes the first small event that is not too old, and leaves none of the others."""
    make, within_ms = workload.event_function(keys), workload.within_ms(keys)
    below, least = workload.pattern_limits(job)
    small: dict[int, list[tuple[int, int]]] = {}
    outputs = []
    for start in range(0, records, CHUNK):
        columns = make(np.arange(start, min(start + CHUNK, records), dtype=np.int64))
        is_relevant = (columns[1] < below) | (columns[1] >= least)
        relevant = (each[is_relevant].tolist() for each in columns)
        for key, value, time_ms in zip(*relevant, strict=True):
            if value < below:
                small.setdefault(key, []).append((time_ms, value))
                continue
            waiting = small.pop(key, ())
            first = next((each for at_ms, each in waiting if time_ms - at_ms < within_ms), None)
            if first is not None:
                outputs.append((key, first, value))
    return _added_up(outputs)


def _every_hundredth(records: int, keys: int, distribution: str) -> Tally:
    make, every = workload.record_function(keys, distribution), workload.OUTPUT_EVERY
    chosen = [key for key, _, time_ms in map(make, range(records)) if not time_ms % every]
    return len(chosen), sum(chosen)


def _timers(records: int, keys: int, distribution: str) -> Tally:
    make = workload.record_function(keys, distribution)
    interval = workload.timer_interval_ms(keys)
    timers = set()
    for index in range(records):
        key, _, time_ms = make(index)
        timers.add((key, time_ms // interval))
    return len(timers), sum(key for key, _ in timers), records


def _stateless(records: int, scratch: Path) -> Tally:
    outputs = ids = notionals = 0
    for path in sorted(workload.json_folder(records, scratch).iterdir()):
        with path.open() as lines:
            for line in lines:
                order = workload.decode(line)
                if workload.wanted(order):
                    number, _, notional = workload.summary(order)
                    outputs += 1
                    ids += number
                    notionals += notional
    return outputs, ids, notionals


def _arrays(job: str, records: int, keys: int) -> Iterator[tuple[Any, Any, Any]]:
    """Keys, values and timestamps, in pieces."""
    make = workload.timed_record_function(job, keys)
    for start in range(0, records, CHUNK):
        yield make(np.arange(start, min(start + CHUNK, records), dtype=np.int64))


def _last_sums(records: int, keys: int) -> Tally:
    seen, value_sum = np.zeros(keys, bool), 0
    for key, value, _ in _arrays("csv", records, keys):
        seen[key] = True
        value_sum += int(value.sum())
    found = np.flatnonzero(seen)
    return len(found), int(found.sum()), value_sum


def _windows(records: int, keys: int, slide: int, size: int) -> Tally:
    """Each record lies in one pane, and in all windows that hold the pane."""
    first = workload.BASE_MS // slide
    last_ms = workload.BASE_MS + records // workload.rate_per_ms(keys) + workload.DISORDER_MS
    panes = last_ms // slide - first + 1
    held, value_sum = np.zeros((keys, panes), bool), 0
    for key, value, time_ms in _arrays("w", records, keys):
        held[key, time_ms // slide - first] = True
        value_sum += int(value.sum())
    several = size // slide
    found = np.zeros((keys, panes + several - 1), bool)
    for pane in range(several):
        found[:, pane : pane + panes] |= held
    by_key = found.sum(axis=1)
    key_sum = int(by_key @ np.arange(keys))
    return int(by_key.sum()), key_sum, several * records, several * value_sum


def _sessions(records: int, keys: int) -> Tally:
    pieces = [*_arrays("we", records, keys)]
    key, value, time_ms = (np.concatenate(columns) for columns in zip(*pieces, strict=True))
    order = np.lexsort((time_ms, key))
    key, time_ms = key[order], time_ms[order]
    begins = np.ones(records, bool)
    begins[1:] = (np.diff(key) != 0) | (np.diff(time_ms) > workload.GAP_MS)
    return int(begins.sum()), int(key[begins].sum()), records, int(value.sum())


def _of_sql(job: str, records: int, keys: int) -> Tally:
    """The number of results of an SQL job, and the sum of each of their columns."""
    if job == "sg":
        return final_sums(records, keys, "uniform")
    if job == "st":
        return _windows(records, keys, workload.TUMBLING_MS, workload.TUMBLING_MS)
    if job == "sf":
        return _filtered(records)
    pieces = [
        (len(k), k.sum(), program.score(k, v).sum()) for k, v, _ in _arrays("w", records, keys)
    ]
    return tuple(int(sum(column)) for column in zip(*pieces, strict=True))


def _filtered(records: int) -> Tally:
    found = np.zeros(4, np.int64)
    for start in range(0, records, CHUNK):
        orders = workload.order_columns(start, min(start + CHUNK, records))
        wanted = np.array([symbol[-2] == "7" for symbol in orders["symbol"]], bool)
        number, price, quantity = (orders[name][wanted] for name in ("id", "price", "quantity"))
        kinds = (price > 50_000).sum() + (price > 90_000).sum()
        found += [len(number), number.sum(), kinds, (price * quantity).sum()]
    return tuple(found.tolist())


def difference(job: str, found: Sequence[int], wanted: Tally) -> str | None:
    """What is wrong with a tally, None where nothing is."""
    exact = 3 if job[0] in "acr" and not job.startswith("csv") else len(wanted)
    if tuple(found[:exact]) != wanted[:exact] or len(found) != len(wanted):
        return f"the tally is {list(found)}, expected {list(wanted)}"
    for is_sum, should in zip(found[exact:], wanted[exact:], strict=True):
        # An output's sum is of about as many values whatever their order: the error shrinks with
        # the number of outputs.
        if abs(is_sum - should) > should * (0.02 + 1 / (1 + wanted[0]) ** 0.5):
            return f"the sums add up to {is_sum}, expected about {should}"
    return None


@cache
def final_sums(records: int, keys: int, distribution: str) -> Tally:
    """How many keys there are in the end, and the sums of the keys, counts and values."""
    make = workload.record_function(keys, distribution)
    seen = set()
    value_sum = 0
    for index in range(records):
        key, value, _ = make(index)
        seen.add(key)
        value_sum += value
    return len(seen), sum(seen), records, value_sum
