"""Functions that statements name as ``tests.unit.table.functions_of_users.…``."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.table import DataTypes
from headrace.table.udf import udf, udtf

no_function = 5


@udf(result_type=DataTypes.INT())
def twice(number: int) -> int:
    return number * 2


@udf(result_type=DataTypes.INT())
def thrice(number: int) -> int:
    return number * 3


@udtf(result_types=[DataTypes.STRING()])
def letters(text: str | None) -> Iterator[str]:
    yield from text or ""
