"""What nothing reads is not computed."""

from __future__ import annotations

import pytest

from headrace.sql.expressions import Literal
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    Column,
    Expand,
    Rel,
    Scan,
    SetOperation,
    Sort,
    Union,
    Watermark,
    Window,
    WindowAggregate,
    WindowSpec,
    reference,
    walk,
)
from headrace.sql.rules.unread_columns import with_columns_read, without_unread_columns
from headrace.sql.types import BIGINT, BOOLEAN, INT, STRING, TimestampType

TIME = TimestampType(3)
COLUMNS = (Column("a", INT), Column("b", INT), Column("t", TIME))
SCAN = Scan(("c", "d", "t"), COLUMNS)
SUM = AggregateCall("s", "SUM", ("b",), INT)
COUNT = AggregateCall("n", "COUNT", (), BIGINT.with_nullable(False))
GROUPED = Aggregate(SCAN, ("a",), (SUM, COUNT))


def reading(rel: Rel, *names: str, condition: str | None = None) -> Calc:
    by_name = {each.name: reference(each) for each in rel.columns}
    where = None if condition is None else by_name[condition]
    return Calc(rel, names, tuple(by_name[name] for name in names), where)


def calls_of(rel: Rel) -> list[str]:
    made = without_unread_columns(rel)
    assert made.columns == rel.columns
    return [
        call.name
        for each in walk(made)
        if isinstance(each, Aggregate | WindowAggregate)
        for call in each.calls
    ]


def test_what_a_statement_gives_stays() -> None:
    assert without_unread_columns(GROUPED) == GROUPED


def test_an_aggregate_that_nothing_reads_is_left_out() -> None:
    assert calls_of(reading(GROUPED, "a", "n")) == ["n"]
    assert calls_of(Aggregate(GROUPED, (), (AggregateCall("m", "MAX", ("s",), INT),))) == ["m", "s"]
    assert calls_of(reading(reading(GROUPED, "a", "s", "n"), "n")) == ["n"]


def test_conditions_and_filters_read() -> None:
    flag = AggregateCall("f", "MAX", ("a",), BOOLEAN)
    rel = Aggregate(SCAN, ("b",), (flag, SUM, COUNT))
    assert calls_of(reading(rel, "n", condition="f")) == ["f", "n"]
    kept = AggregateCall("k", "COUNT", (), BIGINT, filter="f")
    assert calls_of(Aggregate(rel, ("b",), (kept,))) == ["k", "f"]


@pytest.mark.parametrize(
    "over",
    [
        lambda rel: Sort(rel, (("n", True, True),)),
        lambda rel: Expand(rel, ("n",), ("n2",), (("n",), ()), "$set"),
        lambda rel: Union((rel, rel)),
        lambda rel: reading(rel, "s", "n"),
    ],
)
def test_it_is_found_below_other_relations(over: object) -> None:
    found = calls_of(reading(over(GROUPED), "n"))  # type: ignore[operator]
    assert {*found} == {"n"}


def test_set_operations_compare_all_columns() -> None:
    both = SetOperation(GROUPED, GROUPED, "INTERSECT", all=False)
    assert calls_of(reading(both, "n")) == ["s", "n", "s", "n"]


def test_windows_read_their_time() -> None:
    spec = WindowSpec("TUMBLE", "t", 10_000)
    timed = Watermark(SCAN, "t", Literal(TIME, None), COLUMNS)
    borders = tuple(Column(name, TIME) for name in ("start", "end", "last"))
    window = Window(timed, spec, (*COLUMNS, *borders))
    made = without_unread_columns(reading(window, "a", "end"))
    assert [each.name for each in made.inputs[0].columns][-3:] == ["start", "end", "last"]
    rel = WindowAggregate(timed, spec, ("a",), (SUM, COUNT), ((borders[1], "end"),))
    assert calls_of(reading(rel, "a", "n", "end")) == ["n"]


def test_a_group_of_all_rows_keeps_its_first_result() -> None:
    inner = Aggregate(SCAN, (), (SUM, AggregateCall("m", "MAX", ("a",), INT)))
    assert calls_of(Aggregate(Calc(inner, (), ()), (), (COUNT,))) == ["n", "s"]


def test_groups_without_results_keep_their_keys() -> None:
    assert calls_of(Aggregate(Calc(GROUPED, (), ()), (), (COUNT,))) == ["n"]


def scans_of(*rels: Rel, projects: bool = True) -> list[tuple[str, ...] | None]:
    made = with_columns_read(rels, lambda _: projects)
    assert [each.columns for each in made] == [each.columns for each in rels]
    return [scan.projection for rel in made for scan in walk(rel) if isinstance(scan, Scan)]


def test_tables_give_what_is_read() -> None:
    assert scans_of(SCAN) == [None]
    assert scans_of(reading(SCAN, "b")) == [("b",)]
    assert scans_of(reading(SCAN, "b"), projects=False) == [None]
    assert scans_of(GROUPED) == [("a", "b")]
    assert scans_of(Watermark(reading(SCAN, "b", "t"), "t", Literal(TIME, None), COLUMNS[1:])) == [
        ("b", "t")
    ]


def test_the_plans_of_a_job_read_a_table_together() -> None:
    assert scans_of(reading(SCAN, "b"), reading(SCAN, "a")) == [("a", "b")] * 2
    assert scans_of(reading(SCAN, "b"), SCAN) == [None] * 2


def test_rows_are_counted_by_the_shortest_column() -> None:
    count = Aggregate(Scan(("c", "d", "t"), (Column("s", STRING), *COLUMNS)), (), (COUNT,))
    assert scans_of(count) == [("a",)]


def test_sorted_rows_do_not_have_what_others_read() -> None:
    first = Sort(reading(SCAN, "a", "b"), (("b", True, True),), limit=1)
    (made, _) = with_columns_read([reading(first, "a"), SCAN], lambda _: True)
    assert [each.name for each in made.inputs[0].columns] == ["a", "b"]
    over_all = Sort(SCAN, (("b", True, True),), limit=1)
    (made, _) = with_columns_read([reading(over_all, "a"), SCAN], lambda _: True)
    assert [each.name for each in made.inputs[0].columns] == ["a", "b"]
