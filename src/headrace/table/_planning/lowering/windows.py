"""Windows by time as streams: window table functions, and aggregations over windows."""

from __future__ import annotations

from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError
from headrace.operators.columns.window_aggregate import WindowAggregateSpec
from headrace.operators.columns.window_sessions import SessionAggregateSpec
from headrace.operators.columns.window_slices import SlicedWindows
from headrace.operators.columns.window_updates import WindowUpdatesSpec
from headrace.operators.columns.window_zones import LocalTime
from headrace.runtime.operator import OperatorSpec
from headrace.sql.refusals import refuse
from headrace.sql.rel import Columns, Window, WindowAggregate, WindowSpec, arrow_schema
from headrace.sql.repeating import AssignedWindows
from headrace.table._planning.lowering.aggregates import (
    aggregates_of,
    chosen,
    implementation_of,
    keyed_input,
    summary_of,
)
from headrace.table._planning.lowering.calc import lower_repeated, with_time
from headrace.table._planning.lowering.context import LoweringContext
from headrace.table._planning.lowering.session_rows import lower_session_rows
from headrace.table._planning.options import PlanningOptions


def lower_window(context: LoweringContext, rel: Window) -> DataStream:
    """Return the rows of a window table function."""
    _check_mode(rel.window, context.options)
    if rel.window.kind == "SESSION":
        return lower_session_rows(context, rel)
    windows = AssignedWindows(rel, context.options.time_zone)
    return lower_repeated(context, rel.input, windows, "WindowTableFunction")


def lower_window_aggregate(context: LoweringContext, rel: WindowAggregate) -> DataStream:
    """Return the results of windows."""
    _check_mode(rel.window, context.options)
    _check(rel, context.options)
    before, keys = keyed_input(rel.input, rel.keys)
    results = {call.name for call in rel.calls}
    made = (
        *chosen(before.columns, keys),
        *(column for column in rel.columns if column.name in results),
        *(column for column, _ in rel.borders),
    )
    retracts = context.changes(rel.input)
    spec = _spec(rel, keys, before.columns, made, retracts, context.options)
    clock = rel.window.processing_time
    timed = context.lower(before) if clock else with_time(context, before, rel.window.time)
    emit = "" if rel.emit is None else f", emit=[{rel.emit}]"
    stream = context.keyed(timed, keys, spec, rel).set_description(
        f"WindowAggregate({rel.window}, groupBy=[{', '.join(rel.keys)}], {summary_of(rel.calls)}"
        f"{emit})"
    )
    return context.select(stream, made, rel.columns)


def _check_mode(window: WindowSpec, options: PlanningOptions) -> None:
    """Refuse windows that a batch does not support, as in Flink."""
    if options.batch and window.processing_time:
        refuse("a window by processing time in a batch")
    if options.batch and window.kind == "SESSION":
        refuse("SESSION in a batch")


def _check(rel: WindowAggregate, options: PlanningOptions) -> None:
    """Refuse what windows that are merged from slices cannot compute."""
    window = rel.window
    for call in rel.calls:
        merged = call.python if window.kind == "SESSION" else None
        if merged is not None and implementation_of(merged).lacks_merge:
            refuse(f"the aggregate function {call.function} without merge, in SESSION windows")
    if not (options.batch or window.grouped) and window.size_ms % (window.slide_ms or 1):
        raise SqlValidationError(
            f"an aggregation over {window.kind} needs a size ({window.size_ms} ms) that is a"
            f" multiple of the slide ({window.slide_ms} ms)"
        )
    if window.kind in ("HOP", "CUMULATE") and not rel.attached and rel.emit is None:
        for call in rel.calls:
            if call.function in ("FIRST_VALUE", "LAST_VALUE"):
                refuse(f"{call.function} in windows of {window.kind}")


def _spec(
    rel: WindowAggregate,
    keys: tuple[str, ...],
    given: Columns,
    made: Columns,
    retracts: bool,
    options: PlanningOptions,
) -> OperatorSpec:
    window = rel.window
    aggregates = aggregates_of(rel.calls, given, retracts, options.time_zone)
    local = rel.of_moments and options.time_zone != "UTC"
    zone = LocalTime(options.time_zone) if local else None
    schemas = arrow_schema(given), arrow_schema(made)
    borders, clock = tuple(border for _, border in rel.borders), window.processing_time
    if window.kind == "SESSION":
        return SessionAggregateSpec(
            keys,
            window.size_ms,
            aggregates,
            *schemas,
            borders,
            retracts,
            local=zone,
            processing_time=clock,
        )
    slices = SlicedWindows(
        window.size_ms,
        window.slide_ms or window.size_ms,
        window.offset_ms,
        cumulative=window.kind == "CUMULATE",
        attached=rel.attached,
        local=zone,
    )
    if rel.emit is not None:
        return WindowUpdatesSpec(
            keys, slices, aggregates, *schemas, borders, rel.emit, clock, retracts=retracts
        )
    return WindowAggregateSpec(
        keys, slices, aggregates, *schemas, borders, retracts, processing_time=clock
    )
