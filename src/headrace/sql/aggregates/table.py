"""The aggregate functions by name: the types of their results, and how they are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.operators.columns.accumulator import Accumulator
from headrace.sql.aggregates import accumulators as kept
from headrace.sql.python_function import PythonFunction
from headrace.sql.types import (
    BIGINT,
    MAX_PRECISION,
    STRING,
    ArrayType,
    BytesType,
    CharacterType,
    DecimalType,
    MultisetType,
    NumericType,
    SqlType,
)

Types = Sequence[SqlType]
Make = Callable[[Types, SqlType, bool, Sequence[Any]], Accumulator]
"""Takes the arguments' types, the result's, whether rows may be taken back, and constants."""


@dataclass(frozen=True)
class AggregateFunction:
    """A row of the table.

    ``type``: the type of the result by those of the arguments, None for arguments that it does not
    take. ``make``: the accumulator. ``forms`` and ``about``: for the reference.
    """

    name: str
    type: Callable[[Types], SqlType | None]
    make: Make
    forms: tuple[str, ...]
    about: str
    constants: int = 0
    """How many of the last arguments must be constants."""
    python: PythonFunction | None = None
    """The function of a user."""


def _count_type(types: Types) -> SqlType | None:
    return BIGINT.with_nullable(False) if len(types) <= 1 else None


def _sum_type(types: Types) -> SqlType | None:
    if len(types) != 1 or not isinstance(types[0], NumericType):
        return None
    kind = types[0]
    if isinstance(kind, DecimalType):
        return DecimalType(MAX_PRECISION, kind.scale)
    return kind.with_nullable(True)


def _sum0_type(types: Types) -> SqlType | None:
    found = _sum_type(types)
    return None if found is None else found.with_nullable(False)


def _average_type(types: Types) -> SqlType | None:
    if len(types) != 1 or not isinstance(types[0], NumericType):
        return None
    kind = types[0]
    if isinstance(kind, DecimalType):
        return DecimalType(MAX_PRECISION, max(6, kind.scale))
    return kind.with_nullable(True)


def _same_type(types: Types) -> SqlType | None:
    return types[0].with_nullable(True) if len(types) == 1 else None


def _comparable_type(types: Types) -> SqlType | None:
    found = _same_type(types)
    return None if found is None or isinstance(found, BytesType | ArrayType) else found


def _text_type(types: Types) -> SqlType | None:
    texts = 1 <= len(types) <= 2 and all(isinstance(each, CharacterType) for each in types)
    return STRING if texts else None


def _multiset_type(types: Types) -> SqlType | None:
    return MultisetType(types[0], nullable=False) if len(types) == 1 else None


def _array_type(types: Types) -> SqlType | None:
    return ArrayType(types[0]) if len(types) == 1 else None


def _extreme(greatest: bool) -> Make:
    def make(types: Types, result: SqlType, retracts: bool, constants: Any) -> Accumulator:
        return kept.ExtremeOfValues(greatest) if retracts else kept.Extreme(greatest, types[0])

    return make


def _end(last: bool) -> Make:
    def make(types: Types, result: SqlType, retracts: bool, constants: Any) -> Accumulator:
        return kept.EndValue(last=last) if retracts else kept.FirstOrLast(last)

    return make


def _variance(sample: bool, root: bool) -> Make:
    return lambda types, result, retracts, constants: kept.Variance(sample, root, result)


def _joined(types: Types, result: SqlType, retracts: bool, constants: Any) -> Accumulator:
    return kept.JoinedText(separator=constants[0] if constants else ",")


_ROWS = (
    AggregateFunction(
        "COUNT",
        _count_type,
        lambda types, result, retracts, constants: kept.Count(),
        ("COUNT(*)", "COUNT([DISTINCT] value)"),
        "How many rows there are, or how many of them have no NULL among the values.",
    ),
    AggregateFunction(
        "SUM",
        _sum_type,
        lambda types, result, retracts, constants: kept.Sum(types[0], result),
        ("SUM([DISTINCT] number)",),
        "The sum of the numbers that are not NULL; NULL if there is none.",
    ),
    AggregateFunction(
        "SUM0",
        _sum0_type,
        lambda types, result, retracts, constants: kept.Sum(
            types[0], result, kept.fitted(0, result)
        ),
        ("SUM0([DISTINCT] number)",),
        "The sum of the numbers that are not NULL; 0 if there is none.",
    ),
    AggregateFunction(
        "AVG",
        _average_type,
        lambda types, result, retracts, constants: kept.Average(types[0], result),
        ("AVG([DISTINCT] number)",),
        "The average of the numbers that are not NULL, of the type of the numbers.",
    ),
    AggregateFunction(
        "MIN", _comparable_type, _extreme(False), ("MIN(value)",), "The least value."
    ),
    AggregateFunction(
        "MAX", _comparable_type, _extreme(True), ("MAX(value)",), "The greatest value."
    ),
    AggregateFunction(
        "STDDEV_POP",
        _average_type,
        _variance(sample=False, root=True),
        ("STDDEV_POP(number)",),
        "The standard deviation of a population.",
    ),
    AggregateFunction(
        "STDDEV_SAMP",
        _average_type,
        _variance(sample=True, root=True),
        ("STDDEV_SAMP(number)", "STDDEV(number)"),
        "The standard deviation of a sample; NULL of a single number.",
    ),
    AggregateFunction(
        "VAR_POP",
        _average_type,
        _variance(sample=False, root=False),
        ("VAR_POP(number)",),
        "The variance of a population.",
    ),
    AggregateFunction(
        "VAR_SAMP",
        _average_type,
        _variance(sample=True, root=False),
        ("VAR_SAMP(number)", "VARIANCE(number)"),
        "The variance of a sample; NULL of a single number.",
    ),
    AggregateFunction(
        "FIRST_VALUE",
        _same_type,
        _end(last=False),
        ("FIRST_VALUE(value)",),
        "The value that came first, of those that are not NULL.",
    ),
    AggregateFunction(
        "LAST_VALUE",
        _same_type,
        _end(last=True),
        ("LAST_VALUE(value)",),
        "The value that came last, of those that are not NULL.",
    ),
    AggregateFunction(
        "LISTAGG",
        _text_type,
        _joined,
        ("LISTAGG(text [, separator])",),
        "The texts in the order of their rows, with a separator between (a comma).",
        constants=1,
    ),
    AggregateFunction(
        "COLLECT",
        _multiset_type,
        lambda types, result, retracts, constants: kept.Collect(),
        ("COLLECT([DISTINCT] value)",),
        "A MULTISET of the values that are not NULL.",
    ),
    AggregateFunction(
        "ARRAY_AGG",
        _array_type,
        lambda types, result, retracts, constants: kept.ListOfValues(nulls=True),
        ("ARRAY_AGG([DISTINCT] value)",),
        "An ARRAY of the values, in the order of their rows.",
    ),
)

AGGREGATES = {each.name: each for each in _ROWS}
ALIASES = {"STDDEV": "STDDEV_SAMP", "VARIANCE": "VAR_SAMP", "$SUM0": "SUM0"}


def find_aggregate(name: str) -> AggregateFunction | None:
    """Return an aggregate function by its name, in any case; None: there is none."""
    upper = name.upper()
    return AGGREGATES.get(ALIASES.get(upper, upper))


def of_user(function: PythonFunction) -> AggregateFunction:
    """Return an aggregate function of a user, as a row of the table."""
    return AggregateFunction(
        function.name, lambda types: function.result, _no_accumulator, (), "", python=function
    )


def _no_accumulator(*given: Any) -> Accumulator:
    raise AssertionError("a user's function makes its accumulators")


def make_accumulator(
    function: AggregateFunction,
    types: Types,
    result: SqlType,
    *,
    distinct: bool,
    retracts: bool,
    constants: Sequence[Any] = (),
) -> Accumulator:
    """Return the accumulator of a call; ``retracts``: whether rows of the input are taken back."""
    made = function.make(types, result, retracts, constants)
    return kept.Distinct(made) if distinct else made
