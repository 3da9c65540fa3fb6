"""The results of each hour equal those of a loop over its sales."""

from collections import Counter

import pytest

import retail_sales
from headrace.common import WatermarkStrategy
from headrace.testing import run_pipeline

MINUTE_MS = 60_000
SALES = retail_sales.sales()
STRATEGY = WatermarkStrategy.for_generator(retail_sales.EverySale).with_timestamp_assigner(
    lambda sale: sale.sold_ms
)


def program(env):
    sales = env.from_collection(SALES).assign_timestamps_and_watermarks(STRATEGY)
    rates = retail_sales.last_hour(sales)
    return {"hours": rates, "late": rates.get_side_output(retail_sales.TOO_LATE)}


def times_of_arrival():
    """How far event time had come when each sale arrived."""
    latest = 0
    for sale in SALES:
        yield latest - MINUTE_MS
        latest = max(latest, sale.sold_ms)


def expected_by_hand():
    """The results of each hour, and the sales that came too late for their hour."""
    arriving = list(zip(SALES, times_of_arrival(), strict=True))
    late = set(range(len(SALES)))
    rates = []
    opens, closes = retail_sales.OPENS_MS, retail_sales.CLOSES_MS
    for end in range(opens + 30 * MINUTE_MS, closes + 60 * MINUTE_MS, 30 * MINUTE_MS):
        on_time, after = Counter(), []
        for index, (sale, now) in enumerate(arriving):
            if end - 60 * MINUTE_MS <= sale.sold_ms < end and now < end - 1 + 40 * MINUTE_MS:
                late.discard(index)
                if now < end - 1:
                    on_time[sale.shop, sale.product] += sale.cents
                else:
                    after.append(sale)
        rates += [(*key, end, None, cents) for key, cents in on_time.items()]
        for sale in after:
            key = sale.shop, sale.product
            rates.append((*key, end, on_time[key], on_time[key] + sale.cents))
            on_time[key] += sale.cents
    return sorted(rates, key=str), sorted(SALES[index] for index in late)


@pytest.mark.parametrize("how", [{}, {"cuts": [900] * 4, "key_groups": 4}])
def test_hours_are_emitted_and_corrected(how):
    results = run_pipeline(program, **how)
    rates, late = expected_by_hand()
    assert sorted(results["hours"], key=str) == rates
    assert sorted(results["late"]) == late
    assert late and any(before is not None for *_, before, _ in rates)


def test_a_batch_tells_each_hour_once_with_all_of_its_sales():
    results = run_pipeline(program, mode="batch")
    assert results["late"] == []
    assert all(before is None for *_, before, _ in results["hours"])
    # Each sale lies in two of the hours.
    assert sum(cents for *_, cents in results["hours"]) == 2 * sum(sale.cents for sale in SALES)
