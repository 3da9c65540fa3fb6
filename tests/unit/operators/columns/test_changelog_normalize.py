"""The last row of each key, as changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from headrace.common.types import RowKind, row_of
from headrace.operators.columns.calc import BatchContext
from headrace.operators.columns.changelog_normalize import (
    ChangelogNormalizeOperator,
    ChangelogNormalizeSpec,
)
from headrace.testing import KeyedHarness

SCHEMA = pa.schema([("id", pa.int32()), ("tags", pa.list_(pa.string())), ("v", pa.float64())])
KINDS = {each.sign: each for each in RowKind}
GIVEN = [
    ("+U", 1, ["a"], 1.5),
    ("+U", 1, ["a"], 1.5),  # it is there already
    ("+U", 2, None, None),
    ("+I", 1, ["a", "b"], 1.5),
    ("-D", 1, None, None),  # a tombstone has the key only
    ("-D", 1, None, None),
    ("-U", 3, ["c"], 3.0),
    ("+U", 2, None, 2.0),
    ("+U", 1, [], 0.0),
]
CHANGES = [
    ("+I", 1, ["a"], 1.5),
    ("+I", 2, None, None),
    ("-U", 1, ["a"], 1.5),
    ("+U", 1, ["a", "b"], 1.5),
    ("-D", 1, ["a", "b"], 1.5),
    ("-U", 2, None, None),
    ("+U", 2, None, 2.0),
    ("+I", 1, [], 0.0),
]


@dataclass(frozen=True)
class AtLeast:
    """Whether ``v`` is at least a number."""

    least: float
    summary: str = ""

    def compile(self) -> Callable[[Any, BatchContext], tuple[Any, Any]]:
        def compute(batch: Any, _: BatchContext) -> tuple[Any, Any]:
            there = pc.greater_equal(batch.column("v"), self.least)
            return pa.RecordBatch.from_arrays([there], names=["there"]), None

        return compute


def row(kind: str, *values: Any) -> Any:
    made = row_of(("id", "tags", "v"), [*values])
    made.set_row_kind(KINDS[kind])
    return made


def changes(
    given: list[Any], backend: Literal["heap", "paged"] = "heap", **spec: Any
) -> list[tuple[Any, ...]]:
    made = ChangelogNormalizeSpec(("id",), SCHEMA, **spec)
    with KeyedHarness(made, lambda each: each.id, backend=backend) as harness:
        for each in given:
            harness.process(row(*each))
        return [(each.get_row_kind().sign, *each) for each in harness.output()]


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_rows_become_changes(backend: Literal["heap", "paged"]) -> None:
    assert changes(GIVEN, backend) == CHANGES


def test_replaced_rows_are_left_out_where_nothing_needs_them() -> None:
    expected = [each for each in CHANGES if each[0] != "-U"]
    assert changes(GIVEN, updates_before=False) == expected


def test_a_row_that_does_not_meet_the_condition_is_deleted() -> None:
    given = [("+U", 1, None, v) for v in (1.0, 2.0, 3.0, None, 3.0, 1.0, 1.0)]
    assert changes(given, condition=AtLeast(2.0)) == [
        ("+I", 1, None, 2.0),
        ("-U", 1, None, 2.0),
        ("+U", 1, None, 3.0),
        ("-D", 1, None, 3.0),
        ("+I", 1, None, 3.0),
        ("-D", 1, None, 3.0),
    ]


class Sent:
    """Keeps what an operator gives."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = []

    def columns(self, columns: Any) -> None:
        self.rows += [(each.get_row_kind().sign, *each) for each in columns.rows()]


def in_blocks(given: list[Any], sizes: int, **spec: Any) -> list[tuple[Any, ...]]:
    """The changes of blocks of rows; they are one micro-batch."""
    from headrace.runtime.state.heap import HeapBackend

    made = ChangelogNormalizeSpec(("id",), SCHEMA, **spec)
    operator, sent = ChangelogNormalizeOperator(made), Sent()

    class Keys:
        backend, now_ms = HeapBackend(), 0

    operator.outputs, operator.key_context = sent, Keys()  # type: ignore[assignment]
    operator._holds = None if made.condition is None else made.condition.compile()
    for start in range(0, len(given), sizes):
        block = [row(*each) for each in given[start : start + sizes]]
        operator.process([each.id for each in block], block, None)
    operator.complete()
    return sent.rows


@pytest.mark.parametrize("size", [1, 2, 3, 4, 100])
def test_blocks_give_what_their_rows_give(size: int) -> None:
    assert in_blocks(GIVEN, size) == CHANGES


@pytest.mark.parametrize("size", [1, 2, 4, 100])
def test_a_micro_batch_gives_its_last_rows(size: int) -> None:
    assert in_blocks(GIVEN[:4], size, folds=True) == [("+I", 1, ["a", "b"], 1.5), CHANGES[1]]
    assert in_blocks(GIVEN, size, folds=True) == [
        ("+I", 1, [], 0.0),
        ("+I", 2, None, 2.0),
    ]
