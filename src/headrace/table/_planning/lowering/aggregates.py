"""GROUP BY, and windows of a number of rows, as streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from headrace.datastream.data_stream import DataStream
from headrace.operators.columns.accumulator import Accumulator, Aggregated
from headrace.operators.columns.count_windows import CountWindowSpec
from headrace.operators.columns.group_aggregate import GroupAggregateSpec
from headrace.sql.aggregates.table import find_aggregate, make_accumulator
from headrace.sql.python_function import AggregateImplementation, PythonFunction, Signature
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Columns,
    CountWindowAggregate,
    Rel,
    arrow_schema,
)
from headrace.sql.rules.one_group import ALL, with_a_group, with_constant_key
from headrace.sql.types import SqlType
from headrace.table._planning.lowering.context import LoweringContext


def lower_aggregate(context: LoweringContext, rel: Aggregate) -> DataStream:
    """Return the results of groups, which change in a stream."""
    batch = context.options.batch
    for call in rel.calls:
        if not batch and call.python and implementation_of(call.python).vectorised:
            refuse(
                f"the pandas aggregate function {call.function} in a stream, outside of windows,"
            )
    if not rel.keys and batch:
        return context.lower(with_a_group(rel))
    before, keys = keyed_input(rel.input, rel.keys)
    results = tuple(column for column in rel.columns if column.name not in rel.keys)
    result = (*chosen(before.columns, keys), *results)
    retracts = context.changes(rel.input)
    spec = GroupAggregateSpec(
        keys,
        aggregates_of(rel.calls, rel.input.columns, retracts, context.options.time_zone),
        arrow_schema(before.columns),
        arrow_schema(result),
        retracts=retracts,
        folds=context.options.mini_batch,
        ttl_ms=0 if batch else rel.kept_ms(context.options.ttl_ms),
        only_inserts=not context.changes(rel),
        emits="last" if batch else "each",
    )
    stream = context.keyed(context.lower(before), keys, spec, rel).set_description(
        f"GroupAggregate(groupBy=[{', '.join(rel.keys)}], {summary_of(rel.calls)})"
    )
    return stream if rel.keys else context.select(stream, result, rel.columns)


def lower_count_window_aggregate(context: LoweringContext, rel: CountWindowAggregate) -> DataStream:
    """Return the results of windows of a number of rows."""
    if context.options.batch:
        refuse("a window of a number of rows in a batch")
    if context.changes(rel.input):
        refuse("a window of a number of rows over rows that change")
    before, keys = keyed_input(rel.input, rel.keys)
    results = tuple(column for column in rel.columns if column.name not in rel.keys)
    made = (*chosen(before.columns, keys), *results)
    spec = CountWindowSpec(
        keys,
        rel.size,
        rel.slide,
        aggregates_of(rel.calls, before.columns, False, context.options.time_zone),
        arrow_schema(before.columns),
        arrow_schema(made),
    )
    stream = context.keyed(context.lower(before), keys, spec, rel).set_description(
        f"CountWindowAggregate(size={rel.size}, slide={rel.slide},"
        f" groupBy=[{', '.join(rel.keys)}], {summary_of(rel.calls)})"
    )
    return context.select(stream, made, rel.columns)


def keyed_input(rel: Rel, keys: tuple[str, ...]) -> tuple[Rel, tuple[str, ...]]:
    """Return rows with their keys; without keys, all have one that is constant."""
    return (rel, keys) if keys else (with_constant_key(rel), (ALL,))


def chosen(columns: Columns, names: Sequence[str]) -> Columns:
    """Return the columns with some names."""
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in names)


def summary_of(calls: Sequence[AggregateCall]) -> str:
    """Return the calls as the description of an operator shows them."""
    return f"select=[{', '.join(map(str, calls))}]"


def implementation_of(function: PythonFunction) -> AggregateImplementation:
    """Return the implementation of a user-defined aggregate function."""
    return cast(AggregateImplementation, function.implementation)


def aggregates_of(
    calls: Sequence[AggregateCall], columns: Columns, retracts: bool, time_zone: str
) -> tuple[Aggregated, ...]:
    """Return the calls of aggregate functions in the form that operators need.

    ``retracts``: whether rows may be retracted.
    """
    types = {column.name: column.type for column in columns}
    return tuple(
        Aggregated(_accumulator(call, types, retracts, time_zone), call.arguments, call.filter)
        for call in calls
    )


def _accumulator(
    call: AggregateCall, types: Mapping[str, SqlType], retracts: bool, time_zone: str
) -> Accumulator:
    if call.python is not None:
        return _python_accumulator(call, call.python, types, retracts, time_zone)
    function = find_aggregate(call.function)
    assert function is not None, call
    return make_accumulator(
        function,
        [types[name] for name in call.arguments],
        call.type,
        distinct=call.distinct,
        retracts=retracts,
        constants=call.options,
    )


def _python_accumulator(
    call: AggregateCall,
    function: PythonFunction,
    types: Mapping[str, SqlType],
    retracts: bool,
    time_zone: str,
) -> Accumulator:
    implementation = implementation_of(function)
    if retracts and implementation.lacks_retract:
        refuse(f"the aggregate function {call.function} without retract, over rows that change")
    arguments = tuple(types[name] for name in call.arguments)
    signature = Signature(call.function, arguments, call.type, call.row_names)
    return implementation.accumulator(signature, time_zone, distinct=call.distinct)
