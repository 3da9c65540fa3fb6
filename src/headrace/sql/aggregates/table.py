"""The aggregate functions by name: the types of their results, and how they are kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.errors import SqlValidationError
from headrace.operators.columns.accumulator import Accumulator
from headrace.sql.aggregates import accumulators as kept
from headrace.sql.aggregates import collected
from headrace.sql.aggregates.extremes import Extreme
from headrace.sql.aggregates.fitting import fitted
from headrace.sql.aggregates.sums import Average, Sum
from headrace.sql.python_function import PythonFunction
from headrace.sql.types import (
    BIGINT,
    DOUBLE,
    MAX_PRECISION,
    ArrayType,
    BytesType,
    CharacterType,
    DecimalType,
    IntegerType,
    MapType,
    MultisetType,
    NumericType,
    RowType,
    SqlType,
    VarCharType,
)

Types = Sequence[SqlType]
Make = Callable[[Types, SqlType, bool, Sequence[Any]], Accumulator]
"""Takes the arguments' types, the result's, whether rows may be retracted, and constants."""


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
    example: tuple[str, str] = ("", "")
    """A call over the rows of ``EXAMPLE_ROWS``, and what it gives as text."""
    constants: int = 0
    """How many of the arguments after the first must be constants."""
    batch_only: bool = False
    """Whether a stream refuses it, as Flink does."""
    may_lack: bool = False
    """Whether a group with values may have no result."""
    state_form: int = 1
    """Counts the forms of the accumulator's state: a change of the form adds 1."""
    needs_no_group: bool = False
    """Whether the type has no NULL without GROUP BY, too, if the arguments have none."""
    python: PythonFunction | None = None
    """The function of a user."""


EXAMPLE_ROWS = "(VALUES (1, 'a'), (2, 'b'), (2, 'b'), (CAST(NULL AS INT), 'c')) AS t(n, s)"


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
    return None if isinstance(found, _WITHOUT_ORDER) else found


_WITHOUT_ORDER = (BytesType, ArrayType, MapType, MultisetType, RowType)


def _text_type(types: Types) -> SqlType | None:
    texts = 1 <= len(types) <= 2 and all(isinstance(each, CharacterType) for each in types)
    return types[0].with_nullable(True) if texts else None


def _multiset_type(types: Types) -> SqlType | None:
    return MultisetType(types[0], nullable=False) if len(types) == 1 else None


def _array_type(types: Types) -> SqlType | None:
    return ArrayType(types[0]) if len(types) == 1 else None


def _json_object_type(types: Types) -> SqlType | None:
    keyed = len(types) == 2 and isinstance(types[0], CharacterType)
    return VarCharType(2000, nullable=False) if keyed else None


def _json_array_type(types: Types) -> SqlType | None:
    return VarCharType(2000, nullable=False) if len(types) == 1 else None


def _percentile_type(types: Types) -> SqlType | None:
    if not 2 <= len(types) <= 3 or not isinstance(types[0], NumericType):
        return None
    if len(types) == 3 and not isinstance(types[2], IntegerType):
        return None
    shares = types[1].element if isinstance(types[1], ArrayType) else types[1]
    if not isinstance(shares, NumericType):
        return None
    return ArrayType(DOUBLE) if isinstance(types[1], ArrayType) else DOUBLE


def _percentile(types: Types, result: SqlType, retracts: bool, constants: Any) -> Accumulator:
    shares = tuple(map(float, constants))
    if not all(0 <= share <= 1 for share in shares):
        raise SqlValidationError(
            f"the shares of PERCENTILE are from 0 to 1, not {', '.join(map(str, constants))}"
        )
    return collected.Percentile(shares, isinstance(result, ArrayType))


def _json_array(types: Types, result: SqlType, retracts: bool, constants: Any) -> Accumulator:
    return collected.JsonArray(nulls="NULL ON NULL" in constants)


def _json_object(types: Types, result: SqlType, retracts: bool, constants: Any) -> Accumulator:
    return collected.JsonObject(absent="ABSENT ON NULL" in constants)


def _extreme(greatest: bool) -> Make:
    def make(types: Types, result: SqlType, retracts: bool, constants: Any) -> Accumulator:
        return kept.ExtremeOfValues(greatest) if retracts else Extreme(greatest, types[0])

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
        example=("COUNT(n)", "3"),
    ),
    AggregateFunction(
        "SUM",
        _sum_type,
        lambda types, result, retracts, constants: Sum(types[0], result),
        ("SUM([DISTINCT] number)",),
        "The sum of the numbers that are not NULL; NULL if there is none.",
        example=("SUM(n)", "5"),
    ),
    AggregateFunction(
        "SUM0",
        _sum0_type,
        lambda types, result, retracts, constants: Sum(types[0], result, fitted(0, result)),
        ("SUM0([DISTINCT] number)",),
        "The sum of the numbers that are not NULL; 0 if there is none.",
        example=("SUM0(n)", "5"),
    ),
    AggregateFunction(
        "AVG",
        _average_type,
        lambda types, result, retracts, constants: Average(types[0], result),
        ("AVG([DISTINCT] number)",),
        "The average of the numbers that are not NULL, of the type of the numbers.",
        example=("AVG(n)", "1"),
    ),
    AggregateFunction(
        "MIN",
        _comparable_type,
        _extreme(False),
        ("MIN(value)",),
        "The least value.",
        example=("MIN(s)", "a"),
    ),
    AggregateFunction(
        "MAX",
        _comparable_type,
        _extreme(True),
        ("MAX(value)",),
        "The greatest value.",
        example=("MAX(n)", "2"),
    ),
    AggregateFunction(
        "STDDEV_POP",
        _average_type,
        _variance(sample=False, root=True),
        ("STDDEV_POP(number)",),
        "The standard deviation of a population.",
        example=("STDDEV_POP(CAST(n AS DOUBLE))", "0.4714045207910317"),
        state_form=2,
    ),
    AggregateFunction(
        "STDDEV_SAMP",
        _average_type,
        _variance(sample=True, root=True),
        ("STDDEV_SAMP(number)", "STDDEV(number)"),
        "The standard deviation of a sample; NULL of a single number.",
        example=("STDDEV_SAMP(CAST(n AS DOUBLE))", "0.5773502691896257"),
        state_form=2,
        may_lack=True,
    ),
    AggregateFunction(
        "VAR_POP",
        _average_type,
        _variance(sample=False, root=False),
        ("VAR_POP(number)",),
        "The variance of a population.",
        example=("VAR_POP(CAST(n AS DOUBLE))", "0.2222222222222222"),
        state_form=2,
    ),
    AggregateFunction(
        "VAR_SAMP",
        _average_type,
        _variance(sample=True, root=False),
        ("VAR_SAMP(number)", "VARIANCE(number)"),
        "The variance of a sample; NULL of a single number.",
        example=("VAR_SAMP(CAST(n AS DOUBLE))", "0.3333333333333333"),
        state_form=2,
        may_lack=True,
    ),
    AggregateFunction(
        "FIRST_VALUE",
        _same_type,
        _end(last=False),
        ("FIRST_VALUE(value)",),
        "The value that came first, of those that are not NULL.",
        example=("FIRST_VALUE(s)", "a"),
    ),
    AggregateFunction(
        "LAST_VALUE",
        _same_type,
        _end(last=True),
        ("LAST_VALUE(value)",),
        "The value that came last, of those that are not NULL.",
        example=("LAST_VALUE(n)", "2"),
    ),
    AggregateFunction(
        "LISTAGG",
        _text_type,
        _joined,
        ("LISTAGG(text [, separator])",),
        "The texts in the order of their rows, with a separator between (a comma).",
        example=("LISTAGG(s, '|')", "a|b|b|c"),
        constants=1,
        needs_no_group=True,
    ),
    AggregateFunction(
        "COLLECT",
        _multiset_type,
        lambda types, result, retracts, constants: (
            kept.CollectWithParts() if len(types) > 1 else kept.Collect()
        ),
        ("COLLECT([DISTINCT] value)",),
        "A MULTISET of the values that are not NULL.",
        example=("COLLECT(s)", "{a=1, b=2, c=1}"),
    ),
    AggregateFunction(
        "ARRAY_AGG",
        _array_type,
        lambda types, result, retracts, constants: kept.ListOfValues(
            nulls="IGNORE NULLS" not in constants
        ),
        ("ARRAY_AGG([DISTINCT] value [{IGNORE | RESPECT} NULLS])",),
        "An ARRAY of the values, in the order of their rows; by default with NULL.",
        example=("ARRAY_AGG(n)", "[1, 2, 2, NULL]"),
        needs_no_group=True,
    ),
    AggregateFunction(
        "APPROX_COUNT_DISTINCT",
        _count_type,
        lambda types, result, retracts, constants: kept.Distinct(kept.Count()),
        ("APPROX_COUNT_DISTINCT(value)",),
        "How many different values there are, without NULL; here exact, and in a batch only.",
        example=("APPROX_COUNT_DISTINCT(s)", "3"),
        batch_only=True,
    ),
    AggregateFunction(
        "PERCENTILE",
        _percentile_type,
        _percentile,
        ("PERCENTILE(number, share [, frequency])", "PERCENTILE(number, shares [, frequency])"),
        "The number at a share (0 to 1) of the sorted numbers, or an ARRAY of those at shares.",
        example=("PERCENTILE(n, 0.25)", "1.5"),
        constants=1,
        may_lack=True,
    ),
    AggregateFunction(
        "JSON_OBJECTAGG",
        _json_object_type,
        _json_object,
        ("JSON_OBJECTAGG([KEY] key VALUE value [{NULL | ABSENT} ON NULL])",),
        "An object of JSON with the keys and values of the rows.",
        example=("JSON_OBJECTAGG(KEY s VALUE n) FILTER (WHERE n = 1)", '{"a":1}'),
    ),
    AggregateFunction(
        "JSON_ARRAYAGG",
        _json_array_type,
        _json_array,
        ("JSON_ARRAYAGG(value [{NULL | ABSENT} ON NULL])",),
        "An array of JSON with the values of the rows; by default NULL is left out.",
        example=("JSON_ARRAYAGG(n)", "[1,2,2]"),
    ),
)

KEY_VALUE = AggregateFunction(
    "$KEY_VALUE",
    _same_type,
    lambda types, result, retracts, constants: collected.KeyValue(),
    ("$KEY_VALUE(value)",),
    "The value of a key that has parts; no query names this function.",
)

AGGREGATES = {each.name: each for each in _ROWS}
ALIASES = {"STDDEV": "STDDEV_SAMP", "VARIANCE": "VAR_SAMP", "$SUM0": "SUM0"}


def find_aggregate(name: str) -> AggregateFunction | None:
    """Return an aggregate function by its name, in any case; None: there is none."""
    upper = name.upper()
    if name == KEY_VALUE.name:
        return KEY_VALUE
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
    """Return the accumulator of a call; ``retracts``: whether the input has retractions."""
    made = function.make(types, result, retracts, constants)
    return kept.Distinct(made) if distinct else made
