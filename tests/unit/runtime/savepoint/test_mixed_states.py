"""Key groups that have values of several programs are found before a savepoint has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pytest

from headrace.errors import CheckpointError
from headrace.runtime.savepoint.job_state import (
    GroupSummary,
    check_one_program,
    merged_states,
    mixed_states,
)
from headrace.runtime.savepoint.read import StoredStates
from headrace.runtime.state.fields import SeenFields
from headrace.runtime.state.kinds import LIST, VALUE, StateKind

LONG, INT, TEXT = ({"type": name} for name in ("LONG", "INT", "STRING"))


@dataclass
class Order:
    id: int
    qty: int = field(default=0, metadata={"renamed_from": "quantity"})


@dataclass(frozen=True, slots=True)
class Leg:
    price: int
    side: str = "B"


@dataclass
class Plain:
    id: int
    note: str = ""


def named(cls: type) -> str:
    return f"{__name__}:{cls.__qualname__}"


def groups(
    kinds: Iterator[StateKind] | list[StateKind], *seen: SeenFields
) -> Mapping[tuple[str, int], GroupSummary]:
    found = [
        GroupSummary({}, StoredStates({"s": kind}, fields={"s": fields} if fields else {}))
        for kind, fields in zip(kinds, seen or [{}] * 9, strict=False)
    ]
    return {("op", number): summary for number, summary in enumerate(found)}


@pytest.mark.parametrize(
    "kinds",
    [
        [StateKind(VALUE, LONG), StateKind(VALUE, TEXT)],
        [StateKind(VALUE, INT), StateKind(VALUE, TEXT)],
        [StateKind(VALUE), StateKind(LIST)],
        [StateKind(VALUE, LONG), StateKind(VALUE, LONG, version=1)],
        [StateKind(VALUE), StateKind(VALUE, version=2), StateKind(VALUE, version=2)],
    ],
)
def test_other_types_and_versions(kinds: list[StateKind]) -> None:
    found = groups(kinds)
    assert mixed_states(found) == {("op", "s")}
    with pytest.raises(CheckpointError, match="some values of the state 's' have the type of an"):
        check_one_program(found)


@pytest.mark.parametrize(
    "kinds",
    [
        [StateKind(VALUE, LONG)] * 3,
        [StateKind(VALUE), StateKind(VALUE, LONG)],
        [StateKind(VALUE, INT), StateKind(VALUE, LONG)],  # the values are the same
    ],
)
def test_types_that_go_together(kinds: list[StateKind]) -> None:
    found = groups(kinds)
    assert mixed_states(found) == frozenset()
    check_one_program(found)
    assert merged_states(found.values(), None)["states"] == {"s": kinds[-1]}


VALUES = [StateKind(VALUE)] * 3


@pytest.mark.parametrize(
    ("cls", "seen"),
    [
        (Order, [["id", "quantity"], ["id", "qty"]]),
        (Leg, [["price"], ["price", "side"]]),
        (Leg, [["price", "side"], ["side", "price"], ["price", "side"]]),
    ],
)
def test_objects_that_are_converted_in_some_groups_only(cls: type, seen: list[list[str]]) -> None:
    found = groups(VALUES, *({named(cls): fields} for fields in seen))
    assert mixed_states(found) == {("op", "s")}
    with pytest.raises(CheckpointError):
        check_one_program(found)


def test_a_field_that_is_gone_may_have_another_name_in_the_program() -> None:
    """Which only the program knows: it is asked, and after that the values may be saved."""
    found = groups(VALUES, {named(Plain): ["id", "text"]}, {named(Plain): ["id", "note"]})
    assert mixed_states(found) == {("op", "s")}
    check_one_program(found)


@pytest.mark.parametrize(
    ("cls", "seen"),
    [
        (Plain, [["id"], ["id", "note"]]),
        (Order, [["id", "quantity"], ["id", "quantity"]]),
        (Leg, [["price"], ["price"], ["price"]]),
    ],
)
def test_objects_that_go_together(cls: type, seen: list[list[str]]) -> None:
    found = groups(VALUES, *({named(cls): fields} for fields in seen), {})
    assert mixed_states(found) == frozenset()
    check_one_program(found)
    assert merged_states(found.values(), None)["fields"] == {"s": {named(cls): seen[0]}}
