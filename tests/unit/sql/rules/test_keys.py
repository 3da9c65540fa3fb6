"""By which columns rows replace each other."""

from __future__ import annotations

import pytest

from headrace.sql.calls import cast
from headrace.sql.expressions import Literal
from headrace.sql.rel import (
    Aggregate,
    Calc,
    Column,
    Rel,
    Scan,
    WindowAggregate,
    WindowKind,
    WindowSpec,
    reference,
)
from headrace.sql.rules.keys import upsert_keys
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    INT,
    STRING,
    DateType,
    DecimalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    VarCharType,
)


def keyed_as(given: SqlType, wanted: SqlType) -> bool:
    """Return whether the key of groups is one after a CAST."""
    grouped = Aggregate(Scan(("c", "d", "t"), (Column("k", given),)), ("k",), ())
    made = Calc(grouped, ("t",), (cast(reference(Column("k", given)), wanted),))
    return upsert_keys(made) == {frozenset({"t"})}


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (INT, BIGINT),
        (INT, STRING),
        (INT, VarCharType(11)),
        (BOOLEAN, VarCharType(5)),
        (DateType(), STRING),
        (TimestampType(3), VarCharType(23)),
        (VarCharType(3), STRING),
    ],
)
def test_a_cast_keeps_a_key(given: SqlType, wanted: SqlType) -> None:
    assert keyed_as(given, wanted)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (BIGINT, INT),
        (INT, VarCharType(10)),
        (STRING, VarCharType(3)),
        (TimestampLtzType(3), STRING),
        (DecimalType(5, 2), STRING),
        (DecimalType(5, 2), DecimalType(5, 1)),
    ],
)
def test_a_cast_may_make_values_equal(given: SqlType, wanted: SqlType) -> None:
    assert not keyed_as(given, wanted)


def with_constant(rel: Rel) -> Rel:
    made = Calc(rel, ("k", "one"), (reference(Column("k", INT)), Literal(INT, 1)))
    return Aggregate(made, ("k", "one"), ())


def test_constants_are_no_part_of_a_key() -> None:
    assert upsert_keys(with_constant(Scan(("c", "d", "t"), (Column("k", INT),)))) == {
        frozenset({"k"})
    }


@pytest.mark.parametrize(
    ("kind", "alone"),
    [("TUMBLE", {"s", "e"}), ("HOP", {"s", "e"}), ("SESSION", {"s", "e"}), ("CUMULATE", {"e"})],
)
def test_a_border_that_no_other_window_has_is_a_key(kind: WindowKind, alone: set[str]) -> None:
    time = Column("t", TimestampType(3))
    spec = WindowSpec(kind, "t", 10_000, 5_000)
    borders = ((Column("s", TimestampType(3)), "start"), (Column("e", TimestampType(3)), "end"))
    rel = WindowAggregate(
        Scan(("c", "d", "x"), (time, Column("k", INT))), spec, ("k",), (), borders
    )
    assert upsert_keys(rel) == {frozenset({"k", name}) for name in alone}
