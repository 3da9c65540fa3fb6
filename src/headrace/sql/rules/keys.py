"""By which columns rows of a changelog replace each other."""

from __future__ import annotations

from headrace.sql.coercion import same_type
from headrace.sql.constant_rows import varies
from headrace.sql.expressions import Call, ColumnRef, Expression, columns_of
from headrace.sql.rel import (
    Aggregate,
    Calc,
    ChangelogNormalize,
    Rel,
    Scan,
    Sort,
    StreamScan,
    Watermark,
    WindowAggregate,
)
from headrace.sql.types import (
    BooleanType,
    CharacterType,
    DateType,
    IntegerType,
    SqlType,
    TimestampType,
    TimeType,
    VarCharType,
)

Keys = frozenset[frozenset[str]]


def upsert_keys(rel: Rel) -> Keys:
    """Return the sets of columns of which each row's values differ from those of all others.

    An empty set says that there is at most one row; no set: rows have no key.
    """
    match rel:
        case Scan() | StreamScan():
            return frozenset([frozenset(rel.primary_key)] if rel.primary_key else [])
        case ChangelogNormalize():
            return frozenset([frozenset(rel.keys)])
        case WindowAggregate():
            # Windows of CUMULATE with the same start have different ends.
            alone = ("end",) if rel.window.kind == "CUMULATE" else ("start", "end")
            names = (column.name for column, border in rel.borders if border in alone)
            return frozenset(frozenset((*rel.keys, name)) for name in names)
        case Aggregate():
            return frozenset([frozenset(rel.keys) - _constants(rel.input)])
        case Watermark() | Sort():
            return upsert_keys(rel.input)
        case Calc():
            return _projected(rel)
    return frozenset()


def _constants(rel: Rel) -> frozenset[str]:
    """Return the columns with the same value in all rows."""
    if not isinstance(rel, Calc):
        return frozenset()
    below = _constants(rel.input)
    return frozenset(
        name
        for name, each in zip(rel.names, rel.expressions, strict=True)
        if columns_of(each) <= below and not varies(each)
    )


def keeps_updates_together(rel: Rel) -> bool:
    """Return whether the row after an update is given wherever the row before it is.

    A filter may keep only one of them.
    """
    match rel:
        case Calc():
            return rel.condition is None and keeps_updates_together(rel.input)
        case Watermark():
            return keeps_updates_together(rel.input)
    return isinstance(rel, Scan | StreamScan | ChangelogNormalize | Aggregate | WindowAggregate)


def _projected(rel: Calc) -> Keys:
    names: dict[str, str] = {}
    for name, expression in zip(rel.names, rel.expressions, strict=True):
        source = _injective_source(expression)
        if source is not None:
            names.setdefault(source, name)
    return frozenset(
        frozenset(names[each] for each in key)
        for key in upsert_keys(rel.input)
        if key <= names.keys()
    )


def _injective_source(expression: Expression) -> str | None:
    """Return the column that an expression converts without making values equal; None: there is
    none."""
    match expression:
        case ColumnRef():
            return expression.name
        case Call(function="CAST", arguments=(argument,)) if _is_injective(
            argument.type, expression.type
        ):
            return _injective_source(argument)
    return None


def _is_injective(given: SqlType, wanted: SqlType) -> bool:
    """Return whether a CAST gives different results for different values."""
    match given, wanted:
        case IntegerType(), IntegerType():
            return given.bits <= wanted.bits
        case CharacterType(), VarCharType():
            return given.length <= wanted.length
        case _, VarCharType():
            length = _text_length(given)
            return length is not None and length <= wanted.length
    return same_type(given, wanted)


def _text_length(kind: SqlType) -> int | None:
    """Return the greatest length of the text of a value; None: different values may have equal
    texts."""
    match kind:
        case IntegerType():
            return len(str(-(1 << (kind.bits - 1))))
        case BooleanType():
            return len("FALSE")
        case DateType():
            return len("2026-01-01")
        case TimeType():
            return len("00:00:00.") + kind.precision
        case TimestampType():
            return len("2026-01-01 00:00:00.") + kind.precision
    return None
