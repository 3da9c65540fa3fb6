"""What is computed on whole columns is what is computed value by value."""

from __future__ import annotations

import random
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import SqlError
from headrace.sql.evaluate import compile_expressions
from headrace.sql.functions import date_formats
from headrace.sql.functions.function import Session
from headrace.sql.functions.text_formats import EXACT, fit_decimal
from headrace.sql.types import DOUBLE, DecimalType, SqlType, to_arrow
from tests.unit.sql.reading import expression


def seeded() -> random.Random:
    seed = random.randrange(1 << 32)
    print(f"seed: {seed}")
    return random.Random(seed)


def compute(text: str, columns: dict[str, tuple[SqlType, list[Any]]]) -> list[Any]:
    kinds = {name: kind for name, (kind, _) in columns.items()}
    arrays = [pa.array(values, to_arrow(kind)) for kind, values in columns.values()]
    batch = pa.RecordBatch.from_arrays(arrays, list(columns))
    (found,) = compile_expressions([expression(text, kinds)], batch.schema)(batch, Session())
    found.validate(full=True)
    values: list[Any] = found.to_pylist()
    return values


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
@pytest.mark.parametrize(
    "pattern",
    [
        "yyyy-MM-dd HH:mm:ss",
        "yyyy-MM-dd HH:mm:ss.SSS",
        "yyyy-MM-dd",
        "HH:mm",
        "dd.MM.yyyy HH 'Uhr'",
        "yyyyMMddHHmmss",
        "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
        "SSS",
        "'only'",
        "ss.SS",
        "E yyyy",
    ],
)
def test_dates_are_written(pattern: str, unit: str) -> None:
    choose = seeded()
    per_second = {"ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    numbers = [
        choose.randrange(4 * 10**9) * per_second + choose.randrange(per_second) for _ in range(200)
    ]
    factor = 10**9 // per_second
    array = pa.array([*numbers, None], pa.timestamp(unit))
    found = date_formats.write_all(array, pa.scalar(pattern)).to_pylist()
    assert found == [*(date_formats.write(each * factor, pattern) for each in numbers), None]


def decimals(choose: random.Random, kind: DecimalType, zero: bool = True) -> list[Decimal | None]:
    found: list[Decimal | None] = []
    for _ in range(300):
        digits = choose.randrange(1, kind.precision + 1)
        number = choose.randrange(0 if zero else 1, 10**digits) * choose.choice((1, -1))
        found.append(Decimal(number).scaleb(-kind.scale, EXACT))
    return [*found, None]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ((10, 2), (10, 0)),
        ((5, 0), (3, 2)),
        ((18, 6), (18, 6)),
        ((38, 18), (10, 2)),
        ((38, 0), (38, 10)),
        ((3, 3), (20, 0)),
    ],
)
def test_decimals_are_divided(one: tuple[int, int], two: tuple[int, int]) -> None:
    choose = seeded()
    left, right = DecimalType(*one), DecimalType(*two)
    columns = {
        "a": (left, decimals(choose, left)),
        "b": (right, decimals(choose, right, zero=False)),
    }
    kind = expression("a / b", {"a": left, "b": right}).type
    assert isinstance(kind, DecimalType)
    wanted = [
        None
        if x is None or y is None
        else fit_decimal(EXACT.divide(x, y), kind.precision, kind.scale)
        for x, y in zip(columns["a"][1], columns["b"][1], strict=True)
    ]
    assert compute("a / b", columns) == wanted


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((10, 2), (8, 1)),
        ((18, 9), (18, 2)),
        ((5, 0), (18, 6)),
        ((38, 9), (12, 3)),
        ((18, 4), (3, 0)),
    ],
)
def test_decimals_are_rescaled(source: tuple[int, int], target: tuple[int, int]) -> None:
    choose = seeded()
    values = decimals(choose, DecimalType(*source))
    found = compute(
        f"CAST(a AS DECIMAL({target[0]}, {target[1]}))", {"a": (DecimalType(*source), values)}
    )
    assert found == [None if each is None else fit_decimal(each, *target) for each in values]


@pytest.mark.parametrize("digits", [0, 1, 2, 6])
def test_doubles_are_rounded(digits: int) -> None:
    choose = seeded()
    values: list[float | None] = [choose.uniform(-1e6, 1e6) for _ in range(300)]
    values += [choose.randrange(-(10**6), 10**6) / 10 ** (digits + 1) for _ in range(300)]
    values += [2.675, -2.675, 1e300, 0.5, -0.5, 1.005, None, 1e-300, 1e15 + 0.5]
    step = Decimal(1).scaleb(-digits)

    def rounded(number: float | None) -> Decimal | None:
        if number is None:
            return None
        return Decimal(repr(number)).quantize(step, ROUND_HALF_UP, EXACT.copy())

    finite = [each for each in values if each is None or abs(each) < 1e18]
    wanted = [rounded(each) for each in finite]
    columns = {"a": (DOUBLE, finite)}
    texts = [None if each is None else float(each) for each in wanted]
    assert compute(f"ROUND(a, {digits})", columns) == texts
    limit = Decimal(10) ** (18 - digits)
    fitted = [None if each is None or abs(each) >= limit else each for each in wanted]
    assert compute(f"CAST(a AS DECIMAL(18, {digits}))", columns) == fitted
    assert compute(f"ROUND(a, {digits})", {"a": (DOUBLE, [1e300])}) == [1e300]


@pytest.mark.parametrize("text", ["ROUND(a, 1)", "TRUNCATE(a)", "CAST(a AS DECIMAL(10, 2))"])
@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_no_decimal_number_is_rounded(text: str, value: float) -> None:
    with pytest.raises(SqlError, match="is not a decimal number"):
        compute(text, {"a": (DOUBLE, [1.5, value])})
    assert compute(f"CASE WHEN a < 9 THEN {text} END", {"a": (DOUBLE, [1.0, value])}) == [1.0, None]
