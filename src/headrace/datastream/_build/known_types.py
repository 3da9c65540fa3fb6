"""Types of records without a declaration: those that a source knows, if they are kept."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.common.typeinfo import BasicType, BasicTypeInfo, RowTypeInfo, TypeInformation, Types
from headrace.graph.transformation import Edge, SourceTransformation
from headrace.operators.aggregates.aggregate import RecordFold, reduction_of
from headrace.operators.filter import FilterSpec
from headrace.operators.reduce import ReduceSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.user_function import UserFunction

_WHOLE_NUMBERS = {BasicType.BYTE, BasicType.SHORT, BasicType.INT}


def known_type(edges: Iterable[Edge]) -> TypeInformation | None:
    """Return the type that all edges' records have; None if it is unknown, or they differ."""
    types = [*map(_edge_type, edges)]
    return types[0] if all(one == types[0] for one in types) else None


def _edge_type(edge: Edge) -> TypeInformation | None:
    node = edge.source
    if edge.tag is not None:
        return edge.tag.type_info
    if node.output_type is not None:
        return node.output_type
    if isinstance(node, SourceTransformation):
        found: TypeInformation | None = node.source.record_type
        return found
    if isinstance(node.spec, TimestampsSpec | FilterSpec):
        return known_type(node.inputs)
    if isinstance(node.spec, ReduceSpec) and node.spec.fold is not None:
        return node.spec.record_type
    return None


def reduced_type(edges: Iterable[Edge], function: UserFunction) -> TypeInformation | None:
    """Return the type of the result of reducing the records of some edges."""
    kept, fold = known_type(edges), reduction_of(function)
    return kept if fold is None or not isinstance(kept, RowTypeInfo) else _type_of_fold(kept, fold)


def _type_of_fold(kept: RowTypeInfo, fold: RecordFold) -> RowTypeInfo:
    """Return the type, with the 64-bit type that arrays give the aggregated field."""
    names, kinds = kept.get_field_names(), [*kept.get_field_types()]
    for number, (name, kind) in enumerate(zip(names, kinds, strict=True)):
        if fold.field in (number, name) and isinstance(kind, BasicTypeInfo):
            if kind._basic_type in _WHOLE_NUMBERS:
                kinds[number] = Types.LONG()
            elif kind._basic_type is BasicType.FLOAT:
                kinds[number] = Types.DOUBLE()
    return Types.ROW_NAMED(names, kinds)
