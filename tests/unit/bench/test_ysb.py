"""The Yahoo Streaming Benchmark's own parts: the events, their tally and the check."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from bench.ysb import layers, tallies
from bench.ysb.asked import RESULTS, Asked
from bench.ysb.events import (
    AD_IDS,
    AD_TYPES,
    CAMPAIGN_IDS,
    EVENT_TYPES,
    WINDOW_MS,
    Events,
    Tally,
    campaigns,
    of_all_campaigns,
)
from bench.ysb.peers import headrace_job
from bench.ysb.servers import Input
from bench.ysb.table import by_window, latencies, table
from bench.ysb.tallies import Result, difference
from headrace.common import Configuration
from headrace.datastream import AsyncFunction, StreamExecutionEnvironment
from headrace.testing import run_pipeline

START_MS = 1_700_000_000_000
COUNT = 30_000
TAIL_MS = START_MS + 1_000_000
PLACE = (CAMPAIGN_IDS[0], START_MS)


@cache
def made(count: int = COUNT) -> tuple[list[dict[str, Any]], Tally]:
    tally = Tally()
    events = Events(START_MS, 1_000)
    return [json.loads(events.made(index, tally)) for index in range(count)], tally


def test_the_generators_tally_is_what_the_job_counts_in_its_json() -> None:
    events, tally = made()
    campaign_of, counted = campaigns(), Tally()
    for event in events:
        if event["event_type"] == "view":
            at = int(event["event_time"])
            counted[campaign_of[event["ad_id"]], at // WINDOW_MS * WINDOW_MS] += 1
    assert tally == counted
    assert len(tally) == 3 * len(CAMPAIGN_IDS)


def test_events_have_the_fields_of_the_original_in_even_shares() -> None:
    events, _ = made()
    fields = ["user_id", "page_id", "ad_id", "ad_type", "event_type", "event_time", "ip_address"]
    assert {tuple(event) for event in events} == {tuple(fields)}
    assert {event["ad_id"] for event in events} == {*AD_IDS}
    for field, names in (("event_type", EVENT_TYPES), ("ad_type", AD_TYPES)):
        share = Counter(event[field] for event in events)
        assert {*share} == {*names}
        assert max(share.values()) < 1.1 * COUNT / len(names)


def test_views_are_spread_evenly_over_the_campaigns() -> None:
    _, tally = made()
    shares = Counter[str]()
    for (campaign, _), views in tally.items():
        shares[campaign] += views
    mean = sum(shares.values()) / len(CAMPAIGN_IDS)
    assert len(shares) == len(CAMPAIGN_IDS)
    assert all(0.6 * mean < views < 1.4 * mean for views in shares.values()), shares


def test_times_never_go_back_and_pass_at_the_rate() -> None:
    times = [int(event["event_time"]) for event in made(2_001)[0]]
    assert times == sorted(times)
    assert (times[0], times[-1]) == (START_MS, START_MS + 2_000)


def test_the_tail_has_a_view_of_every_campaign_after_all_windows() -> None:
    events, campaign_of = Events(START_MS, 1_000), campaigns()
    tail = [json.loads(event) for event in of_all_campaigns(events.tail_ms(COUNT))]
    assert sorted(campaign_of[event["ad_id"]] for event in tail) == sorted(CAMPAIGN_IDS)
    assert {event["event_type"] for event in tail} == {"view"}
    assert {int(event["event_time"]) for event in tail} == {events.tail_ms(COUNT)}
    assert events.tail_ms(COUNT) > events.time_ms(COUNT) + 2 * WINDOW_MS


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ([(*PLACE, 3)], None),
        ([], "1 windows of 1 are missing"),
        ([(*PLACE, 2)], "has 2 views, expected 3"),
        ([(*PLACE, 3), (*PLACE, 3)], "was written twice"),
        ([(*PLACE, 3), (CAMPAIGN_IDS[1], START_MS, 1)], "has 1 views, expected 0"),
        ([(*PLACE, 3), (CAMPAIGN_IDS[1], TAIL_MS, 1)], None),
    ],
)
def test_the_check_tells_what_is_wrong(results: list[Any], said: str | None) -> None:
    written = [Result(campaign, at, views, 0) for campaign, at, views in results]
    found = difference(written, Tally({PLACE: 3}), TAIL_MS)
    assert found is None if said is None else found is not None and said in found


class Found(AsyncFunction[str, str]):
    """In place of Redis."""

    def __init__(self) -> None:
        self._campaigns = campaigns()

    async def async_invoke(self, value: str) -> list[str]:
        return [self._campaigns[value]]


def test_headraces_job_counts_what_the_generator_counted() -> None:
    events, tally = made(3_000)
    env = StreamExecutionEnvironment(Configuration())
    stream = env.from_collection(events).assign_timestamps_and_watermarks(headrace_job.STRATEGY)
    found = run_pipeline(headrace_job.counted(stream, Found()), cuts=[700, 1_300, 1_000]).only
    results = [Result(campaign, at, views, 0) for campaign, at, views in found]
    assert difference(results, tally, TAIL_MS) is None
    command = headrace_job.entry(found[0])
    assert command.arguments[:4] == ("XADD", RESULTS, "*", "campaign")


def test_latency_begins_at_the_end_of_the_window() -> None:
    assert Result(*PLACE, 3, START_MS + WINDOW_MS + 70).latency_ms == 70


def test_live_windows_that_begin_in_the_warm_up_do_not_count(tmp_path: Path) -> None:
    path = tmp_path / "tally.json"
    given = Input("events", Events(2_000, 1), 50, path, checked_from_ms=12_000, live_tail_ms=10**9)
    windows = (0, 10_000, 20_000, 30_000, 50_000)  # the last one ends after the last event
    tallies.save(Tally({("a", window): 1 for window in windows}), given.tally_file)
    results = [Result("a", window, 1, window + WINDOW_MS + 70) for window in windows]
    assert {window for _, window in given.tally} == {20_000, 30_000, 50_000}
    assert difference(given.checked(results), given.tally, given.tail_ms) is None
    assert latencies(results, given) == {
        **{"median_ms": 70, "p99_ms": 70, "max_ms": 70},
        "records": 2,
    }
    assert by_window(results, given) == [70, 70]


def test_a_tally_is_read_as_it_was_written(tmp_path: Path) -> None:
    _, tally = made(1_000)
    tallies.save(tally, tmp_path / "tally.json")
    assert tallies.load(tmp_path / "tally.json") == tally
    assert [*tmp_path.iterdir()] == [tmp_path / "tally.json"]


def test_a_contender_reads_what_it_is_configured_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.ysb import asked

    wanted = Asked("localhost:1", "events", "redis://localhost:2", "folder", 7, {"a": "b"})
    monkeypatch.setattr("sys.argv", ["job", wanted.text()])
    assert asked.asked() == wanted
    assert wanted.option("a", "c") == "b"


def caught_up(contender: str, small: int, number: int = 0, large_s: float = 8.0) -> list[Any]:
    """Rows of runs of which the smaller takes 6 s."""
    common = {"case": "ysb", "contender": contender, "round": number}
    return [
        {**common, "records": records, "seconds": seconds, "wall_seconds": seconds}
        for records, seconds in ((small, 6.0), (2 * small, large_s))
    ]


def test_the_table_has_slope_start_and_latency() -> None:
    rows = [*caught_up("headrace", 20_000), *caught_up("spark", 5_000)]
    values = {"median_ms": 50.0, "p99_ms": 90.0, "max_ms": 95.0, "records": 400}
    live = {"case": "ysb-latency", "contender": "headrace", "round": 0, "rate": 5_000}
    rows.append({**live, "values": {"events_per_second": 5_000, **values}})
    lines = table(rows).splitlines()
    own, spark = lines[2:]
    assert own == "| Headrace | 10,000 | 1 x | 4.0 s | 5,000/s | 50 ms | 90 ms | 95 ms | 1, 1 |"
    assert spark.endswith(" | 2,500 | 4 x | 4.0 s |  |  |  |  | 1, 0 |")


def test_the_table_has_the_least_and_the_most_of_the_rounds() -> None:
    rows = [row for n, s in enumerate((7, 8, 10)) for row in caught_up("quix", 20_000, n, s)]
    assert "| 10,000 (5,000 to 20,000) |" in table(rows)


def test_a_failure_is_reported_after_the_table() -> None:
    row = {"contender": "headrace", "round": 0, "case": "ysb", "records": 1, "failure": "why\nlog"}
    assert table([row]).splitlines()[-2:] == ["", "- Headrace, round 1, failed: `why`"]


def test_the_steps_of_the_job_count_what_the_generator_counted() -> None:
    events, tally = made(3_000)
    found: Any = [json.dumps(event).encode() for event in events]
    for _, step in layers.steps()[1:]:
        found = step(found)
    assert found == tally
