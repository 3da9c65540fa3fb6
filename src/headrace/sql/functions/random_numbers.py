"""RAND, UUID, TYPEOF and CURRENT_DATABASE.

A random number is computed from the session's seed, the row's number and the call. So a micro-batch
that is replayed gets the same numbers. A call with a seed has the numbers of ``java.util.Random``,
as in Flink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression, Literal
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import as_array, is_scalar
from headrace.sql.functions.rules import NOT_NULL, NULLABLE, a_boolean, an_int, anything, takes
from headrace.sql.types import DOUBLE, INT, STRING, CharType

_UUID = CharType(36)

CALL_ROWS = 1 << 44
"""The numbers of rows that a call has; those of the next call come after them."""


def random_words(rows: Any, *seeds: int) -> Any:
    """Return 64 random bits for each row (numpy uint64), which depend on its number and seeds.

    The mixing function is that of SplitMix64 (Steele, Lea and Flood, 2014).
    """
    import numpy as np

    with np.errstate(over="ignore"):
        words = rows.to_numpy(zero_copy_only=False).astype(np.uint64)
        for seed in seeds:
            words = words + np.uint64(seed % (1 << 64)) * np.uint64(0x9E3779B97F4A7C15)
            words = words + np.uint64(0x9E3779B97F4A7C15)
            words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            words = words ^ (words >> np.uint64(31))
    return words


_FACTOR, _SUMMAND, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


def java_states(seeds: Any, steps: Any) -> Any:
    """Return the states of ``java.util.Random`` with seeds, after a number of steps (numpy uint64).

    A step is ``state * factor + summand``. Many steps together are one such step, computed by
    doubling.
    """
    import numpy as np

    factors, summands = np.ones_like(steps), np.zeros_like(steps)
    factor, summand = _FACTOR, _SUMMAND
    left = steps
    with np.errstate(over="ignore"):
        while left.any():
            taken = (left & np.uint64(1)).astype(bool)
            more = summands * np.uint64(factor) + np.uint64(summand)
            summands = np.where(taken, more, summands)
            factors = np.where(taken, factors * np.uint64(factor), factors)
            factor, summand = factor * factor & _MASK, summand * (factor + 1) & _MASK
            left = left >> np.uint64(1)
        first = (seeds ^ np.uint64(_FACTOR)) & np.uint64(_MASK)
        return (first * factors + summands) & np.uint64(_MASK)


def _java(rows: Any, seed: Any) -> tuple[Any, Any]:
    """Return the seed of each row, and how many numbers come before its own.

    With a constant seed the numbers continue from row to row; with a seed from a column each row
    begins again.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    column = as_array(seed, len(rows)).cast(pa.int64()).fill_null(0)
    seeds = column.to_numpy(zero_copy_only=False).astype(np.uint64)
    if not is_scalar(seed):
        return seeds, np.zeros_like(seeds)
    before = pc.bit_wise_and(rows, CALL_ROWS - 1).to_numpy(zero_copy_only=False)
    return seeds, before.astype(np.uint64)


def _rand(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import numpy as np
    import pyarrow as pa

    rows, *given = arguments
    if not given:
        words = random_words(rows, session.seed) >> np.uint64(11)
    else:
        seeds, before = _java(rows, given[0])
        steps = before * np.uint64(2)
        high = java_states(seeds, steps + np.uint64(1)) >> np.uint64(22)
        low = java_states(seeds, steps + np.uint64(2)) >> np.uint64(21)
        words = (high << np.uint64(27)) + low
    return _where_given(pa.array(words.astype(np.float64) * 2.0**-53), given)


def _rand_integer(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, *given = arguments
    *seed, bound = given
    limit = as_array(bound, len(rows)).cast(pa.int64())
    if not seed:
        words = random_words(rows, session.seed) >> np.uint64(1)
    else:
        seeds, before = _java(rows, seed[0])
        words = java_states(seeds, before + np.uint64(1)) >> np.uint64(17)
    positive = pa.array(words.astype(np.int64))
    rest = pc.subtract(positive, pc.multiply(pc.divide(positive, limit), limit))
    if seed:
        is_power = pc.equal(pc.bit_wise_and(limit, pc.subtract(limit, 1)), 0)
        high = pc.shift_right(pc.multiply(positive, limit), 31)
        rest = pc.if_else(is_power, high, rest)
    return _where_given(rest.cast(pa.int32()), given)


def _where_given(numbers: Any, arguments: Sequence[Any]) -> Any:
    """Return numbers, NULL where an argument is NULL."""
    import pyarrow as pa
    import pyarrow.compute as pc

    missing = pa.scalar(None, numbers.type)
    for each in arguments:
        numbers = pc.if_else(pc.is_valid(each), numbers, missing)
    return numbers


def _uuid(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    (rows,) = arguments
    high = random_words(rows, session.seed, 1).tolist()
    low = random_words(rows, session.seed, 2).tolist()
    return pa.array([_uuid_text(one, two) for one, two in zip(high, low, strict=True)], pa.string())


def _uuid_text(high: int, low: int) -> str:
    """Return a random UUID, of version 4."""
    bits = high << 64 | low
    bits = bits & ~(0xF << 76) | 4 << 76
    bits = bits & ~(0x3 << 62) | 2 << 62
    text = f"{bits:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def _current_database(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    return pa.scalar(call.options[0], pa.string())


def _typeof_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) == 2 and not isinstance(arguments[1], Literal):
        return None
    return takes(anything, a_boolean, gives=STRING, nulls=NULLABLE, optional=1)(arguments, options)


def _typeof(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import pyarrow as pa

    kind = str(call.arguments[0].type)
    if len(arguments) == 2 and arguments[1].as_py():
        kind = kind.replace("STRING", "VARCHAR(2147483647)")
        kind = kind.replace("BYTES", "VARBINARY(2147483647)")
    return pa.scalar(kind, pa.string())


FUNCTIONS = (
    Function(
        "RAND",
        takes(an_int, gives=DOUBLE, optional=1),
        _rand,
        ("RAND()", "RAND(seed)"),
        "A random number of at least 0 and less than 1. A seed gives Java's numbers.",
        deterministic=False,
    ),
    Function(
        "RAND_INTEGER",
        takes(an_int, an_int, gives=INT, optional=1),
        _rand_integer,
        ("RAND_INTEGER(bound)", "RAND_INTEGER(seed, bound)"),
        "A random integer of at least 0 and less than the bound.",
        deterministic=False,
    ),
    Function(
        "UUID",
        takes(gives=_UUID, nulls=NOT_NULL),
        _uuid,
        ("UUID()",),
        "A random UUID.",
        deterministic=False,
    ),
    Function(
        "TYPEOF",
        _typeof_rule,
        _typeof,
        ("TYPEOF(value)", "TYPEOF(value, force_serializable)"),
        "The type of the value, as text.",
        (("TYPEOF(1)", "INT NOT NULL"),),
    ),
    Function(
        "CURRENT_DATABASE",
        takes(gives=STRING, nulls=NOT_NULL),
        _current_database,
        ("CURRENT_DATABASE()",),
        "The name of the session's database, when the statement is planned.",
        (("CURRENT_DATABASE()", "default_database"),),
    ),
)
