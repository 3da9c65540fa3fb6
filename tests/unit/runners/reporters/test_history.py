"""Rates of counts that only micro-batches change."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.runners.reporters.history import CountHistory


def history(*batches: tuple[float, float, int], span_s: float = 60) -> CountHistory[str]:
    """Batches as (start, end, count), in seconds."""
    made = CountHistory[str](0, span_s)
    for start, end, count in batches:
        made.add(start * 1000, end * 1000, lambda count=count: {"n": count})
    return made


def test_there_is_no_rate_before_the_first_micro_batch() -> None:
    assert CountHistory[str](0, 60).rates(5000, 60)("n") is None


def test_a_rate_is_over_the_time_that_the_job_has_run() -> None:
    assert history((0, 10, 100)).rates(10_000, 60)("n") == pytest.approx(10)


def test_a_rate_is_over_the_last_seconds_only() -> None:
    made = history((0, 100, 1000), (100, 200, 3000))
    assert made.rates(200_000, 60)("n") == pytest.approx(20)  # within the second micro-batch


def test_a_micro_batch_longer_than_the_span_does_not_make_the_rate_jump() -> None:
    made = history((0, 300, 3000))
    assert made.rates(300_000, 60)("n") == pytest.approx(10)
    assert made.rates(500_000, 60)("n") == pytest.approx(10)  # the next one may be at work
    assert made.rates(900_000, 60)("n") == pytest.approx(0)


def test_the_rate_of_an_idle_job_falls() -> None:
    made = history((0, 10, 600))
    assert made.rates(40_000, 60)("n") == pytest.approx(15)
    assert made.rates(65_000, 60)("n") == pytest.approx(5)
    assert made.rates(70_000, 60)("n") == pytest.approx(0)


def test_counts_may_fall() -> None:
    assert history((0, 10, 100), (10, 20, 50)).rates(20_000, 10)("n") == -5


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 9)), min_size=1, max_size=60))
def test_an_even_rate_is_found_however_it_is_cut(lengths: list[tuple[int, int]]) -> None:
    made, at = CountHistory[str](0, 60), 0
    for length, _ in lengths:
        at += length
        made.add((at - length) * 1000, at * 1000, lambda count=at * 7: {"n": count})
    assert made.rates(at * 1000, 60)("n") == pytest.approx(7)


def test_a_count_that_no_float_can_hold_has_an_infinite_rate() -> None:
    assert history((0, 10, 10**400)).rates(10_000, 60)("n") == math.inf


def test_few_counts_are_kept() -> None:
    made = history(*((at / 10, (at + 1) / 10, at + 1) for at in range(10_000)))
    assert len(made._entries) < 20
    assert made.rates(1_000_000, 60)("n") == pytest.approx(10)
