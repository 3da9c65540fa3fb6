"""Which files of tables a job need not read."""

from __future__ import annotations

import pytest

from headrace.sql.calls import cast, resolve_call
from headrace.sql.expressions import Expression, Literal
from headrace.sql.rel import Calc, Column, Rel, Scan, Union, Watermark, reference, walk
from headrace.sql.rules.unread_files import with_files_read
from headrace.sql.types import DOUBLE, INT, STRING, TimestampType

TIME = TimestampType(3)
COLUMNS = (Column("a", INT), Column("day", STRING), Column("t", TIME))
SCAN = Scan(("c", "d", "t"), COLUMNS)
A, DAY, T = map(reference, COLUMNS)


def is_(column: Expression, value: object) -> Expression:
    return resolve_call("=", (column, Literal(column.type.with_nullable(False), value)))


def both(*parts: Expression) -> Expression:
    return resolve_call("AND", parts)


def where(condition: Expression | None, rel: Rel = SCAN) -> Calc:
    columns = rel.columns
    names = tuple(each.name for each in columns)
    return Calc(rel, names, tuple(map(reference, columns)), condition)


def files_of(*rels: Rel, batch: bool = False) -> list[str]:
    made = with_files_read(rels, lambda _: frozenset(["day"]), batch=batch)
    assert [each.columns for each in made] == [each.columns for each in rels]
    scans = [each for rel in made for each in walk(rel) if isinstance(each, Scan)]
    return [str(scan.files_where) for scan in scans]


FIRST = is_(DAY, "1")
ONE = str(FIRST)


def test_conditions_over_columns_of_files_choose_them() -> None:
    assert files_of(where(FIRST)) == [ONE]
    assert files_of(where(both(is_(A, 3), FIRST))) == [ONE]
    assert files_of(where(None, where(FIRST))) == [ONE]
    assert files_of(where(FIRST, where(None))) == [ONE]
    assert files_of(where(is_(A, 3), where(FIRST))) == [ONE]


def test_other_conditions_choose_none() -> None:
    assert files_of(SCAN) == ["None"]
    assert files_of(where(is_(A, 3))) == ["None"]
    assert files_of(where(resolve_call("OR", (is_(A, 3), FIRST)))) == ["None"]
    assert files_of(where(resolve_call("=", (DAY, cast(A, STRING))))) == ["None"]
    assert files_of(where(is_(cast(DAY, INT), 1))) == ["None"]  # it may fail
    chance = resolve_call("RAND", ())
    zero = Literal(DOUBLE.with_nullable(False), 0.5)
    assert files_of(where(resolve_call(">", (chance, zero)))) == ["None"]


def test_a_condition_is_found_under_the_name_of_a_projection() -> None:
    renamed = Calc(SCAN, ("x",), (DAY,))
    (column,) = renamed.columns
    assert files_of(where(is_(reference(column), "1"), renamed)) == [ONE]


def test_a_condition_over_a_union_is_one_over_each_part() -> None:
    other = Scan(("c", "d", "u"), (Column("x", INT), Column("day", STRING), Column("z", TIME)))
    both_tables = Union((SCAN, where(is_(reference(other.fields[0]), 3), other)))
    assert files_of(where(FIRST, both_tables)) == [ONE] * 2
    twice = Union((SCAN, Calc(SCAN, ("a", "day", "t"), (A, cast(A, STRING), T))))
    assert files_of(where(FIRST, twice)) == ["None"] * 2, "one part needs all files"


def test_the_plans_of_a_job_read_what_one_of_them_needs() -> None:
    second = is_(DAY, "2")
    (both_days, same) = files_of(where(FIRST), where(second))
    assert both_days == same == str(resolve_call("OR", (FIRST, second)))
    assert files_of(where(FIRST), where(FIRST)) == [ONE] * 2
    assert files_of(where(FIRST), SCAN) == ["None"] * 2
    assert files_of(Union((where(FIRST), where(is_(A, 3))))) == ["None"] * 2


@pytest.mark.parametrize("batch", [True, False])
def test_rows_advance_a_watermark_also_if_they_are_left_out_later(batch: bool) -> None:
    timed = Watermark(SCAN, "t", T, COLUMNS)
    assert files_of(where(FIRST, timed), batch=batch) == [ONE if batch else "None"]
    assert files_of(Watermark(where(FIRST), "t", T, COLUMNS), batch=batch) == [ONE]
