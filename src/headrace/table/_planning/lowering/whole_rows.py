"""Relations whose operators keep or count whole rows, as streams."""

from __future__ import annotations

from headrace.datastream.data_stream import DataStream
from headrace.operators.columns.changelog_normalize import ChangelogNormalizeSpec
from headrace.operators.columns.set_operation import SetOperationSpec
from headrace.sql.projection import Projection
from headrace.sql.rel import ChangelogNormalize, SetOperation, Union, arrow_schema
from headrace.sql.rules.sides import SIDE, with_side
from headrace.table._planning.lowering.context import LoweringContext

_THERE = "$there"
"""The column with the result of a condition, by which rows are kept."""


def lower_changelog_normalize(context: LoweringContext, rel: ChangelogNormalize) -> DataStream:
    """Return the changelog of rows that replace or delete the row with their keys."""
    columns, condition = rel.columns, None
    if rel.condition is not None:
        zone = context.options.time_zone
        condition = Projection(columns, (_THERE,), (rel.condition,), None, zone)
    spec = ChangelogNormalizeSpec(
        rel.keys,
        arrow_schema(columns),
        condition,
        folds=context.options.mini_batch,
        ttl_ms=context.options.ttl_ms,
    )
    stream = context.keyed(context.lower(rel.input), rel.keys, spec, rel)
    return stream.set_description(f"ChangelogNormalize(key=[{', '.join(rel.keys)}])")


def lower_set_operation(context: LoweringContext, rel: SetOperation) -> DataStream:
    """Return the rows of INTERSECT or EXCEPT."""
    sided = Union((with_side(rel.left, left=True), with_side(rel.right, left=False)))
    spec = SetOperationSpec(
        rel.kind,
        rel.all,
        SIDE,
        arrow_schema(sided.columns),
        arrow_schema(rel.columns),
        emits="last" if context.options.batch else "each",
        ttl_ms=context.options.ttl_ms,
        only_inserts=not context.changes(rel),
    )
    keys = tuple(column.name for column in rel.columns)
    stream = context.keyed(context.lower(sided), keys, spec, rel)
    return stream.set_description(f"{rel.kind}{' ALL' if rel.all else ''}")
