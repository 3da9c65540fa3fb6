"""Aggregations over an input that is always empty become a constant row."""

from __future__ import annotations

from headrace.sql.constant_rows import ConstantRows
from headrace.sql.expressions import Literal
from headrace.sql.rel import Aggregate, Calc, Rel, Sort, Union, Values, with_inputs

_KNOWN = ("COUNT", "SUM", "SUM0", "MIN", "MAX")


def with_results_of_empty_inputs(rel: Rel) -> Rel:
    """Return the plan with a constant row in place of each aggregation without keys over an empty
    input.

    As in Flink: in a stream, the aggregation would wait for a first row.
    """
    rel = with_inputs(rel, tuple(map(with_results_of_empty_inputs, rel.inputs)))
    if not isinstance(rel, Aggregate) or rel.keys or not rel.calls:
        return rel
    if not all(call.function in _KNOWN for call in rel.calls) or not _is_empty(rel.input):
        return rel
    (row,) = ConstantRows().rows(rel)
    columns = rel.columns
    values = (Literal(column.type, value) for column, value in zip(columns, row, strict=True))
    return Values((tuple(values),), columns)


def _is_empty(rel: Rel) -> bool:
    match rel:
        case Values():
            return not rel.rows
        case Aggregate():
            return bool(rel.keys) and _is_empty(rel.input)
        case Calc() | Sort() | Union():
            return all(map(_is_empty, rel.inputs))
    return False
