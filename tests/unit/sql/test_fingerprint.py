"""Which plans have one meaning, so that their operators go on from one state."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import cast

import pytest

from headrace.sql.aggregates.table import AGGREGATES
from headrace.sql.expressions import ColumnRef, Expression
from headrace.sql.fingerprint import Fingerprints
from headrace.sql.python_function import Implementation, PythonFunction
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    Column,
    CountWindowAggregate,
    OverInput,
    Rel,
    Scan,
    Sort,
    Union,
    Unnest,
    Values,
    Watermark,
    Window,
    WindowAggregate,
    WindowSpec,
    reference,
)
from headrace.sql.types import (
    BIGINT,
    INT,
    STRING,
    ArrayType,
    TimestampLtzType,
    TimestampType,
)
from tests.unit.sql.reading import expression

pytest.importorskip("sqlglot")

TIME = TimestampType(3, attribute="rowtime")
TYPES = {"a": INT, "b": INT, "k": STRING, "x": ArrayType(INT), "y": ArrayType(INT)}
SCAN = Scan(("c", "d", "t"), (*(Column(*each) for each in TYPES.items()), Column("ts", TIME)))
COUNT = AggregateCall("n", "COUNT", (), BIGINT)


def operator(rel: Rel, reads: str = "files /data", zone: str = "UTC") -> str:
    return Fingerprints(lambda scan: reads, zone).operator(rel)


def text(sql: str) -> Expression:
    return expression(sql, TYPES)


def columns(rel: Rel, *names: str, where: str | None = None) -> Calc:
    by_name = {each.name: each for each in rel.columns}
    condition = None if where is None else text(where)
    return Calc(rel, names, tuple(reference(by_name[each]) for each in names), condition)


def counted(rel: Rel, *keys: str) -> Aggregate:
    return Aggregate(rel, keys, (COUNT,))


def test_what_is_read_of_a_table_does_not_count() -> None:
    some = replace(SCAN, projection=("a", "k"), files_where=text("k = 'x'"))
    assert operator(counted(columns(some, "a"), "a")) == operator(counted(SCAN, "a"))
    of_csv = replace(SCAN, options=(("format", "csv"),))
    some = replace(of_csv, projection=("b",))
    assert operator(counted(some, "b")) == operator(counted(of_csv, "b"))


def test_names_and_projections_do_not_count() -> None:
    renamed = Calc(columns(SCAN, "b", "a"), ("a",), (ColumnRef(INT, "b"),))
    assert operator(counted(renamed, "a")) == operator(counted(SCAN, "b"))
    assert operator(counted(renamed, "a")) != operator(counted(SCAN, "a"))


def test_the_order_of_conditions_does_not_count() -> None:
    one = counted(columns(SCAN, "k", where="a > 1 AND (b = 2 OR a = 3)"), "k")
    other = counted(
        columns(columns(SCAN, "k", "a", where="a = 3 OR b = 2"), "k", where="a > 1"), "k"
    )
    assert operator(one) == operator(other)
    for another in ("a > 1 OR b = 2 OR a = 3", "a > 1 AND b = 2 AND a = 3", "a > 1"):
        assert operator(counted(columns(SCAN, "k", where=another), "k")) != operator(one)


def test_expressions_and_types_count() -> None:
    texts = {
        operator(counted(Calc(SCAN, ("v",), (text(each),)), "v"))
        for each in ("a + b", "b + a", "a - b", "CAST(a AS BIGINT)", "a", "'a'", "k", "1", "'1'")
    }
    assert len(texts) == 9


def test_what_is_aggregated_counts() -> None:
    calls = [
        COUNT,
        AggregateCall("n", "COUNT", ("a",), BIGINT),
        AggregateCall("n", "COUNT", ("b",), BIGINT),
        AggregateCall("n", "COUNT", ("a",), BIGINT, distinct=True),
        AggregateCall("n", "SUM", ("a",), BIGINT),
        AggregateCall("n", "COUNT", ("a",), BIGINT, options=(",",)),
    ]
    assert len({operator(Aggregate(SCAN, ("k",), (each,))) for each in calls}) == len(calls)
    named = AggregateCall("m", "COUNT", (), BIGINT)
    assert operator(Aggregate(SCAN, ("k",), (named,), ttl_ms=5)) == operator(counted(SCAN, "k"))


def test_the_form_of_the_state_of_an_aggregate_function_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that state in another form is not read."""

    def of(call: AggregateCall) -> str:
        return operator(Aggregate(SCAN, ("k",), (call,)))

    names = ("STDDEV_POP", "VAR_SAMP", "SUM")
    calls = {each: AggregateCall("n", each, ("a",), INT) for each in names}
    before = {name: of(call) for name, call in calls.items()}
    for name in ("STDDEV_POP", "SUM"):
        row = replace(AGGREGATES[name], state_form=AGGREGATES[name].state_form + 1)
        monkeypatch.setitem(AGGREGATES, name, row)
    assert [of(calls[each]) == before[each] for each in names] == [False, True, False]
    of_user = PythonFunction("SUM", "aggregate", None, INT, True, cast(Implementation, None))
    users = replace(calls["SUM"], python=of_user)
    changed = of(users)
    monkeypatch.undo()
    assert of(users) == changed


def test_the_states_of_variances_have_another_form_than_their_sums_had() -> None:
    forms = {name: each.state_form for name, each in AGGREGATES.items() if each.state_form > 1}
    assert forms == dict.fromkeys(("STDDEV_POP", "STDDEV_SAMP", "VAR_POP", "VAR_SAMP"), 2)


def test_a_table_may_get_columns_but_reads_the_same() -> None:
    wider = Scan(SCAN.table, (Column("new", INT), *SCAN.fields), (("some", "option"),))
    assert operator(counted(wider, "k")) == operator(counted(SCAN, "k"))
    assert operator(counted(SCAN, "k"), "files /other") != operator(counted(SCAN, "k"))
    meta = Scan(SCAN.table, SCAN.fields, metadata=(("k", "file.path"),))
    assert operator(counted(meta, "k")) != operator(counted(SCAN, "k"))


def test_columns_that_relations_add_are_told_apart() -> None:
    """Of several arrays, and of windows of windows."""
    inner = Unnest(SCAN, ColumnRef(TYPES["x"], "x"), (Column("p", INT),), False, False)
    both = Unnest(inner, ColumnRef(TYPES["y"], "y"), (Column("q", INT),), False, False)
    assert operator(counted(both, "p")) != operator(counted(both, "q"))
    first = windowed(SCAN, "ts", "")
    second = windowed(first, "w_time", "2")
    assert operator(counted(second, "w_start")) != operator(counted(second, "w_start2"))


def windowed(rel: Rel, time: str, suffix: str) -> Window:
    kind = TimestampType(3)
    borders = [Column(f"w_{each}{suffix}", kind) for each in ("start", "end", "time")]
    return Window(rel, WindowSpec("TUMBLE", time, 1000), (*rel.columns, *borders))


def test_windows_count_and_watermarks_do_not() -> None:
    def of(size_ms: int, delay: str, border: str = "start", moments: bool = False) -> Rel:
        timed = Watermark(SCAN, "ts", text(delay), SCAN.fields)
        spec = WindowSpec("TUMBLE", "ts", size_ms)
        named = ((Column("w", TIME), border),)
        return WindowAggregate(timed, spec, ("k",), (COUNT,), named, of_moments=moments)  # type: ignore[arg-type]

    assert operator(of(1000, "1")) == operator(of(1000, "2")) == operator(of(1000, "1", "end"))
    assert operator(of(1000, "1")) != operator(of(2000, "1"))
    assert operator(of(1000, "1"), zone="Asia/Tokyo") == operator(of(1000, "1"))
    local = of(1000, "1", moments=True)
    assert operator(local, zone="Asia/Tokyo") != operator(local)


def test_windows_of_a_number_of_rows_count() -> None:
    lengths = [(2, 2), (3, 2), (3, 3)]
    made = [CountWindowAggregate(SCAN, ("k",), (COUNT,), *each) for each in lengths]
    texts = {operator(each) for each in (*made, replace(made[0], keys=("a",)))}
    assert len(texts) == 4
    named = replace(made[0], calls=(replace(COUNT, name="m"),))
    assert operator(named) == operator(made[0])


def test_rows_that_are_kept_count_with_all_columns() -> None:
    keys = (("a", True, False),)
    assert operator(Sort(columns(SCAN, "a"), keys)) != operator(Sort(columns(SCAN, "a", "b"), keys))
    counts = [Sort(columns(SCAN, *each), (), limit=3) for each in (["a"], ["b", "a"])]
    assert operator(counts[0]) == operator(counts[1])


def test_the_order_of_a_union_does_not_count() -> None:
    one, other = Values(((text("1"),),), (Column("v", INT),)), columns(SCAN, "a")
    assert operator(counted(Union((one, other)), "v")) == operator(
        counted(Calc(Union((other, one)), ("v",), (ColumnRef(INT, "a"),)), "v")
    )


def test_a_column_that_is_named_often_has_a_short_text() -> None:
    rel: Rel = SCAN
    for _ in range(100):
        rel = Calc(rel, ("a",), (text("a + a"),))
    assert len(operator(counted(rel, "a"))) < 1000


def test_each_relation_has_a_text() -> None:
    def subclasses(of: type[Rel]) -> set[type[Rel]]:
        return {each for one in of.__subclasses__() for each in (one, *subclasses(one))}

    described = inspect.getsource(Fingerprints)
    missing = {each for each in subclasses(Rel) if f"case {each.__name__}()" not in described}
    assert missing == {OverInput}


def test_the_condition_of_elements_counts() -> None:
    def unnested(where: str | None) -> Rel:
        condition = None if where is None else expression(where, {**TYPES, "e": INT})
        made = Unnest(SCAN, text("x"), (Column("e", INT),), True, False, condition)
        return counted(made, "e")

    texts = {operator(unnested(each)) for each in (None, "e > 1", "e > 2")}
    assert len(texts) == 3
    assert operator(unnested("e > 1")) == operator(unnested("e > 1"))


def test_the_time_zone_counts_where_an_expression_reads_it() -> None:
    moments = replace(SCAN, fields=(*SCAN.fields, Column("m", TimestampLtzType(3))))
    types = {each.name: each.type for each in moments.fields}

    def in_zone(sql: str, zone: str) -> str:
        return operator(counted(Calc(moments, ("v",), (expression(sql, types),)), "v"), zone=zone)

    for sql in ("CAST(m AS DATE)", "FLOOR(m TO DAY)", "m > ts", "FROM_UNIXTIME(a)", "CURRENT_DATE"):
        assert in_zone(sql, "UTC") != in_zone(sql, "Asia/Tokyo")
    for sql in ("a", "m", "CAST(ts AS DATE)", "NOW()", "FLOOR(ts TO DAY)"):
        assert in_zone(sql, "UTC") == in_zone(sql, "Asia/Tokyo")


def test_the_time_zone_counts_for_windows_of_moments() -> None:
    moments = replace(SCAN, fields=(*SCAN.fields, Column("m", TimestampLtzType(3))))
    for time, counts in (("m", True), ("ts", False)):
        rel = counted(windowed(moments, time, ""), "w_start")
        assert (operator(rel) != operator(rel, zone="Asia/Tokyo")) is counts


def test_a_column_of_csv_is_what_stands_at_its_place() -> None:
    swapped = replace(SCAN, fields=(SCAN.fields[1], SCAN.fields[0], *SCAN.fields[2:]))
    longer = replace(SCAN, fields=(*SCAN.fields, Column("more", INT)))
    for options in ((("format", "csv"),), (("value.format", "csv"),), (("format", "json"),)):
        texts = [
            operator(counted(replace(each, options=options), "a"))
            for each in (SCAN, swapped, longer)
        ]
        assert texts[0] == texts[2]
        assert (texts[0] == texts[1]) is (options[0][1] == "json")
