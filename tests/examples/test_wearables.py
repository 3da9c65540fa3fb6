"""Workouts and alarms against one pass over each wearer's sorted readings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wearables
from headrace.common import Duration, Row, WatermarkStrategy
from headrace.testing import run_pipeline
from tests.examples.printed import run_locally, shown_output

MINUTE = 60_000
READINGS = wearables.readings()


def program(readings: list[Row]) -> Any:
    def build(env: Any) -> Any:
        times = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(wearables.DISORDER)
        ).with_timestamp_assigner(lambda reading: reading.at)
        stream = env.from_collection(readings, wearables.READING)
        return wearables.events(stream.assign_timestamps_and_watermarks(times))

    return build


def expected(readings: list[Row]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for wearer in {reading.wearer for reading in readings}:
        own = sorted((r for r in readings if r.wearer == wearer), key=lambda r: r.at)
        found += [(wearer, *event) for event in [*_workouts(own), *_alarms(own)]]
    return sorted(found)


def _workouts(own: list[Row]) -> list[tuple[int, str, str]]:
    runs: list[list[Row]] = []
    for reading in own:
        if reading.rate < 110 or reading.steps == 0:
            continue
        if runs and reading.at - runs[-1][-1].at <= 5 * MINUTE:
            runs[-1].append(reading)
        else:
            runs.append([reading])
    return [
        (
            run[0].at,
            "workout",
            f"{round((run[-1].at - run[0].at) / MINUTE)} min, "
            f"mean {sum(r.rate for r in run) // len(run)}, "
            f"highest {max(r.rate for r in run)}, {sum(r.steps for r in run)} steps",
        )
        for run in runs
        if len(run) >= 20
    ]


def _alarms(own: list[Row]) -> list[tuple[int, str, str]]:
    """A run of racing readings lasts to the next reading; so does a silence."""
    alarms, racing_since = [], None
    for index, reading in enumerate(own):
        next_at = own[index + 1].at if index + 1 < len(own) else float("inf")
        if reading.rate > 0 and next_at > reading.at + 10 * MINUTE:
            alarms.append((reading.at + 10 * MINUTE, "ALARM", "no reading for 10 min"))
        if reading.rate <= 130 or reading.steps > 0:
            racing_since = None
            continue
        racing_since = reading.at if racing_since is None else racing_since
        due = racing_since + 5 * MINUTE
        if reading.at <= due < next_at:
            alarms.append((due, "ALARM", "above 130 for 5 min, at rest"))
    return alarms


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cuts": [150, 200], "key_groups": 8, "parallelism": 2, "restarts": "savepoint"},
        {"mode": "batch"},
    ],
    ids=["at once", "cut", "batch"],
)
def test_events(how: dict[str, Any]) -> None:
    assert sorted(run_pipeline(program(READINGS), **how).only) == expected(READINGS)


def test_silence_in_the_middle_and_a_racing_heart_that_calms_down_in_time() -> None:
    def reading(minute: float, rate: int) -> Row:
        at = int(wearables.STARTS + minute * MINUTE)
        return Row(wearer="Eve", at=at, rate=rate, steps=0)

    racing = [reading(minute, 140) for minute in range(5)]
    own = [*racing, reading(4.9, 70), reading(15, 140), reading(30, 70), reading(31, 0)]
    alarms = run_pipeline(program(own)).only
    assert sorted(alarms) == expected(own)
    minutes = [(at - wearables.STARTS) / MINUTE for _, at, _, _ in sorted(alarms)]
    assert minutes == [14.9, 20, 25]


def test_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_locally("wearables", monkeypatch, tmp_path)
    assert capsys.readouterr().out == shown_output("wearables")
