"""A digest of values goes by their content, and by nothing else."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from headrace.common._storage.content_digest import content_digest
from headrace.common.types import Row


@dataclass
class Order:
    key: str
    parts: Any


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


def fresh(text: str) -> str:
    """An equal text that is another object."""
    return "".join(list(text))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("ab", "ab")], [(fresh("ab"), "ab")]),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}]),
        ([{3, 1, 2}], [{2, 3, 1}]),
        ([Order("a", [1])], [Order(fresh("a"), [1])]),
        ([Slotted(1)], [Slotted(1)]),
        ([Row(a=1)], [Row(a=1)]),
        ([dt.datetime(2026, 1, 1), Decimal("1.5")], [dt.datetime(2026, 1, 1), Decimal("1.5")]),
    ],
)
def test_equal_content_has_an_equal_digest(one: Any, other: Any) -> None:
    assert content_digest(one) == content_digest(other) is not None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], [2, 1]),
        ([1], [True]),
        ([1], [1.0]),
        (["a"], [b"a"]),
        ([(1,)], [[1]]),
        ([[1, 2]], [[1], [2]]),
        ([Order("a", [1])], [Order("a", [2])]),
        ([Slotted(1)], [Slotted(2)]),
        ([Row(a=1)], [Row(a=2)]),
        ([Row(a=1)], [Row(b=1)]),
        ([Decimal("1.5")], [Decimal("1.50")]),
        ([{"a": [1]}], [{"a": [2]}]),
        ([{1, 2}], [frozenset({1, 2})]),
    ],
)
def test_other_content_has_another_digest(one: Any, other: Any) -> None:
    assert content_digest(one) != content_digest(other)


def test_what_cannot_be_taken_apart_has_none() -> None:
    circle: list[Any] = []
    circle.append(circle)
    assert content_digest([circle]) is None
    assert content_digest([(n for n in range(3))]) is None


def test_every_interpreter_finds_the_same() -> None:
    code = (
        "from headrace.common._storage.content_digest import content_digest\n"
        "print(content_digest([{'x', 'y', 'z', 'é'}, {'k': ('a', 1)}]))"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert found == {content_digest([{"x", "y", "z", "é"}, {"k": ("a", 1)}])}
