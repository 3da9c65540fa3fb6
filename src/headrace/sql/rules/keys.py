"""By which columns rows of a changelog replace each other."""

from __future__ import annotations

from headrace.sql.coercion import same_type
from headrace.sql.expressions import Call, ColumnRef, Expression
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
from headrace.sql.types import CharacterType, IntegerType, SqlType, VarCharType

Keys = frozenset[frozenset[str]]


def upsert_keys(rel: Rel) -> Keys:
    """Return the sets of columns of which each row's values differ from those of all others.

    An empty set says that there is at most one row; no set: rows have no key.
    """
    match rel:
        case Scan() | StreamScan():
            return frozenset([frozenset(rel.primary_key)] if rel.primary_key else [])
        case ChangelogNormalize() | Aggregate():
            return frozenset([frozenset(rel.keys)])
        case WindowAggregate():
            names = (column.name for column, border in rel.borders if border != "time")
            return frozenset(frozenset((*rel.keys, name)) for name in names)
        case Watermark() | Sort():
            return upsert_keys(rel.input)
        case Calc():
            return _projected(rel)
    return frozenset()


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
        source = _copied(expression)
        if source is not None:
            names.setdefault(source, name)
    return frozenset(
        frozenset(names[each] for each in key)
        for key in upsert_keys(rel.input)
        if key <= names.keys()
    )


def _copied(expression: Expression) -> str | None:
    """Return the column whose values an expression has, though in a wider type; or None."""
    match expression:
        case ColumnRef():
            return expression.name
        case Call(function="CAST", arguments=(argument,)) if _widens(
            argument.type, expression.type
        ):
            return _copied(argument)
    return None


def _widens(given: SqlType, wanted: SqlType) -> bool:
    match given, wanted:
        case IntegerType(), IntegerType():
            return given.bits <= wanted.bits
        case CharacterType(), VarCharType():
            return given.length <= wanted.length
    return same_type(given, wanted)
