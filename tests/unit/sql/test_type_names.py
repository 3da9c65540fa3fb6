"""Types by their names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import SqlParserError
from headrace.sql.catalog.listing import type_in_full
from headrace.sql.parsing import parse_expression
from headrace.sql.type_names import parse_type
from headrace.sql.types import (
    BIGINT,
    BOOLEAN,
    BYTES,
    DATE,
    DOUBLE,
    FLOAT,
    INT,
    MAX_LENGTH,
    SMALLINT,
    STRING,
    TINYINT,
    ArrayType,
    BinaryType,
    CharType,
    DecimalType,
    Field,
    MapType,
    MonthIntervalType,
    MultisetType,
    NullType,
    RowType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    VarBinaryType,
    VarCharType,
)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("boolean", BOOLEAN),
        ("TINYINT", TINYINT),
        ("SMALLINT", SMALLINT),
        ("INTEGER", INT),
        ("INT NOT NULL", INT.with_nullable(False)),
        ("BIGINT NULL", BIGINT),
        ("FLOAT", FLOAT),
        ("DOUBLE PRECISION", DOUBLE),
        ("DECIMAL", DecimalType(10, 0)),
        ("DEC(5)", DecimalType(5, 0)),
        ("NUMERIC(38, 38)", DecimalType(38, 38)),
        ("CHAR", CharType(1)),
        ("CHARACTER(7)", CharType(7)),
        ("VARCHAR", VarCharType(1)),
        ("CHAR VARYING(3)", VarCharType(3)),
        ("STRING", STRING),
        (f"VARCHAR({MAX_LENGTH})", STRING),
        ("BINARY", BinaryType(1)),
        ("VARBINARY", VarBinaryType(1)),
        ("BYTES", BYTES),
        ("DATE", DATE),
        ("TIME", TimeType(0)),
        ("TIME(3) WITHOUT TIME ZONE", TimeType(3)),
        ("TIMESTAMP", TimestampType(6)),
        ("TIMESTAMP(3) WITHOUT TIME ZONE", TimestampType(3)),
        ("TIMESTAMP_LTZ", TimestampLtzType(6)),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE", TimestampLtzType(3)),
        ("INTERVAL YEAR", MonthIntervalType()),
        ("INTERVAL YEAR(4) TO MONTH", MonthIntervalType()),
        ("INTERVAL DAY TO SECOND(3)", SecondIntervalType()),
        ("ARRAY<INT NOT NULL>", ArrayType(INT.with_nullable(False))),
        ("INT ARRAY NOT NULL", ArrayType(INT, nullable=False)),
        ("MAP<STRING, ARRAY<INT>>", MapType(STRING, ArrayType(INT))),
        ("MULTISET<STRING>", MultisetType(STRING)),
        ("ROW<>", RowType(())),
        (
            "ROW<a INT NOT NULL 'it''s', `b c` ROW(d DATE)>",
            RowType(
                (
                    Field("a", INT.with_nullable(False), "it's"),
                    Field("b c", RowType((Field("d", DATE),))),
                )
            ),
        ),
        ("NULL", NullType()),
        ("DECIMAL(39)", DecimalType(38)),
    ],
)
def test_a_name(name: str, kind: SqlType) -> None:
    assert parse_type(name) == kind


def test_lengths_in_statements_are_the_greatest() -> None:
    assert parse_type(parse_expression("CAST(a AS VARCHAR)").args["to"]) == STRING
    assert parse_type(parse_expression("CAST(a AS VARBINARY)").args["to"]) == BYTES
    assert parse_type(parse_expression("CAST(a AS CHAR)").args["to"]) == CharType(1)


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("INTT", "no type 'INTT'; did you mean INT?"),
        ("TEXT", "STRING is one"),
        ("DECIMAL(0)", "at least 1"),
        ("DECIMAL(5, 6)", "between 0 and 5"),
        ("TIMESTAMP(10)", "between 0 and 9"),
        ("VARCHAR(0)", "between 1 and"),
        ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP_LTZ is a moment"),
        ("ARRAY<INT", "expected .*'>'"),
        ("INT INT", "'INT' is not expected here"),
        ("ROW<a>", "expected a type"),
        ("RAW('x', 'y')", "RAW is a type of Flink that is not supported"),
        ("", "the end of the text"),
    ],
)
def test_what_is_no_name(name: str, problem: str) -> None:
    with pytest.raises(SqlParserError, match=problem):
        parse_type(name)


_names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5)
_plain: list[SqlType] = [
    *(BIGINT, BOOLEAN, BYTES, DATE, DOUBLE, FLOAT, INT, SMALLINT, STRING, TINYINT),
    *(MonthIntervalType(), SecondIntervalType(), DecimalType(12, 3), TimeType(2)),
    *(TimestampType(9), TimestampLtzType(0), CharType(5), VarCharType(6), BinaryType(7)),
]


def _nested(inner: st.SearchStrategy[SqlType]) -> st.SearchStrategy[SqlType]:
    fields = st.builds(Field, _names, inner, _names | st.just(""))
    rows = st.lists(fields, max_size=3).map(tuple).map(RowType)
    maps = st.builds(MapType, inner, inner)
    return st.one_of(st.builds(ArrayType, inner), st.builds(MultisetType, inner), maps, rows)


def _with_nulls(types: st.SearchStrategy[SqlType]) -> st.SearchStrategy[SqlType]:
    return st.builds(lambda kind, nullable: kind.with_nullable(nullable), types, st.booleans())


@given(_with_nulls(st.recursive(_with_nulls(st.sampled_from(_plain)), _nested, max_leaves=6)))
def test_a_type_is_read_as_it_is_written(kind: SqlType) -> None:
    assert parse_type(str(kind)) == kind
    assert parse_type(type_in_full(kind)) == kind
