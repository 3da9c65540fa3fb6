"""Aggregations with one row in each group become projections."""

from __future__ import annotations

from headrace.sql.aggregates.table import KEY_VALUE
from headrace.sql.calls import cast
from headrace.sql.expressions import Expression
from headrace.sql.rel import Aggregate, AggregateCall, Calc, Column, Rel, reference, with_inputs
from headrace.sql.rules.keys import upsert_keys

_OF_ONE_ROW = ("SUM", "MIN", "MAX", KEY_VALUE.name)
"""The functions whose result for one row is the row's value."""


def without_single_row_groups(rel: Rel) -> Rel:
    """Return the plan with projections in place of aggregations that group by a unique key of their
    input.

    As in Flink, so that an update stays one: in a stream the aggregation would delete the row of a
    group that has no rows for a moment, and insert it again.
    """
    rel = with_inputs(rel, tuple(map(without_single_row_groups, rel.inputs)))
    if not isinstance(rel, Aggregate) or not rel.keys:
        return rel
    if not all(map(_is_value_of_row, rel.calls)):
        return rel
    if not any(key <= {*rel.keys} for key in upsert_keys(rel.input)):
        return rel
    columns = {column.name: column for column in rel.input.columns}
    names = tuple(column.name for column in rel.columns)
    values = (_value(call, columns[call.arguments[0]]) for call in rel.calls)
    return Calc(rel.input, names, (*(reference(columns[key]) for key in rel.keys), *values))


def _is_value_of_row(call: AggregateCall) -> bool:
    return call.function in _OF_ONE_ROW and call.filter is None and call.python is None


def _value(call: AggregateCall, column: Column) -> Expression:
    value = reference(column)
    return value if value.type == call.type else cast(value, call.type)
