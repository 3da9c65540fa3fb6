"""Rides per lift are what counting each window by itself gives."""

from collections import Counter
from random import Random

import pytest

import ski_lifts
from headrace.common import Duration, WatermarkStrategy
from headrace.testing import run_pipeline

MINUTE_MS, HOUR_MS = 60_000, 3_600_000
RIDES = [ski_lifts.ride(index, Random(index)) for index in range(0, ski_lifts.RIDES, 8)]
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_minutes(1)
).with_timestamp_assigner(lambda ride: ride.time_ms)


def program(env):
    rides = env.from_collection(RIDES).assign_timestamps_and_watermarks(STRATEGY)
    return {"lifts": ski_lifts.rides_per_lift(rides), "busiest": ski_lifts.busiest_lifts(rides)}


def rides_between(start_ms, end_ms):
    return Counter(ride.lift for ride in RIDES if start_ms <= ride.time_ms < end_ms)


@pytest.mark.parametrize("how", [{}, {"cuts": [700] * 3, "key_groups": 4}, {"mode": "batch"}])
def test_every_window_has_its_rides(how):
    results = run_pipeline(program, **how)
    opens, day = ski_lifts.OPENS_MS, ski_lifts.DAY_MS

    ends = range(opens + 5 * MINUTE_MS, opens + day + 10 * MINUTE_MS, 5 * MINUTE_MS)
    assert sorted(results["lifts"]) == sorted(
        (lift, end, rides)
        for end in ends
        for lift, rides in rides_between(end - 10 * MINUTE_MS, end).items()
    )

    hours = range(opens, opens + day, HOUR_MS)
    counted = [sorted(rides_between(hour, hour + HOUR_MS).items()) for hour in hours]
    assert results["busiest"] == [
        (f"{9 + index:02}:00", sorted(rides, key=lambda pair: -pair[1])[:3])
        for index, rides in enumerate(counted)
    ]


def test_rides_are_late_but_never_too_late():
    latest = 0
    out_of_order = 0
    for ride in RIDES:
        assert ride.time_ms > latest - MINUTE_MS
        out_of_order += ride.time_ms < latest
        latest = max(latest, ride.time_ms)
    assert out_of_order > 100
