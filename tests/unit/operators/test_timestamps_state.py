"""What a timestamps operator remembers: no class of Headrace, only the user's."""

from __future__ import annotations

import pickle
import pickletools
from datetime import timedelta
from typing import Any

import pytest

from headrace.common._watermark_generators import (
    BoundedOutOfOrderness,
    MonotonousTimestamps,
    WatermarkGenerator,
)
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.operators.timestamps import TimestampsOperator, TimestampsSpec


class Own(WatermarkGenerator):
    """A user's generator."""

    def __init__(self) -> None:
        self.max_timestamp: int | None = None

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        self.max_timestamp = event_timestamp

    def on_periodic_emit(self, output: Any) -> None:
        """Nothing."""


class Wider(BoundedOutOfOrderness):
    """A user's subclass."""


STRATEGIES = {
    "monotonous": WatermarkStrategy.for_monotonous_timestamps(),
    "bounded": WatermarkStrategy.for_bounded_out_of_orderness(timedelta(milliseconds=5)),
    "none": WatermarkStrategy.no_watermarks(),
    "own": WatermarkStrategy.for_generator(Own),
    "subclass": WatermarkStrategy.for_generator(lambda: Wider(3)),
}


def operator(name: str) -> TimestampsOperator:
    made = TimestampsOperator(TimestampsSpec(STRATEGIES[name]))
    made.restore(None)
    made._is_user_generator = name in ("own", "subclass")
    return made


def seen(made: TimestampsOperator) -> int | None:
    found: int | None = getattr(made._generator, "max_timestamp", None)
    return found


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_snapshot_names_no_class_of_headrace(name: str) -> None:
    before, after = operator(name), operator(name)
    before._generator.on_event("event", 40, before)
    stored = pickle.dumps(before.snapshot(), 5)
    texts = [arg for _, arg, _ in pickletools.genops(stored) if type(arg) is str]
    assert not [text for text in texts if text.startswith("headrace")]
    after.restore(pickle.loads(stored))
    assert seen(after) == seen(before) == (None if name == "none" else 40)
    assert type(after._generator) is type(before._generator)


def test_what_older_versions_stored_is_read() -> None:
    known = MonotonousTimestamps()
    known.max_timestamp = 40
    made = operator("bounded")
    made.restore((known, 30, False, None))
    assert seen(made) == 40
    assert made._generator.bound_ms == 5
    made = operator("none")
    made.restore((known, 30, False, None))
    assert seen(made) is None
