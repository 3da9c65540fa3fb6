"""datagen, print and blackhole."""

from __future__ import annotations

import datetime
import pickle
from datetime import UTC
from decimal import Decimal

import pytest

from headrace.common.types import Row, RowKind
from headrace.connector import Budget
from headrace.errors import SqlValidationError
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    INT,
    SMALLINT,
    STRING,
    ArrayType,
    DecimalType,
    Field,
    MapType,
    MultisetType,
    RowType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    VarCharType,
)
from headrace.table._connectors.registry import find_connector
from tests.unit.table.harness import columns, copy, rows, sink, source

FAST = {"rows-per-second": "1000000"}
ALL = columns(
    a=INT,
    b=VarCharType(5),
    c=DecimalType(10, 2),
    d=TimestampType(3),
    e=ArrayType(INT),
    f=MapType(STRING, DOUBLE),
    g=RowType((Field("x", INT), Field("y", BYTES))),
    h=BOOLEAN,
    i=DATE,
    j=TimestampLtzType(9),
    k=TimeType(0),
    m=MultisetType(INT),
    n=DecimalType(38, 18),
)


def test_generated_rows_have_the_declared_ranges() -> None:
    of = columns(a=INT, b=SMALLINT, c=STRING, d=DOUBLE)
    options = FAST | {
        "number-of-rows": "500",
        "fields.a.kind": "sequence",
        "fields.a.start": "7",
        "fields.a.end": "100000",
        "fields.b.min": "-3",
        "fields.b.max": "3",
        "fields.c.length": "4",
        "fields.d.null-rate": "0.5",
    }
    found = rows(source("datagen", of, options))
    assert [row.a for row in found] == [*range(7, 507)]
    assert {row.b for row in found} == {*range(-3, 4)}
    assert {len(row.c) for row in found} == {4}
    assert 150 < sum(row.d is None for row in found) < 350


def test_a_sequence_ends_the_table() -> None:
    options = {"fields.a.kind": "sequence", "fields.a.start": "1", "fields.a.end": "3"}
    found = rows(source("datagen", columns(a=STRING, b=BIGINT), FAST | options))
    assert [row.a for row in found] == ["1", "2", "3"]


def test_a_repeated_range_has_the_same_rows_of_every_type() -> None:
    read = source("datagen", ALL, FAST).source
    enumerator = read.enumerator("")
    start = enumerator.initial(1000)
    end = enumerator.advance(start, Budget(1000, 1 << 30), 1100, frozenset())
    ranges = enumerator.ranges(start, end.positions, frozenset())
    found = [
        [row for each in ranges for chunk in reader.read(each) for row in chunk.values]
        for reader in (read.reader(), pickle.loads(pickle.dumps(read)).reader())
    ]
    assert len(found[0]) == 1000
    assert found[0] == found[1]


def test_wrong_options_of_columns_are_refused() -> None:
    for options, said in (
        ({"fields.x.min": "1"}, "did you mean"),
        ({"fields.a.min": "5", "fields.a.max": "1"}, "greater"),
        ({"fields.a.kind": "sequence"}, "fields.a.start"),
        ({"fields.a.length": "5"}, "unknown option"),
    ):
        with pytest.raises(SqlValidationError, match=said):
            source("datagen", columns(a=INT), options)


def test_print_shows_kinds_and_values_as_flink(capsys: pytest.CaptureFixture[str]) -> None:
    of = columns(a=INT, b=STRING)
    options = {"fields.a.kind": "sequence", "fields.a.start": "1", "fields.a.end": "1"}
    options |= FAST | {"fields.b.length": "0"}
    copy(source("datagen", of, options), sink("print", of, {"print-identifier": "out"}))
    assert capsys.readouterr().out.rstrip().endswith("> +I[1, ]")

    row = Row(2, None)
    row.set_row_kind(RowKind.UPDATE_AFTER)
    assert sink("print", of, {}).sink.shown(row, None) == "+U[2, null]"  # type: ignore[attr-defined]


def test_lines_of_flink() -> None:
    """The line that Flink 2.3 printed for these values."""
    of = columns(
        c=DOUBLE,
        d=DecimalType(10, 3),
        e=BOOLEAN,
        f=DATE,
        g=TimestampType(3),
        h=TimestampLtzType(3),
        i=TimeType(0),
        j=BYTES,
        k=ArrayType(INT),
        m=MapType(STRING, INT),
        n=RowType((Field("x", INT), Field("y", STRING))),
    )
    day, at = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3, 4, 5, 120_000)
    values = [1.5e10, Decimal("1.500"), True, day, at, at.replace(microsecond=0, tzinfo=UTC)]
    values += [datetime.time(3, 4), b"h\xff", [1, 2], [("k", 1)], {"x": 1, "y": None}]
    shown = sink("print", of, {}).sink.shown(Row(*values), None)  # type: ignore[attr-defined]
    assert shown == (
        "+I[1.5E10, 1.500, true, 2020-01-02, 2020-01-02T03:04:05.120, 2020-01-02T03:04:05Z, 03:04,"
        " [104, -1], [1, 2], {k=1}, +I[1, null]]"
    )


def test_blackhole_takes_everything() -> None:
    of = columns(a=INT)
    copy(source("datagen", of, FAST | {"number-of-rows": "10"}), sink("blackhole", of, {}))
    with pytest.raises(SqlValidationError, match="cannot be read"):
        source("blackhole", of, {})


def test_a_connector_that_does_not_exist() -> None:
    with pytest.raises(SqlValidationError, match="did you mean 'filesystem'"):
        find_connector("filesytem")
    with pytest.raises(SqlValidationError, match=r"table 't' needs a connector\n(?s:.*)= '…'"):
        find_connector(None, "t", ["path"])
    with pytest.raises(SqlValidationError, match="write 'connector' in place of 'conector'"):
        find_connector(None, "t", ["path", "conector"])
