"""Which columns are time attributes.

A type may also be marked as a time attribute. But as in Flink, computed values keep the mark, such
as ``MAX(ts)`` and ``ts + INTERVAL '1' SECOND``. Rows do not come in the order of such values.
"""

from __future__ import annotations

from headrace.sql.expressions import Call, ColumnRef
from headrace.sql.rel import (
    Calc,
    ChangelogNormalize,
    Column,
    Correlate,
    Expand,
    Rel,
    Scan,
    Sort,
    StreamScan,
    Union,
    Unnest,
    Watermark,
    Window,
    WindowAggregate,
)
from headrace.sql.types import TimeAttribute, attribute_of


def time_attribute(rel: Rel, name: str) -> TimeAttribute | None:
    """Return which time attribute a column is; None: it is not one."""
    match rel:
        case Scan() | StreamScan():
            return attribute_of(_column(rel, name).type)
        case Watermark():
            if name == rel.column:
                return attribute_of(_column(rel, name).type)
            return time_attribute(rel.input, name)
        case Calc():
            return _calculated(rel, name)
        case Window():
            start, end, time = (each.name for each in rel.columns[-3:])
            if name in (start, end):
                return None
            return time_attribute(rel.input, rel.window.time if name == time else name)
        case WindowAggregate():
            borders = {column.name: border for column, border in rel.borders}
            return attribute_of(_column(rel, name).type) if borders.get(name) == "time" else None
        case Expand() if name in (*rel.copies, rel.number):
            return None
        case Unnest() | Correlate() if name in [each.name for each in rel.added]:
            return None
        case Expand() | Unnest() | Correlate() | Sort() | ChangelogNormalize():
            return time_attribute(rel.input, name)
        case Union():
            return _of_all(rel, name)
    return None


def _calculated(rel: Calc, name: str) -> TimeAttribute | None:
    expression = dict(zip(rel.names, rel.expressions, strict=True))[name]
    match expression:
        case ColumnRef():
            declared = attribute_of(expression.type)
            if declared and attribute_of(_column(rel.input, expression.name).type) is None:
                return declared  # a stream's records get their event time here
            return time_attribute(rel.input, expression.name)
        case Call(function="PROCTIME"):
            return "proctime"
    return None


def _of_all(rel: Union, name: str) -> TimeAttribute | None:
    place = [column.name for column in rel.columns].index(name)
    found = {time_attribute(part, part.columns[place].name) for part in rel.parts}
    return found.pop() if len(found) == 1 else None


def _column(rel: Rel, name: str) -> Column:
    return next(each for each in rel.columns if each.name == name)
