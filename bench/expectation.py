"""What each job must give out, worked out by the plainest loop that does it.

A tally is the number of outputs and the sums of some of their fields. The sum that job (a) keeps
(and ``rules``) depends on the order in which a key's records arrive, which no peer with two readers
promises; so that field has a tolerance, and all others are exact. In (b) so do the sums of single
timers: what is checked is that each timer fired once, and that no record is missing in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from bench import two_streams, workload

Tally = tuple[int, ...]
"""The number of outputs, then the sum of each counted field."""


@cache
def expected(job: str, records: int, keys: int, distribution: str, scratch: Path) -> Tally:
    """The tally of a job over the first ``records`` records."""
    if job == "d":
        return _stateless(records, scratch)
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


def difference(job: str, found: Sequence[int], wanted: Tally) -> str | None:
    """What is wrong with a tally, None where nothing is."""
    exact = 3 if job[0] in "acr" else len(wanted)
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
