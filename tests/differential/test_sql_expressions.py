"""Expressions of SQL give the types and values that Flink SQL gave."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headrace.errors import HeadraceError
from headrace.sql.evaluate import compile_expressions, evaluate_constant
from headrace.sql.expressions import ColumnRef, Expression
from headrace.sql.functions.function import Session
from headrace.sql.functions.table import FUNCTIONS
from headrace.sql.types import (
    ArrayType,
    BytesType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    RowType,
    SqlType,
    TimestampLtzType,
    TimestampType,
    TimeType,
    to_arrow,
)
from tests.differential.sql_corpus import ROWS, TIME_ZONE, TYPES

pytest.importorskip("sqlglot")
dialect = pytest.importorskip("headrace.sql.dialect.queries")
convert = pytest.importorskip("headrace.sql.convert")
pa = pytest.importorskip("pyarrow")

GOLDENS = Path(__file__).with_name("goldens_sql") / "expressions.jsonl"
RECORDS = [json.loads(line) for line in GOLDENS.read_text(encoding="utf-8").splitlines()]
BY_TEXT = {each["sql"]: each for each in RECORDS}
SESSION = Session(TIME_ZONE, 1_800_000_000_000)
PARTS = 8
"""So many tests the expressions are spread over, as a test for each would be mostly overhead."""

_NULL = "NULL without a type is accepted here"
_MORE = "Flink refuses it, or fails; it is accepted here"
_YEAR = "Python has no year 10000"
_UNIT = "a difference of times with a unit is not read; TIMESTAMPDIFF is"

DEVIATIONS: dict[str, str] = {
    "NULL": _NULL,
    "b = 'true'": "Flink answers FALSE, also where it is true; it is refused here",
    "CAST(0 AS DOUBLE) / CAST(0 AS DOUBLE)": "Flink's planner fails; of columns it gives NaN",
    "LPAD('hi', 4, '')": "Flink's planner fails on NULL; of columns it gives NULL",
    "CEIL(tm TO MINUTE)": "Flink fails on 24:00, which is 00:00 here",
    "CEIL(dt TO MONTH)": _YEAR,
    "TIMESTAMPADD(DAY, 1, dt)": _YEAR,
    "TIMESTAMPADD(WEEK, 1, dt)": _YEAR,
    "TIMESTAMPADD(MONTH, 1, dt)": _YEAR,
    "dt + INTERVAL '1' DAY": _YEAR,
    "dt + INTERVAL '1' YEAR": _YEAR,
    "TIMESTAMPDIFF(WEEK, DATE '2020-01-01', dt)": "Flink's milliseconds overflow",
    "INTERVAL '10' MINUTE / 2": "Flink accepts it, and fails when it generates code",
    "LPAD('hi', -1, 'x')": "Flink's planner fails on NULL; of columns it gives NULL",
    "GREATEST(1, NULL)": _NULL,
    "i IN (SELECT 1)": "a query: the resolver's",
    "DATE_FORMAT(ts, 'w W k K h H')": "weeks of a locale are not supported",
    "PRINTF('%s', dt)": "Flink prints the number of the day",
    "TRY_CAST(ch AS DECIMAL(12, 3))": "Flink reads the text 'a    ' as 0",
    "TRY_CAST(vc AS DECIMAL(12, 3))": "Flink counts a 0 at the start as a digit",
    "TRY_CAST(ts AS TIME)": "Flink fails before 1970",
    "LEAST(p, d)": _MORE,
    "JSON_STRING(dt)": _MORE,
    "JSON_STRING(tm)": _MORE,
    "JSON_VALUE('{\"a\": 1}', '$.a' RETURNING DOUBLE)": _MORE,
    "JSON_OBJECT('x' VALUE dt, 'y' VALUE ts3, 'z' VALUE arr, 'w' VALUE r)": _MORE,
    "(ts3 - ts3) DAY": _UNIT,
    "(ts - ts3) SECOND": _UNIT,
    "(dt - DATE '2020-01-01') DAY": _UNIT,
    "(dt - DATE '2020-01-01') MONTH": _UNIT,
}
"""Expressions with another answer than Flink's, each with the reason."""


def parse(text: str, scope: Any) -> Expression:
    reader = dialect.QueryReader(text)
    tree = reader.expression()
    if reader.token.kind != "end":
        reader.fail()
    return convert.Converter(scope).expression(tree)


def no_columns(names: tuple[str, ...]) -> Expression | None:
    return None


def read_type(text: str) -> SqlType:
    from headrace.sql.dialect.type_grammar import read_type as read

    return read(dialect.QueryReader(text))


KINDS = {name: read_type(kind) for name, kind in TYPES.items()}


def columns(names: tuple[str, ...]) -> Expression | None:
    if len(names) == 2 and names[0] == "t":
        names = names[1:]
    if len(names) != 1 or names[0] not in KINDS:
        return None
    return ColumnRef(KINDS[names[0]], names[0])


@pytest.fixture(scope="module")
def batch() -> Any:
    arrays = []
    for n, kind in enumerate(KINDS.values()):
        values = [evaluate_constant(parse(row[n], no_columns), SESSION).as_py() for row in ROWS]
        arrays.append(pa.array(values, to_arrow(kind)))
    return pa.RecordBatch.from_arrays(arrays, list(KINDS))


def shown(kind: SqlType) -> str:
    """The type as Flink writes it."""
    text = str(kind)
    return text.replace("INTERVAL YEAR TO MONTH", "INTERVAL MONTH").replace(
        "INTERVAL DAY TO SECOND", "INTERVAL SECOND(3)"
    )


def as_json(value: Any, kind: SqlType) -> Any:
    """A value as the recorder writes it."""
    if value is None:
        return None
    match kind:
        case DecimalType():
            return format(value, "f")
        case DoubleType() | FloatType():
            return value
        case BytesType():
            return value.hex()
        case DateType():
            return value.isoformat()
        case TimeType():
            return _time(value)
        case TimestampType():
            return _stamp(value)
        case TimestampLtzType():
            text = _stamp(value.astimezone(UTC).replace(tzinfo=None), moment=True)
            return f"{text}Z"
        case ArrayType():
            return [as_json(each, kind.element) for each in value]
        case MapType():
            pairs = [[as_json(k, kind.key), as_json(v, kind.value)] for k, v in value]
            return sorted(pairs, key=repr)
        case RowType():
            return [as_json(value[each.name], each.type) for each in kind.fields]
    return value


def _time(value: Any) -> str:
    text = value.isoformat()
    if value.microsecond:
        return text.removesuffix("000")
    return text.removesuffix(":00") if len(text) == 8 else text


def _stamp(value: datetime, moment: bool = False) -> str:
    day, _, time = value.isoformat("T").partition("T")
    if value.microsecond:
        time = time.removesuffix("000")
    elif not moment:
        time = time.removesuffix(":00")
    return f"{day}T{time}"


def equal(found: Any, expected: Any, kind: SqlType) -> bool:
    if found is None or expected is None:
        return found is expected
    match kind:
        case DoubleType():
            wanted = float(expected)
            return math.isclose(found, wanted, rel_tol=1e-15) or (
                (found != found) == (wanted != wanted) and (found != found or found == wanted)
            )
        case FloatType():
            return math.isclose(found, float(expected), rel_tol=1e-6) or str(found) == expected
        case ArrayType():
            return len(found) == len(expected) and all(
                equal(one, two, kind.element) for one, two in zip(found, expected, strict=True)
            )
    return bool(found == expected)


def wanted_values(record: dict[str, Any]) -> list[Any]:
    return record["values"] if "values" in record else [record["value"]] * len(ROWS)


@pytest.mark.parametrize("part", range(PARTS))
def test_expressions_give_what_flink_gave(part: int, batch: Any) -> None:
    found = {
        record["sql"]: problem
        for record in RECORDS[part::PARTS]
        if record["sql"] not in DEVIATIONS and (problem := difference(record, batch))
    }
    assert found == {}


def test_deviations_are_recorded() -> None:
    assert set(DEVIATIONS) <= BY_TEXT.keys() and len(BY_TEXT) == len(RECORDS)


def difference(record: dict[str, Any], batch: Any) -> str | None:
    """What is not as it was recorded."""
    is_refused = "refused" in record or "failed" in record
    try:
        kind, found = compute(record["sql"], batch)
    except HeadraceError as error:
        return None if is_refused else f"refused: {error}"
    except Exception as error:  # no refusal: a mistake of ours, told with the others
        return f"broken by {error!r}"
    if is_refused:
        return f"not refused: {kind}, {found}"
    if shown(kind) != record["type"]:
        return f"its type is {kind}, not {record['type']}"
    wanted = wanted_values(record)
    if not all(equal(one, two, kind) for one, two in zip(found, wanted, strict=True)):
        return f"{found}, not {wanted}"
    return None


def compute(text: str, batch: Any) -> tuple[SqlType, list[Any]]:
    expression = parse(text, columns)
    (array,) = compile_expressions([expression], batch.schema)(batch, SESSION)
    array.validate(full=True)
    return expression.type, [as_json(value, expression.type) for value in array.to_pylist()]


def test_examples_are_what_flink_gives() -> None:
    found = {
        text: wrong
        for function in FUNCTIONS.values()
        for text, answer in function.examples
        if text in BY_TEXT and (wrong := recorded_text(BY_TEXT[text])) != answer
    }
    assert found == {}


def recorded_text(record: dict[str, Any]) -> str | None:
    """The first recorded value, as the page of functions shows it."""
    value = wanted_values(record)[0]
    return value if isinstance(value, str) or value is None else json.dumps(value)
