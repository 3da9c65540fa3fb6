"""Which columns are the time of their rows, and which are computed of it."""

from __future__ import annotations

import pytest

from headrace.sql.expressions import Call, ColumnRef
from headrace.sql.rel import (
    Aggregate,
    Calc,
    Column,
    Rel,
    Scan,
    Sort,
    Union,
    Window,
    WindowAggregate,
    WindowSpec,
    reference,
)
from headrace.sql.rules.time_attributes import time_attribute
from headrace.sql.types import INT, TimestampLtzType, TimestampType

PLAIN = TimestampType(3)
ROWTIME = TimestampType(3, "rowtime")
PROCTIME = TimestampLtzType(3, "proctime", nullable=False)
SCAN = Scan(("c", "d", "t"), (Column("id", INT), Column("ts", ROWTIME)))
CALC = Calc(
    SCAN,
    ("at", "p", "later", "id"),
    (
        ColumnRef(ROWTIME, "ts"),
        Call(PROCTIME, "PROCTIME", ()),
        Call(ROWTIME, "+", (ColumnRef(ROWTIME, "ts"),)),
        ColumnRef(INT, "id"),
    ),
)
BORDERS = (Column("s", PLAIN), Column("e", PLAIN))


def window(time: str, kind: Column) -> Window:
    return Window(CALC, WindowSpec("TUMBLE", time, 10), (*CALC.columns, *BORDERS, kind))


def test_computed_values_are_no_time() -> None:
    found = {each.name: time_attribute(CALC, each.name) for each in CALC.columns}
    assert found == {"at": "rowtime", "p": "proctime", "later": None, "id": None}


def test_a_streams_records_get_their_time() -> None:
    plain = Scan(("c", "d", "t"), (Column("ts", PLAIN),))
    assert time_attribute(Calc(plain, ("ts",), (ColumnRef(ROWTIME, "ts"),)), "ts") == "rowtime"
    assert time_attribute(Calc(plain, ("ts",), (ColumnRef(PLAIN, "ts"),)), "ts") is None


@pytest.mark.parametrize(
    ("time", "kind", "expected"),
    [
        ("at", Column("t", ROWTIME), "rowtime"),
        ("p", Column("t", PROCTIME), "proctime"),
        ("later", Column("t", ROWTIME), None),
    ],
)
def test_the_time_of_a_window(time: str, kind: Column, expected: str | None) -> None:
    rel = window(time, kind)
    assert time_attribute(rel, "t") == expected
    assert time_attribute(rel, "e") is None and time_attribute(rel, "p") == "proctime"


def test_groups_have_no_time_but_that_of_their_window() -> None:
    groups = Aggregate(CALC, ("at", "p"), ())
    assert time_attribute(groups, "at") is None and time_attribute(groups, "p") is None
    end, at = Column("e", PLAIN), Column("t", ROWTIME)
    spec = WindowSpec("TUMBLE", "at", 10)
    windows: Rel = WindowAggregate(CALC, spec, ("p",), (), ((end, "end"), (at, "time")))
    found = [time_attribute(windows, each.name) for each in windows.columns]
    assert found == [None, None, "rowtime"]
    assert time_attribute(Sort(windows, (("t", True, False),)), "t") == "rowtime"


def test_all_parts_of_a_union_have_it() -> None:
    names = ("at", "p", "later", "id")
    other = Calc(CALC, names, (*(reference(each) for each in CALC.columns),))
    assert time_attribute(Union((CALC, other)), "p") == "proctime"
    later = Calc(CALC, ("at",), (ColumnRef(ROWTIME, "later"),))
    same = Calc(CALC, ("at",), (ColumnRef(ROWTIME, "at"),))
    assert time_attribute(Union((same, later)), "at") is None
