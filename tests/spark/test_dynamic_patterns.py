"""Patterns that change on Spark: a worker is killed between two changes, and the job goes on."""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from headrace.cep import CEP, PatternRegistry
from headrace.common import Encoder
from headrace.datastream.connectors.file_system import FileSink
from tests.pipelines.test_dynamic_patterns import (
    BY_TIME,
    INVALID,
    OVER,
    Change,
    Found,
    by_hand,
    to_data,
)
from tests.spark.test_broadcast import lines, restarting

pytestmark = pytest.mark.spark

EVENTS = [(f"key {n % 9}", "abc"[(n + n // 9) % 3], 1_000 + 10 * n) for n in range(120)]
FATAL = EVENTS[70]


def change(number: int) -> Change:
    """Most of these say again what holds already; two replace, one removes, and two are invalid."""
    at = 1_005 + 30 * number
    if number in (11, 30):
        return "z", "", at
    if number % 2:
        return "x", ("a", "b", 400) if number < 20 else ("a", "c", 150), at
    return "y", ("b", "c", 300) if number < 28 else None, at


CHANGES = [change(number) for number in range(40)]


def test_patterns_change_and_a_worker_is_killed(tmp_path: Path) -> None:
    died = tmp_path / "died"
    conditions = PatternRegistry()

    @conditions.condition("is", word=str)
    def is_word(event: Any, word: str) -> bool:
        if event == FATAL and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return bool(event[1] == word)

    env = restarting(tmp_path, "patterns")
    events, changes = (
        env.from_collection(values).name(name).assign_timestamps_and_watermarks(BY_TIME)
        for name, values in (("events", EVENTS), ("changes", CHANGES))
    )
    found = (
        CEP.dynamic_patterns(
            events.key_by(lambda event: event[0]), changes.map(to_data), conditions
        )
        .side_output_invalid_patterns(INVALID)
        .process(Found())
    )
    streams = {
        "found": found,
        "over": found.get_side_output(OVER),
        "invalid": found.get_side_output(INVALID).map(lambda pair: repr(pair[0])),
    }
    for name, stream in streams.items():
        files = FileSink.for_row_format(str(tmp_path / name), Encoder.simple_string_encoder())
        stream.sink_to(files.build()).uid(name)
    env.execute("patterns")
    assert died.exists()
    expected, over = by_hand(EVENTS, CHANGES)
    assert {each[0] for each in expected} == {"x", "y"} and over
    assert Counter(lines(tmp_path / "found")) == Counter(expected)
    assert Counter(lines(tmp_path / "over")) == Counter(over)
    # Each of the two tasks gets all patterns, and one of them says which are invalid.
    invalid = [to_data(each) for each in CHANGES if each[1] == ""]
    assert sorted(lines(tmp_path / "invalid")) == sorted(invalid)
