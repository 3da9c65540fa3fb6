"""Tested cards against a loop over each card's events.

The model is scikit-learn's where that is installed, and always one of the same interface as well.
"""

from __future__ import annotations

import importlib.util
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import card_fraud
import card_testing
from headrace.common import Duration, Row, WatermarkStrategy
from headrace.testing import run_pipeline
from tests.examples.printed import shown_output

MINUTE = 60_000
EVENTS = card_testing.generate()
SCIKIT_LEARN = importlib.util.find_spec("sklearn") is not None


class LargeAbroad:
    """Flags payments that are large for the card, and abroad."""

    def predict(self, numbers: Any) -> Any:
        amount, abroad, _, _ = np.asarray(numbers).T
        return (amount > 0.7) & (abroad > 0)


def pickled_model(kind: str) -> bytes:
    if kind == "scikit-learn":
        return bytes(card_fraud.train(card_fraud.generate()))
    return pickle.dumps(LargeAbroad())


def expected(events: list[Row], model: Any) -> list[tuple[int, int, list[int]]]:
    found = []
    for card in {event.card for event in events}:
        profile, flagged = None, {}
        for event in (event for event in events if event.card == card):  # as they arrive
            if event.kind == "payment":
                numbers, profile = card_fraud.features(event, profile)
                flagged[event.at] = bool(model.predict([numbers])[0])
        own = sorted((event for event in events if event.card == card), key=lambda e: e.at)
        begin = 0
        while begin < len(own):
            last, taken = _large(own, begin, flagged)
            if len(taken) == 2:
                small = own[begin]
                found.append((card, small.at, [small.cents, *taken]))
                begin = last
            begin += 1
    return sorted(found)


def _large(own: list[Row], begin: int, flagged: dict[int, bool]) -> tuple[int, list[int]]:
    """The large payments after a small one, at most two, and the place of the last."""
    small, taken = own[begin], []
    if small.kind != "payment" or small.cents >= 1_000:
        return begin, []
    for place in range(begin + 1, len(own)):
        event = own[place]
        if event.at - small.at >= 10 * MINUTE or (event.kind == "confirmation" and not taken):
            break
        if event.kind == "payment" and event.cents >= 10 * small.cents and flagged[event.at]:
            taken.append(event.cents)
            if len(taken) == 2:
                return place, taken
    return begin, []


def found(events: list[Row], model: bytes, **how: Any) -> list[tuple[int, int, list[int]]]:
    def program(env: Any) -> Any:
        times = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(card_testing.DISORDER)
        ).with_timestamp_assigner(lambda event: event.at)
        stream = env.from_collection(events, card_testing.EVENT)
        return card_testing.alarms(stream.assign_timestamps_and_watermarks(times), model)

    return sorted(run_pipeline(program, **how).only)


@pytest.mark.parametrize("kind", ["limits", *(["scikit-learn"] if SCIKIT_LEARN else [])])
@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cuts": [100, 150], "key_groups": 8, "parallelism": 2, "restarts": "savepoint"},
        {"mode": "batch"},
    ],
    ids=["at once", "cut", "batch"],
)
def test_tested_cards_are_found(how: dict[str, Any], kind: str) -> None:
    model = pickled_model(kind)
    alarms = found(EVENTS, model, **how)
    assert alarms == expected(EVENTS, pickle.loads(model))
    assert {card % 10 for card, _, _ in alarms} == {3}
    assert len(alarms) > 3


def test_a_confirmation_counts_only_before_the_first_large_payment() -> None:
    def event(minute: int, cents: int, kind: str = "payment") -> Row:
        country = "US" if minute else "PL"
        at = card_fraud.ENDS + minute * MINUTE
        return Row(card=1, at=at, kind=kind, cents=cents, country=country)

    model = pickled_model("limits")
    before = [event(0, 100), event(1, 0, "confirmation"), event(2, 9_000), event(3, 90_000)]
    after = [event(0, 100), event(2, 9_000), event(3, 0, "confirmation"), event(4, 90_000)]
    late = [event(0, 100), event(2, 9_000), event(10, 90_000)]
    assert found(before, model) == found(late, model) == []
    assert found(after, model) == [(1, card_fraud.ENDS, [100, 9_000, 90_000])]


def test_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["card_testing.py", "--local"])
    monkeypatch.setattr(card_fraud, "train", lambda _: pickled_model("limits"))
    monkeypatch.chdir(tmp_path)
    card_testing.main()
    assert capsys.readouterr().out == shown_output("card_testing")
