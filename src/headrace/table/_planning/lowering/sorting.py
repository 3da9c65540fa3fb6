"""ORDER BY, LIMIT and OFFSET as streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.datastream.data_stream import DataStream
from headrace.operators.columns.limit import LimitSpec
from headrace.operators.columns.processing_time_sort import ProcessingTimeSortSpec
from headrace.operators.columns.sort import SortSpec
from headrace.operators.columns.time_sort import TimeSortSpec
from headrace.runtime.operator import OperatorSpec
from headrace.sql.refusals import refuse
from headrace.sql.rel import Sort, arrow_schema
from headrace.sql.rules.one_group import ALL, with_constant_key
from headrace.sql.rules.time_order import time_order
from headrace.table._planning.lowering.context import LoweringContext

if TYPE_CHECKING:
    import pyarrow as pa


def lower_sort(context: LoweringContext, rel: Sort) -> DataStream:
    """Return rows in an order, or the first ones; all have one key."""
    before = with_constant_key(rel.input)
    spec = _spec(context, rel, arrow_schema(before.columns))
    stream = context.keyed(context.lower(before), (ALL,), spec, rel)
    return context.select(stream, before.columns, rel.columns)


def _spec(context: LoweringContext, rel: Sort, schema: pa.Schema) -> OperatorSpec:
    if context.options.batch:
        return SortSpec(rel.keys, rel.offset, rel.limit, schema)
    if rel.keys and (rel.limit is not None or rel.offset):
        refuse("ORDER BY with LIMIT or OFFSET in a stream (Top-N)")
    if context.changes(rel.input):
        refuse(f"{'ORDER BY' if rel.keys else 'LIMIT'} of rows that change in a stream")
    if rel.keys:
        by_clock = time_order(rel) == "proctime"
        return (
            ProcessingTimeSortSpec(rel.keys[1:], schema)
            if by_clock
            else TimeSortSpec(rel.keys, schema)
        )
    if rel.limit is None:
        refuse("OFFSET without LIMIT in a stream")
    return LimitSpec(rel.offset, rel.limit, schema, context.options.ttl_ms)
