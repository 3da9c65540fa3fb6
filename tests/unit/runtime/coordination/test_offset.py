"""Offsets as values and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from headrace.connector import Pending
from headrace.errors import CheckpointError
from headrace.runtime.coordination.offset import Offset, SourceProgress, WorkLimits

SOURCE = SourceProgress(
    {"b": [1, {"x": 2}], "a": 7}, {"a": 5}, {"c": 9, "d": None}, frozenset({"b"}), {"b": 3}, False
)
OFFSET = Offset(3, 1000, 900, WorkLimits(4, 4096), {"2": SOURCE, "10": SourceProgress(ended=True)})


def test_json_gives_the_same_offset_back() -> None:
    assert Offset.from_json(json.loads(json.dumps(OFFSET.to_json()))) == OFFSET


def test_the_records_of_a_task_are_in_an_offset() -> None:
    large = replace(OFFSET, work_limits=WorkLimits(4, 4096, 100))
    assert Offset.from_json(json.loads(json.dumps(large.to_json()))) == large
    assert "task_records" not in OFFSET.to_json()["cut"]  # as in older builds


def test_what_is_unread_is_in_an_offset_and_changes_no_plan() -> None:
    found = OFFSET.with_unread({"2": Pending(120), "10": Pending(None, 4096), "7": Pending(1)})
    read = Offset.from_json(json.loads(json.dumps(found.to_json())))
    assert read.source("2").unread == Pending(120)
    assert read.source("10").unread == Pending(None, 4096)
    assert read == OFFSET
    assert not read.source("10").differs_from(SourceProgress(ended=True))
    assert read.with_unread({}).to_json() == OFFSET.to_json()  # as in older builds


def test_an_older_builds_offset_has_one_time() -> None:
    found = OFFSET.to_json()
    del found["steady_ms"]
    assert Offset.from_json(found).monotonic_ms == 1000


def test_equal_offsets_have_the_same_text() -> None:
    turned = SourceProgress(
        {"a": 7, "b": [1, {"x": 2}]}, {"a": 5}, {"d": None, "c": 9}, frozenset({"b"}), {"b": 3}
    )
    other = Offset(
        3, 1000, 900, WorkLimits(4, 4096), {"10": SourceProgress(ended=True), "2": turned}
    )
    assert json.dumps(other.to_json()) == json.dumps(OFFSET.to_json())


def test_what_is_done_in_an_epoch_is_not_in_the_next() -> None:
    carried_over = SOURCE.carried_over()
    assert (carried_over.started, carried_over.finished, carried_over.positions) == (
        {},
        {},
        SOURCE.positions,
    )
    assert carried_over.carried_over() is carried_over
    assert SOURCE.end_positions() == {"a": 7, "b": [1, {"x": 2}], "c": 9}


@pytest.mark.parametrize("version", [None, 0, 2, "1"])
def test_another_format_is_refused(version: Any) -> None:
    found = {**OFFSET.to_json(), "version": version}
    with pytest.raises(CheckpointError, match=f"has format {version!r}"):
        Offset.from_json(found)


@pytest.mark.parametrize("missing", ["epoch", "now_ms", "cut", "sources"])
def test_a_damaged_offset_is_refused(missing: str) -> None:
    found = OFFSET.to_json()
    del found[missing]
    with pytest.raises(CheckpointError, match="damaged"):
        Offset.from_json(found)
    with pytest.raises(CheckpointError, match="damaged"):
        Offset.from_json({**OFFSET.to_json(), missing: []})
