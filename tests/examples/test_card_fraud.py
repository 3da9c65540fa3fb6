"""Fraud found and missed against a loop over each card's payments.

The model is scikit-learn's where that is installed, and always one of the same interface as well.
"""

from __future__ import annotations

import importlib.util
import math
import pickle
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import card_fraud
from headrace.common import Duration, Row, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import run_pipeline
from tests.examples.printed import shown_output

HOUR, DAY = 3_600_000, 86_400_000
PAYMENTS = card_fraud.generate()
LIVE = [payment for payment in PAYMENTS if payment.at >= card_fraud.STARTS]
AROUND_THE_CHANGE = [p for p in LIVE if 7 * DAY <= p.at - card_fraud.STARTS < 11 * DAY]
SCIKIT_LEARN = importlib.util.find_spec("sklearn") is not None


class Limits:
    """Flags dear payments abroad and, if it knows of them, many within an hour."""

    def __init__(self, last_hour: float) -> None:
        self.last_hour = last_hour

    def predict(self, numbers: Any) -> Any:
        amount, abroad, _, last_hour = np.asarray(numbers).T
        return ((amount > 0.7) & (abroad > 0)) | (last_hour >= self.last_hour)


def versions(kind: str) -> list[Row]:
    pickled = [pickle.dumps(Limits(math.inf)), pickle.dumps(Limits(2))]
    if kind == "scikit-learn":
        ends = [card_fraud.STARTS, card_fraud.NEW_MODEL]
        pickled = [card_fraud.train([p for p in PAYMENTS if p.at < end]) for end in ends]
    since = [card_fraud.STARTS, card_fraud.NEW_MODEL]
    return [Row(since=since[i], version=i + 1, pickled=pickled[i]) for i in range(2)]


def expected(payments: list[Row], models: list[Row]) -> list[tuple[int, ...]]:
    counts: dict[tuple[int, int], list[int]] = defaultdict(lambda: [0, 0, 0])
    rows: dict[int, list[tuple[list[float], Row]]] = {1: [], 2: []}
    for card in {payment.card for payment in payments}:
        own = sorted((p for p in payments if p.card == card), key=lambda p: p.at)
        mean = own[0].cents
        for index, payment in enumerate(own):
            pause = (payment.at - own[index - 1].at) / 60_000 if index else 1_440
            lately = sum(payment.at - earlier.at < HOUR for earlier in own[:index])
            amount, abroad = math.log(payment.cents / mean), payment.country != own[0].country
            version = 2 if payment.at >= card_fraud.NEW_MODEL else 1
            rows[version].append(([amount, abroad, math.log(1 + pause), lately], payment))
            mean = 0.9 * mean + 0.1 * payment.cents
    for model in models:
        known = rows[model.version]
        if not known:
            continue
        flags = pickle.loads(model.pickled).predict(np.array([n for n, _ in known], dtype=float))
        for flagged, (_, payment) in zip(flags, known, strict=True):
            day = counts[payment.at - payment.at % DAY, model.version]
            day[0] += bool(flagged and payment.fraud)
            day[1] += bool(flagged and not payment.fraud)
            day[2] += bool(payment.fraud and not flagged)
    return sorted((*day, *count) for day, count in counts.items())


def found(payments: list[Row], models: list[Row], **how: Any) -> list[tuple[int, ...]]:
    def program(env: StreamExecutionEnvironment) -> Any:
        arrival = WatermarkStrategy.for_bounded_out_of_orderness(
            Duration.of_millis(card_fraud.DISORDER)
        ).with_timestamp_assigner(lambda payment: payment.at)
        in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
            lambda model: model.since
        )
        return card_fraud.quality(
            env.from_collection(payments, card_fraud.PAYMENT).assign_timestamps_and_watermarks(
                arrival
            ),
            env.from_collection(models, card_fraud.MODEL).assign_timestamps_and_watermarks(
                in_order
            ),
        )

    return sorted(run_pipeline(program, **how).only)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"cuts": [300, 100], "key_groups": 8, "parallelism": 2, "restarts": "savepoint"},
        {"mode": "batch"},
    ],
    ids=["at once", "cut", "batch"],
)
def test_each_payment_is_scored_by_the_model_in_force(how: dict[str, Any]) -> None:
    models = versions("limits")
    assert found(AROUND_THE_CHANGE, models, **how) == expected(AROUND_THE_CHANGE, models)


@pytest.mark.parametrize("kind", ["limits", *(["scikit-learn"] if SCIKIT_LEARN else [])])
def test_the_second_model_finds_what_the_first_has_never_seen(kind: str) -> None:
    models = versions(kind)
    days = found(LIVE, models)
    assert days == expected(LIVE, models)
    recall = {}
    for name, begin, end in [("before", 0, 5), ("unknown", 5, 9), ("known", 9, 14)]:
        begin_ms, end_ms = (card_fraud.STARTS + day * DAY for day in (begin, end))
        some = [day for day in days if begin_ms <= day[0] < end_ms]
        hits, missed = sum(day[2] for day in some), sum(day[4] for day in some)
        recall[name] = hits / (hits + missed)
    assert recall["unknown"] < 0.3 < 0.6 < min(recall["before"], recall["known"])


def test_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("sklearn", "sklearn.pipeline"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(SystemExit, match="pip install scikit-learn"):
        card_fraud.train(PAYMENTS)


def test_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What does not depend on the model is as on the page: days, versions, fraud."""
    monkeypatch.setattr(sys, "argv", ["card_fraud.py", "--local"])
    pickled = iter(model.pickled for model in versions("limits"))
    monkeypatch.setattr(card_fraud, "train", lambda _: next(pickled))
    monkeypatch.chdir(tmp_path)
    card_fraud.main()
    printed = [line.split()[:4] for line in capsys.readouterr().out.splitlines()]
    assert printed == [line.split()[:4] for line in shown_output("card_fraud").splitlines()]
    assert len(printed) == 17
    ElementTree.parse(tmp_path / "card_fraud.svg")
