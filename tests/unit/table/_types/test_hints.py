"""Types of hints of Python, and functions whose result has one."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Awaitable, Coroutine
from typing import Any, NotRequired, Required, TypedDict

import pytest

from headrace.table import DataTypes
from headrace.table._types.hints import awaited, type_of_hint
from headrace.table.udf import udf

BIGINT, STRING = DataTypes.BIGINT(), DataTypes.STRING()


class Point(TypedDict):
    x: int
    label: str | None
    note: NotRequired[str]


class Loose(TypedDict, total=False):
    id: Required[int]
    label: str


class Node(TypedDict):
    next: Node | None


class Employee(TypedDict):
    department: Department | None


class Department(TypedDict):
    staff: list[Employee]


@pytest.mark.parametrize(
    ("hint", "kind"),
    [
        (bool, DataTypes.BOOLEAN(False)),
        (int, BIGINT.not_null()),
        (bytearray, DataTypes.BYTES(False)),
        (decimal.Decimal, DataTypes.DECIMAL(38, 18, False)),
        (datetime.date, DataTypes.DATE(False)),
        (datetime.time, DataTypes.TIME(3, False)),
        (datetime.datetime, DataTypes.TIMESTAMP(6, False)),
        (Any, STRING),
        (int | None, BIGINT),
        (list[int], DataTypes.ARRAY(BIGINT.not_null(), False)),
        (list[int | None] | None, DataTypes.ARRAY(BIGINT)),
        (
            dict[str, float],
            DataTypes.MAP(STRING.not_null(), DataTypes.DOUBLE(False), False),
        ),
        (
            Point,
            DataTypes.ROW(
                [
                    DataTypes.FIELD("x", BIGINT.not_null()),
                    DataTypes.FIELD("label", STRING),
                    DataTypes.FIELD("note", STRING),
                ],
                False,
            ),
        ),
        (
            Loose,
            DataTypes.ROW(
                [DataTypes.FIELD("id", BIGINT.not_null()), DataTypes.FIELD("label", STRING)], False
            ),
        ),
    ],
)
def test_a_hint_stands_for_a_type(hint: Any, kind: Any) -> None:
    assert type_of_hint(hint) == kind


@pytest.mark.parametrize("hint", [complex, list, dict, int | str | None])
def test_other_hints_are_refused(hint: Any) -> None:
    with pytest.raises(TypeError, match="has no column type"):
        type_of_hint(hint)


@pytest.mark.parametrize(
    ("hint", "name"), [(Node, "Node"), (list[Node], "Node"), (Employee, "Employee")]
)
def test_a_class_inside_itself_is_refused(hint: Any, name: str) -> None:
    with pytest.raises(TypeError, match=f"'{name}' contains itself"):
        type_of_hint(hint)


def test_what_an_awaitable_gives() -> None:
    assert awaited(Coroutine[Any, Any, int]) is int
    assert awaited(Awaitable[str]) is str
    assert awaited(int) is int


def test_the_result_of_a_function_is_that_of_its_hint() -> None:
    def length(text: str) -> int:
        return len(text)

    assert str(udf(length)._result()) == "BIGINT NOT NULL"
    assert str(udf(length, result_type=DataTypes.INT())._result()) == "INT"
    with pytest.raises(TypeError, match="returnType should be DataType or str but is None"):
        udf(lambda text: text)
