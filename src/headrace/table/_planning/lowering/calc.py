"""Projections, filters, and operators that give each row once or more, as streams."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.datastream._build.call_site import call_site
from headrace.datastream.data_stream import DataStream
from headrace.operators.columns.calc import BatchFunction, CalcSpec
from headrace.sql.expressions import Call, Expression, PythonCall, walk
from headrace.sql.projection import Projection
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Calc,
    Column,
    Correlate,
    OverInput,
    Rel,
    Watermark,
    arrow_schema,
    reference,
)
from headrace.sql.repeating import Correlated
from headrace.sql.types import BOOLEAN
from headrace.table._functions.asynchronous import AsyncImplementation
from headrace.table._planning.lowering.context import LoweringContext
from headrace.table._planning.lowering.watermarks import (
    WATERMARK,
    constant_delay_ms,
    strategy_of,
    with_options_of_table,
)


def lower_calc(context: LoweringContext, rel: Calc, time: str | None = None) -> DataStream:
    """Return the rows of a projection; ``time``: the column with their timestamps."""
    columns = rel.input.columns
    computed = rel.expressions if rel.condition is None else (*rel.expressions, rel.condition)
    _check_deterministic(context, rel, computed)
    zone = context.options.time_zone
    function = Projection(columns, rel.names, rel.expressions, rel.condition, zone)
    spec = CalcSpec(_configured(context, function), arrow_schema(columns), time)
    stream = context.lower_encoded(rel.input)._add(spec, call_site(), "sql")
    return stream.set_description(f"Calc({function.summary})")


def with_time(context: LoweringContext, rel: Rel, time: str) -> DataStream:
    """Return rows whose timestamps are those of a column; in a batch, those that have one."""
    names = tuple(column.name for column in rel.columns)
    (at,) = (column for column in rel.columns if column.name == time)
    there = Call(BOOLEAN.with_nullable(False), "IS NOT NULL", (reference(at),))
    condition = there if context.options.batch and at.type.nullable else None
    calc = Calc(rel, names, tuple(map(reference, rel.columns)), condition)
    return lower_calc(context, calc, time)


def lower_watermark(context: LoweringContext, rel: Watermark) -> DataStream:
    """Return rows with their event time and watermarks."""
    if context.options.batch:  # times may be NULL: windows read the column, and leave such rows out
        return context.lower(rel.input)
    columns = rel.input.columns
    names, expressions = [c.name for c in columns], [*map(reference, columns)]
    delay_ms = constant_delay_ms(rel)
    if delay_ms is None:
        names.append(WATERMARK)
        expressions.append(rel.expression)  # type: ignore[arg-type]
    timed = lower_calc(context, Calc(rel.input, tuple(names), tuple(expressions)), rel.column)
    strategy = with_options_of_table(strategy_of(delay_ms), rel.input, context.options.idle_ms)
    stream = timed.assign_timestamps_and_watermarks(strategy)
    if delay_ms is not None:
        return stream
    return context.select(stream, (*columns, Column(WATERMARK, rel.expression.type)), columns)


def lower_correlate(context: LoweringContext, rel: Correlate) -> DataStream:
    """Return the rows that a user-defined table function returns for each row."""
    _check_deterministic(context, rel, (rel.call,))
    function = Correlated(rel, context.options.time_zone)
    return lower_repeated(context, rel.input, function, "Correlate")


def lower_repeated(
    context: LoweringContext, before: Rel, function: BatchFunction, name: str
) -> DataStream:
    """Return the rows that a function returns for each row."""
    spec = CalcSpec(_configured(context, function), arrow_schema(before.columns))
    stream = context.lower(before)._add(spec, call_site(), "sql").name(name)
    return stream.set_description(f"{name}({function.summary})")


def _check_deterministic(
    context: LoweringContext, rel: OverInput, computed: Sequence[Expression]
) -> None:
    """Refuse results that cannot be retracted, because a retraction would have other values."""
    for each in (each for expression in computed for each in walk(expression)):
        varies = isinstance(each, PythonCall) and not each.function.deterministic
        if varies and context.changes(rel.input):
            refuse(f"the function {each} over rows that change, as it is not deterministic,")


def _configured(context: LoweringContext, function: BatchFunction) -> BatchFunction:
    """Return a function whose asynchronous functions are called as the job's options say."""
    settings = context.options.async_settings
    configured = {
        each: each.configured(settings) if isinstance(each, AsyncImplementation) else each
        for each in function.functions
    }
    return function.with_functions(configured) if configured else function
