from __future__ import annotations

import pytest

from headrace.errors import SqlValidationError
from headrace.sql.calls import cast, resolve_call
from headrace.sql.expressions import ColumnRef, Literal
from headrace.sql.types import (
    BIGINT,
    DATE,
    DOUBLE,
    INT,
    STRING,
    DecimalType,
    NullType,
    TimestampType,
)
from tests.unit.sql.reading import expression

COLUMNS = {"i": INT, "bi": BIGINT, "s": STRING, "d": DOUBLE, "p": DecimalType(10, 2), "dt": DATE}


@pytest.mark.parametrize(
    ("text", "plan"),
    [
        ("i + bi", "+(CAST(`i` AS BIGINT), `bi`)"),
        ("i = p", "=(CAST(`i` AS DECIMAL(12, 2)), CAST(`p` AS DECIMAL(12, 2)))"),
        ("dt = '2020-01-01'", "=(`dt`, CAST('2020-01-01' AS DATE NOT NULL))"),
        ("COALESCE(i, 1)", "COALESCE(`i`, 1)"),
        ("EXTRACT(YEAR FROM dt)", "EXTRACT(YEAR, `dt`)"),
        ("CASE WHEN i > 0 THEN 'a' END", "CASE(>(`i`, 0), 'a', NULL)"),
    ],
)
def test_conversions_are_calls_of_cast(text: str, plan: str) -> None:
    assert str(expression(text, COLUMNS)) == plan


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("UPPER(i)", r"UPPER does not take \(INT\)\n.*form:.*UPPER\(string\)"),
        ("FROBNICATE(i)", "no function has the name FROBNICATE"),
        ("LAG(i)", "the function LAG is not supported: it needs an OVER window"),
        ("UPER(s)", "did you mean UPPER"),
        ("LENGTH(s)", "did you mean CHAR_LENGTH"),
        ("PARSE_JSON(s)", "PARSE_JSON is not supported: there is no type VARIANT"),
        ("CAST(i AS TIMESTAMP(3))", "cannot convert INT to TIMESTAMP"),
        ("i +\n  nothing", r"there is no column nothing\n.*position: line 2, column 3"),
        ("s.part", "of type STRING has no field part"),
        ("JSON_VALUE(s, '$.a[?(@.b)]')", "not supported at"),
        ("s IS UNKNOWN", "IS UNKNOWN needs a BOOLEAN"),
    ],
)
def test_errors_say_what_and_where(text: str, message: str) -> None:
    with pytest.raises(SqlValidationError, match=f"(?s){message}"):
        expression(text, COLUMNS)


def test_null_has_the_type_that_the_function_takes() -> None:
    call = resolve_call("STARTSWITH", [ColumnRef(STRING, "s"), Literal(NullType(), None)])
    assert call.inputs == (ColumnRef(STRING, "s"), Literal(STRING, None))


@pytest.mark.parametrize(
    "text",
    [
        *("UPPER(NULL)", "i + NULL", "NULL IS TRUE", "s LIKE NULL", "IF(i = 1, NULL, 2)"),
        *("CASE WHEN i = 1 THEN NULL END", "NULLIF(NULL, i)"),
    ],
)
def test_null_without_a_type_is_refused(text: str) -> None:
    with pytest.raises(SqlValidationError, match="does not take a NULL without a type"):
        expression(text, COLUMNS)


def test_a_case_may_give_null() -> None:
    assert expression("CASE WHEN i = 1 THEN NULL ELSE 2 END", COLUMNS).type == INT


def test_a_cast_to_the_same_type_is_nothing() -> None:
    column = ColumnRef(INT, "i")
    assert cast(column, INT) is column
    assert str(cast(column, INT, safe=True)) == "`i`"
    assert cast(Literal(INT.with_nullable(False), 1), BIGINT).type == BIGINT.with_nullable(False)
    stamp = cast(ColumnRef(STRING, "s"), TimestampType(3), safe=True)
    assert stamp.type == TimestampType(3)
