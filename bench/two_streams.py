"""The jobs of two streams: their records, and the plainest loops over them.

``join``: two streams of one rate, 10,000 keys, timestamps up to 5 s out of order. Records of one
key that are at most ``REACH_MS`` apart make a pair. ``rules``: job (a), but each record looks up
one of 1,000 rules first, which another stream brings.

Standard library only, as ``bench.workload``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from bench import workload
from bench.workload import BASE_MS, MODULUS, MULTIPLIER, Record

JOBS = ("join", "rules")
DISORDER_MS = 5_000
REACH_MS = 5_000
"""Each stream has one record a millisecond, so a key has one in 10 s: a record meets one partner
on average."""

RULES = 1_000
READERS = 2
_RIGHT_SHIFT = 7_654_321
_LATENESS = 7_368_787

Pair = tuple[int, int, int]
"""The key, the sum of both values, and by how many ms the right record is later."""


def side_function(right: bool, keys: int) -> Callable[[int], Record]:
    """The function from an index to the record of one side: (key, value, event time in ms)."""
    shift = _RIGHT_SHIFT if right else 0

    def record(index: int) -> Record:
        key = (index + shift) * MULTIPLIER % MODULUS % keys
        return key, index % 1000, BASE_MS + index - index * _LATENESS % DISORDER_MS

    return record


def interleaved(make: Callable[[int], Record], records: int) -> Callable[[int], Record]:
    """The same records for two readers, of which each gets one half of so many indexes.

    Flink cuts its sequence so. The second reader would be ahead by half of the event time, and all
    that it reads would have to be kept. With this each reads every second record.
    """
    half = records // READERS

    def record(index: int) -> Record:
        return make(READERS * index if index < half else READERS * (index - half) + 1)

    return record


def pairs(records: int, keys: int) -> Iterator[Pair]:
    """What ``join`` gives out for so many records of both sides together."""
    makes = side_function(False, keys), side_function(True, keys)
    kept: tuple[dict[int, list[tuple[int, int]]], ...] = {}, {}
    for index in range(records // 2):
        oldest = BASE_MS + index - DISORDER_MS - REACH_MS
        for side, make in enumerate(makes):
            key, value, time_ms = make(index)
            others = kept[1 - side].get(key, ())
            for other, other_ms in others:
                later = time_ms - other_ms if side else other_ms - time_ms
                if -REACH_MS <= later <= REACH_MS:
                    yield key, value + other, later
            own = [each for each in kept[side].get(key, ()) if each[1] >= oldest]
            own.append((value, time_ms))
            kept[side][key] = own


def rule(number: int) -> tuple[int, int]:
    """A rule: its name, and the factor that it gives."""
    return number, number * 7 % 13 + 1


def sums(records: int, keys: int, distribution: str) -> Iterator[tuple[int, int, int]]:
    """What ``rules`` gives out: the key, how many records it had before, the sum with this one."""
    make, factors = workload.record_function(keys, distribution), dict(map(rule, range(RULES)))
    state: dict[int, tuple[int, int]] = {}
    every = workload.OUTPUT_EVERY
    for index in range(records):
        key, value, _ = make(index)
        count, total = state.get(key, (0, 0))
        count, total = count + 1, total + value * factors[value % RULES]
        state[key] = count, total
        if (key + count) % every == 0:
            yield key, count, total


def outputs(job: str, records: int, keys: int, distribution: str) -> Iterator[tuple[int, int, int]]:
    """What either job gives out.

    Raises:
        ValueError: the keys of ``join`` are uniform only.
    """
    if job == "rules":
        return sums(records, keys, distribution)
    if distribution != "uniform":
        raise ValueError(f"job join has uniform keys, not {distribution}")
    return pairs(records, keys)
