"""RAND, UUID and TYPEOF.

A random number is made of the session's seed, the row's number and the call, so that a micro-batch
that is replayed gets the same numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.sql.expressions import Call, Expression, Literal
from headrace.sql.functions.function import Function, Session, Signature
from headrace.sql.functions.kernels import as_array, is_scalar
from headrace.sql.functions.rules import NOT_NULL, a_boolean, an_int, anything, takes
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


def _stream(rows: Any, seeds: Sequence[Any], session: Session) -> tuple[Any, int]:
    """Return the rows' numbers and the seed of a call: its own, or the session's.

    Calls with one seed of their own have the same numbers.
    """
    import pyarrow.compute as pc

    if not seeds or not is_scalar(seeds[0]) or not seeds[0].is_valid:
        return rows, session.seed
    return pc.bit_wise_and(rows, CALL_ROWS - 1), seeds[0].as_py()


def _rand(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import numpy as np
    import pyarrow as pa

    rows, *given = arguments
    words = random_words(*_stream(rows, given, session))
    return pa.array((words >> np.uint64(11)).astype(np.float64) * 2.0**-53)


def _rand_integer(call: Call, arguments: Sequence[Any], session: Session) -> Any:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    rows, *given = arguments
    *seeds, bound = given
    words = random_words(*_stream(rows, seeds, session))
    positive = pa.array((words >> np.uint64(1)).astype(np.int64))
    limit = as_array(bound, len(rows)).cast(pa.int64())
    rest = pc.subtract(positive, pc.multiply(pc.divide(positive, limit), limit))
    return rest.cast(pa.int32())


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


def _typeof_rule(arguments: Sequence[Expression], options: Sequence[str]) -> Signature | None:
    if len(arguments) == 2 and not isinstance(arguments[1], Literal):
        return None
    return takes(anything, a_boolean, gives=STRING, nulls="nullable", optional=1)(
        arguments, options
    )


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
        takes(an_int, gives=DOUBLE, nulls=NOT_NULL, optional=1),
        _rand,
        ("RAND()", "RAND(seed)"),
        "A random number of at least 0 and less than 1. The numbers of a seed are not Java's.",
        deterministic=False,
    ),
    Function(
        "RAND_INTEGER",
        takes(an_int, an_int, gives=INT, nulls=NOT_NULL, optional=1),
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
)
