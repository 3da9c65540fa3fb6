"""Answered and late orders against a loop over the messages of each order."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

import late_acknowledgements as example
from headrace.common import Duration, WatermarkStrategy
from headrace.demo.trades.events import DecodedEvent
from headrace.demo.trades.generator import generate
from headrace.errors import DecodeError
from headrace.testing import run_pipeline
from tests.examples.printed import run_locally, shown_output

SECONDS = 1_000


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> list[DecodedEvent]:
    """The messages of a small day, one feed after another, without those that are malformed."""
    folder = tmp_path_factory.mktemp("day")
    generate(folder, events=1_200, seed=3)
    found = []
    for feed, decode in example.DECODERS.items():
        for line in (folder / feed).read_bytes().splitlines():
            try:
                found.append(decode(line))
            except DecodeError:
                continue
    return sorted(found, key=lambda event: event.event_time_ms)


def expected(events: list[DecodedEvent]) -> tuple[list[Any], list[Any]]:
    of_order = defaultdict(list)
    for event in events:
        of_order[event.system, event.order_id].append(event)
    answered, late = [], []
    for (system, order_id), own in of_order.items():
        for place, order in enumerate(own):
            if order.kind != "NEW":
                continue
            begin = order.event_time_ms
            times = [
                answer.event_time_ms
                for answer in own[place + 1 :]
                if answer.kind in example.ANSWERS
            ]
            if times and times[0] < begin + 5 * SECONDS:
                answered.append((system, order_id, times[0] - begin))
            else:
                late.append((begin + 5 * SECONDS, system, order_id))
    return sorted(answered), sorted(late)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cuts": [300, 400], "key_groups": 8, "parallelism": 2, "restarts": "savepoint"},
        {"mode": "batch"},
    ],
    ids=["at once", "cut", "batch"],
)
def test_orders_are_answered_or_late(events: list[DecodedEvent], how: dict[str, Any]) -> None:
    def program(env: Any) -> Any:
        times = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(example.DISORDER)
        ).with_timestamp_assigner(lambda event: event.event_time_ms)
        stream = env.from_collection(events).assign_timestamps_and_watermarks(times)
        answers = example.answers(stream)
        return {"answered": answers, "late": answers.get_side_output(example.LATE)}

    results = run_pipeline(program, **how)
    answered, late = expected(events)
    assert sorted(results["answered"]) == answered
    assert sorted(results["late"]) == late
    assert len(answered) > 50 and len(late) > 50


def test_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_locally("late_acknowledgements", monkeypatch, tmp_path)
    assert capsys.readouterr().out == shown_output("late_acknowledgements")
