"""INTERSECT and EXCEPT whose state expires, as Flink 2.3 has answered (time to live: 2 s)."""

from __future__ import annotations

from functools import partial
from typing import Literal

import pyarrow as pa
import pytest

from headrace.common.types import RowKind, row_of
from headrace.operators.columns.expiring_counts import CountsOfAll, CountsOfDistinct
from headrace.operators.columns.set_operation import SetKind, SetOperationSpec, copies
from headrace.testing import KeyedHarness

TTL_MS = 2_000
SCHEMA = pa.schema([("left", pa.bool_()), ("k", pa.string())])
KINDS = {each.sign: each for each in RowKind}


def words(text: str) -> list[str]:
    return text.split()


SIDES = words(
    "0+lx 460+rx 460+lx 1760+lx 460+rx 460-lx 2560-lx 460+lx 1560+ry 460-rx 460+lx 460+rx"
)
"""For each row the time after the one before, its kind, its input and its value."""
RIGHT_FIRST = words("0+rx 460+lx 1060+lx 1060+lx 1060+lx 460-lx 460-rx 460+rx 460-rx")
ANSWERS: dict[tuple[SetKind, bool, str], list[str]] = {
    ("INTERSECT", False, "sides"): words(". + -+ . +-+-+ -+ . . . . . +"),
    ("EXCEPT", False, "sides"): words("+ - . + - . . + . . + -"),
    ("INTERSECT", False, "right first"): words(". + -+ . . . . . ."),
    ("EXCEPT", False, "right first"): words(". . . + -+ -+ . . ."),
    ("INTERSECT", True, "right first"): words(". + -+ -+ -+ -+ - + -"),
}


def changes(
    operation: SetKind, counted: bool, script: list[str], backend: Literal["heap", "paged"] = "heap"
) -> list[str]:
    """The kinds of the changes that each row makes."""
    result = pa.schema([SCHEMA.field("k")])
    spec = SetOperationSpec(operation, counted, "left", SCHEMA, result, ttl_ms=TTL_MS)
    found = []
    with KeyedHarness(spec, lambda row: row.k, backend=backend) as harness:
        for each in script:
            after_ms, kind, side, value = each[:-3], each[-3], each[-2], each[-1]
            row = row_of(("left", "k"), [side == "l", value])
            row.set_row_kind(KINDS["+I" if kind == "+" else "-D"])
            harness.advance_processing_time(harness.clock() + int(after_ms))
            harness.clear_output()
            harness.process(row)
            found.append("".join(given.get_row_kind().sign[0] for given in harness.output()) or ".")
    return found


@pytest.mark.parametrize("backend", ["heap", "paged"])
@pytest.mark.parametrize(("operation", "counted", "name"), ANSWERS)
def test_state_expires_as_in_flink(
    operation: SetKind, counted: bool, name: str, backend: Literal["heap", "paged"]
) -> None:
    script = SIDES if name == "sides" else RIGHT_FIRST
    assert changes(operation, counted, script, backend) == ANSWERS[operation, counted, name]


@pytest.mark.parametrize(
    ("operation", "script", "numbers"),
    [
        ("INTERSECT", SIDES, [0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3]),
        ("EXCEPT", SIDES, [1, 0, 1, 2, 1, 0, 0, 1, 1, 1, 2, 1]),
        ("EXCEPT", RIGHT_FIRST, [0, 0, 1, 2, 3, 2, 3, 2, 3]),
    ],
)
def test_copies_of_all_are_those_of_flink(
    operation: SetKind, script: list[str], numbers: list[int]
) -> None:
    """Flink gives all copies again with each change; their number after it is the same."""
    given = changes(operation, True, script)
    totals = [
        sum(each.count("+") - each.count("-") for each in given[: n + 1]) for n in range(len(given))
    ]
    assert totals == numbers


def test_the_time_may_end_when_more_was_taken_back_than_added() -> None:
    """The counts of Flink's ALL may be negative, and no result has fewer than no copies."""
    assert copies("INTERSECT", True, -1, 3) == copies("INTERSECT", True, 0, 3) == 0
    counts = CountsOfAll((-1, 3), partial(copies, "INTERSECT", True))
    assert [*counts.take(True, 1)] == [] and [*counts.take(True, 1)] == [1]


def test_counts_without_times_have_that_of_their_last_change() -> None:
    """Of a program without a time to live."""
    counts = CountsOfDistinct(((2, 1), 500), intersects=True, now_ms=1_000, ttl_ms=TTL_MS)
    assert [*counts.take(False, -1)] == [-1, 1, -1]
    assert counts.value()[:4] == (2, 0, 0, 0)
    gone = CountsOfDistinct(((2, 1), 500), intersects=True, now_ms=2_500, ttl_ms=TTL_MS)
    assert gone.value() is None
