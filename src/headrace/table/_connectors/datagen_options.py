"""The options of ``datagen`` for each column: what its type allows, and their defaults."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from headrace.common._options.values import ValueKind
from headrace.errors import SqlValidationError
from headrace.sql.types import (
    MAX_LENGTH,
    ArrayType,
    BinaryType,
    BytesType,
    CharacterType,
    CharType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    MapType,
    MonthIntervalType,
    MultisetType,
    NumericType,
    RowType,
    SecondIntervalType,
    SqlType,
    TimestampLtzType,
    TimestampType,
)
from headrace.table._connectors.generated import FieldSettings
from headrace.table._options import TableOption

_LONGEST = 100
_LONGEST_LIST = 3


def field_options(prefix: str, kind: SqlType, given: Mapping[str, str]) -> list[TableOption]:
    """Return the options that a field of a type has."""
    declared = [
        TableOption(f"{prefix}.kind", ValueKind.CHOICE, "random", choices=("random", "sequence")),
        TableOption(f"{prefix}.null-rate", ValueKind.DOUBLE, 0.0),
    ]
    whole = isinstance(kind, IntegerType | MonthIntervalType | SecondIntervalType)
    if whole or isinstance(kind, NumericType):
        of = ValueKind.LONG if whole else ValueKind.DOUBLE
        declared += [TableOption(f"{prefix}.{name}", of) for name in ("min", "max")]
    if isinstance(kind, NumericType | CharacterType):
        declared += [TableOption(f"{prefix}.{n}", ValueKind.LONG) for n in ("start", "end")]
    if isinstance(kind, TimestampType | TimestampLtzType):
        declared.append(TableOption(f"{prefix}.max-past", ValueKind.DURATION, 0))
    if isinstance(kind, CharacterType | BytesType | ArrayType | MapType | MultisetType):
        declared.append(TableOption(f"{prefix}.length", ValueKind.INT))
    if isinstance(kind, CharacterType | BytesType):
        declared.append(TableOption(f"{prefix}.var-len", ValueKind.BOOLEAN, False))
    for name, part in _parts(kind):
        declared += field_options(f"{prefix}.{name}", part, given)
    return declared


def _parts(kind: SqlType) -> Iterable[tuple[str, SqlType]]:
    match kind:
        case ArrayType() | MultisetType():
            return [("element", kind.element)]
        case MapType():
            return [("key", kind.key), ("value", kind.value)]
        case RowType():
            return [(each.name, each.type) for each in kind.fields]
    return []


def field_settings(
    table: str, prefix: str, kind: SqlType, options: Mapping[str, Any]
) -> FieldSettings:
    """Return how a field is made.

    Raises:
        SqlValidationError: options do not fit each other, or the type has no values.
    """
    if options[f"{prefix}.kind"] == "sequence":
        return _sequence(table, prefix, kind, options)
    low, high = _bounds(table, prefix, kind, options)
    null_rate = options[f"{prefix}.null-rate"]
    if not 0 <= null_rate <= 1:
        raise SqlValidationError(f"table {table!r}: {prefix}.null-rate is not between 0 and 1")
    parts = tuple(
        field_settings(table, f"{prefix}.{name}", part, options) for name, part in _parts(kind)
    )
    return FieldSettings(
        low=low,
        high=high,
        length=_length(table, prefix, kind, options),
        var_len=bool(options.get(f"{prefix}.var-len")),
        null_rate=null_rate,
        max_past_ms=options.get(f"{prefix}.max-past") or 0,
        parts=parts,
    )


def _sequence(table: str, prefix: str, kind: SqlType, options: Mapping[str, Any]) -> FieldSettings:
    start, end = options.get(f"{prefix}.start"), options.get(f"{prefix}.end")
    if not isinstance(kind, NumericType | CharacterType):
        raise SqlValidationError(
            f"table {table!r}: {prefix}.kind cannot be 'sequence' for type {kind}"
        )
    for name, value in (("start", start), ("end", end)):
        if value is None:
            raise SqlValidationError(
                f"table {table!r}: the sequence {prefix} needs the option '{prefix}.{name}'"
            )
    return FieldSettings(sequence=True, low=start, high=end)


def _bounds(table: str, prefix: str, kind: SqlType, options: Mapping[str, Any]) -> tuple[Any, Any]:
    low, high = options.get(f"{prefix}.min"), options.get(f"{prefix}.max")
    least, greatest = _natural_bounds(kind)
    if least is None:
        return None, None
    low = least if low is None else low
    high = greatest if high is None else high
    if low > high:
        raise SqlValidationError(
            f"table {table!r}: {prefix}.min ({low}) is greater than {prefix}.max ({high})"
        )
    if low < least or high > greatest:
        raise SqlValidationError(f"table {table!r}: {prefix} has bounds beyond those of {kind}")
    return low, high


def _natural_bounds(kind: SqlType) -> tuple[Any, Any]:
    match kind:
        case IntegerType():
            return -(1 << (kind.bits - 1)), (1 << (kind.bits - 1)) - 1
        case MonthIntervalType():
            return 0, 120_000
        case SecondIntervalType():
            return 0, (1 << 63) - 1
        case FloatType():
            return -3.4028234663852886e38, 3.4028234663852886e38
        case DoubleType():
            return -1.7976931348623157e308, 1.7976931348623157e308
        case DecimalType():
            whole = 10 ** (kind.precision - kind.scale)
            return -whole, whole
    return None, None


def _length(table: str, prefix: str, kind: SqlType, options: Mapping[str, Any]) -> int | None:
    given = options.get(f"{prefix}.length")
    if given is not None and given < 0:
        raise SqlValidationError(f"table {table!r}: {prefix}.length is negative")
    if isinstance(kind, ArrayType | MapType | MultisetType):
        return _LONGEST_LIST if given is None else int(given)
    if not isinstance(kind, CharacterType | BytesType):
        return None
    fixed = isinstance(kind, CharType | BinaryType)
    if given is None:
        return _LONGEST if kind.length == MAX_LENGTH else kind.length
    if given > kind.length or (fixed and given != kind.length):
        raise SqlValidationError(
            f"table {table!r}: {prefix}.length is {given}, but the type is {kind.summary}"
        )
    return int(given)


def counted_rows(fields: Iterable[FieldSettings]) -> list[int]:
    """Return how many rows each sequence has."""
    return [each.high - each.low + 1 for each in fields if each.sequence]
