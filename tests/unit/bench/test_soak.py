"""The judgement of ``bench.soak``: slopes, verdicts, and whether an output is exact."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bench.soak import MEASURES, Sample, faults, slope_per_hour, verdicts
from bench.soak_job import KEYS, WINDOW_SECONDS

RATE = 200
RECORDS = 5 * RATE * WINDOW_SECONDS


def output() -> tuple[list[str], list[str]]:
    """The exact output of 50 seconds, added up one by one."""
    totals: dict[int, int] = {}
    windows: dict[tuple[int, int], int] = {}
    lines = []
    for number in range(RECORDS):
        key, window = number % KEYS, number // (RATE * WINDOW_SECONDS)
        totals[key] = totals.get(key, 0) + number
        windows[window, key] = windows.get((window, key), 0) + number
        lines.append(f"{number},{totals[key]}")
    return lines, [f"{key},{total}" for (window, key), total in windows.items() if window < 4]


def test_an_exact_output_has_no_faults() -> None:
    totals, sums = output()
    assert faults(totals, sums, RATE, RECORDS) == []
    assert faults(totals, sums[:-KEYS], RATE, RECORDS) == [], "the last but one may be open"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda totals, sums: totals.pop(5), ["1 records are missing"]),
        (lambda totals, sums: totals.append(totals[5]), ["1 records came more than once"]),
        (lambda totals, sums: totals.__setitem__(5, "5,6"), ["1 sums are wrong"]),
        (lambda totals, sums: sums.pop(0), ["1 sums of windows are missing"]),
        (
            lambda totals, sums: sums.append(sums[0]),
            ["1 sums of windows are wrong or came more than once"],
        ),
        (
            lambda totals, sums: sums.append(sums[-1]),
            ["1 sums of windows are wrong or came more than once"],
        ),
    ],
)
def test_each_fault_is_found(change, said) -> None:  # type: ignore[no-untyped-def]
    totals, sums = output()
    change(totals, sums)
    assert faults(totals, sums, RATE, RECORDS) == said


def test_too_few_records_are_a_fault() -> None:
    totals, sums = output()
    assert faults(totals, sums, RATE, RECORDS + 1) == ["10,000 records, and 10,001 were due"]
    assert faults([], [], RATE, 1) == ["0 records, and 1 were due", "no window was complete"]


def test_the_slope_is_that_of_the_line() -> None:
    assert slope_per_hour([(0, 5), (1800, 6), (3600, 7)]) == pytest.approx(2)
    assert slope_per_hour([(0, 1), (10, 3), (20, 1)]) == pytest.approx(0)
    with pytest.raises(ValueError, match="two moments"):
        slope_per_hour([(3, 1), (3, 2)])


def test_growth_is_not_flat_and_the_warm_up_does_not_count() -> None:
    flat = [Sample(float(at), *(100.0 for _ in MEASURES)) for at in range(0, 3600, 10)]
    warming = [replace(flat[0], files=1.0), *flat[1:]]
    assert all(verdict.flat for verdict in verdicts(warming, 60).values())
    growing = [replace(each, files=100 + each.seconds / 200) for each in flat]
    found = verdicts(growing, 60)
    assert [name for name, verdict in found.items() if not verdict.flat] == ["files"]
    assert found["files"].per_hour == pytest.approx(18)
    falling = [replace(each, files=100 - each.seconds / 200) for each in flat]
    assert all(verdict.flat for verdict in verdicts(falling, 60).values())


def test_a_measure_without_samples_has_no_verdict() -> None:
    with pytest.raises(ValueError, match="two moments"):
        verdicts([Sample(float(at), files=1.0) for at in range(100)], 0)
