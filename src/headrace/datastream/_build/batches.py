"""Specs of ``map_batches``: conversion between declared types and Arrow schemas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from headrace.common._arguments import require_positive
from headrace.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    ExternalTypeInfo,
    RowTypeInfo,
    TupleTypeInfo,
    TypeInformation,
)
from headrace.datastream._build.known_types import known_type
from headrace.datastream._build.nodes import check_type
from headrace.datastream._build.stream import Stream
from headrace.datastream._build.user_functions import to_user_function
from headrace.datastream.connectors._collection import CollectionSource
from headrace.datastream.formats._arrow.types import arrow_type, arrow_values, from_arrow
from headrace.datastream.functions import KeyedMapBatchesFunction, MapBatchesFunction
from headrace.errors import PlanError
from headrace.graph.transformation import (
    ByKey,
    ByPartitioner,
    CallSite,
    Edge,
    SourceTransformation,
)
from headrace.operators.batches.keyed_map_batches import KeyedMapBatchesSpec
from headrace.operators.batches.map_batches import MapBatchesSpec
from headrace.operators.batches.records import RecordBatchBuilder
from headrace.operators.batches.results import ResultConverter
from headrace.runtime.columns.selectors import key_columns
from headrace.runtime.columns.shapes import NAMED_ROWS, PlainValues, Shape, Tuples, python_values

VALUE = "value"
"""The name of the only column of records that are not rows."""

_CALL = "map_batches"
_FORMATS = ("arrow", "pandas")
_AS_IN_ARROW = {
    BasicType.STRING,
    BasicType.BOOLEAN,
    BasicType.BYTE,
    BasicType.SHORT,
    BasicType.INT,
    BasicType.LONG,
    BasicType.FLOAT,
    BasicType.DOUBLE,
}
"""Types whose Python values are equal to those that Arrow returns."""


@dataclass(frozen=True)
class BatchOptions:
    """The arguments of ``map_batches`` besides the function."""

    output_type: TypeInformation | None
    batch_size: int
    format: str
    input_type: TypeInformation | None
    timestamp_column: str | None

    def __post_init__(self) -> None:
        check_type(self.output_type, _CALL)
        check_type(self.input_type, _CALL)
        require_positive(self.batch_size, "the number of records in a batch")
        if self.format not in _FORMATS:
            raise PlanError(f"map_batches() gives 'arrow' or 'pandas', not {self.format!r}")


def map_batches_spec(
    func: Any, options: BatchOptions, stream: Stream, edges: Sequence[Edge], site: CallSite
) -> MapBatchesSpec:
    """Return the spec of a function of batches.

    Raises:
        PlanError: the type of the records is unknown, or Arrow has no type for it.
    """
    function = to_user_function(func, MapBatchesFunction, _CALL, _CALL, stream._describe(), site)
    return MapBatchesSpec(function, *_make_batch_functions(options, stream, edges, site))


def keyed_map_batches_spec(
    func: Any, options: BatchOptions, stream: Stream, edges: Sequence[Edge], site: CallSite
) -> KeyedMapBatchesSpec:
    """Return the spec of a function of keys and batches, as ``map_batches_spec``."""
    described = stream._describe()
    function = to_user_function(func, KeyedMapBatchesFunction, _CALL, _CALL, described, site)
    return KeyedMapBatchesSpec(function, *_make_batch_functions(options, stream, edges, site))


def _make_batch_functions(
    options: BatchOptions, stream: Stream, edges: Sequence[Edge], site: CallSite
) -> tuple[RecordBatchBuilder | None, ResultConverter, int, bool]:
    """Return the fields of the operator's spec that come after its function.

    The builder of batches is None if the type of the records is not known: the stream must then
    deliver columns. The others are the converter of results, the batch size, and True for pandas.
    """
    given = options.input_type or stream._type() or known_type(edges)
    if given is None:
        require_known_type(edges, stream._describe(), site)
    return (
        None if given is None else _make_batch_builder(given),
        _make_result_converter(options.output_type, options.timestamp_column),
        options.batch_size,
        options.format == "pandas",
    )


def require_known_type(edges: Sequence[Edge], stream: str, site: CallSite) -> None:
    """Check that a stream whose records have no declared type can deliver columns.

    Raises:
        PlanError: the stream delivers rows whose type is unknown.
    """
    if not all(_may_have_columns(edge) and _keeps_columns(edge) for edge in edges):
        raise PlanError(
            "map_batches() needs the type of the records, and none is declared",
            where={"stream": stream, "called": str(site)},
            hint="declare it: output_type= of the operator before, type_info= of the source,"
            " or input_type= of map_batches",
        )


def _may_have_columns(edge: Edge) -> bool:
    node = edge.source
    if edge.tag is not None or isinstance(edge.partitioning, ByPartitioner):
        return False
    if isinstance(node, SourceTransformation):
        return not isinstance(node.source, CollectionSource)
    traits = node.spec.traits if node.spec is not None else None
    if traits is None or traits.inputs > 1 or traits.gives_rows:
        return False
    if traits.gives_columns:
        return True
    if not (traits.takes_columns or traits.passes_columns):
        return False
    return all(
        _may_have_columns(given) and (not traits.keyed or _keeps_columns(given))
        for given in node.inputs
    )


def _keeps_columns(edge: Edge) -> bool:
    """Return whether columns stay columns on an edge. A keyed edge requires the key columns."""
    by = edge.partitioning
    return not isinstance(by, ByKey) or key_columns(by.selector, by.key_type) is not None


def _describe_columns(declared: TypeInformation) -> tuple[Any, Sequence[TypeInformation], bool]:
    """Return the schema, its columns' types, and whether a record is a single column's value."""
    if isinstance(declared, ExternalTypeInfo):
        return _describe_columns(declared._arguments()[0])
    if isinstance(declared, RowTypeInfo | TupleTypeInfo):
        kinds = declared.get_field_types()
        names = [f"f{index}" for index in range(len(kinds))]
        if isinstance(declared, RowTypeInfo):
            names = declared.get_field_names()
        pairs = zip(names, map(arrow_type, kinds), strict=True)
        return pa.schema([pa.field(*pair) for pair in pairs]), kinds, False
    return pa.schema([pa.field(VALUE, arrow_type(declared))]), [declared], True


def _make_batch_builder(declared: TypeInformation) -> RecordBatchBuilder:
    schema, kinds, single = _describe_columns(declared)
    nested = not all(isinstance(kind, BasicTypeInfo) for kind in kinds)
    return RecordBatchBuilder(schema, single, nested, arrow_values)


def _make_result_converter(
    declared: TypeInformation | None, timestamp_column: str | None
) -> ResultConverter:
    if declared is None:
        return ResultConverter(None, True, NAMED_ROWS, timestamp_column)
    schema, kinds, single = _describe_columns(declared)
    by_name = isinstance(declared, RowTypeInfo) and declared._named
    shape: Shape
    if not all(isinstance(k, BasicTypeInfo) and k._basic_type in _AS_IN_ARROW for k in kinds):
        shape = TypedRecords(declared)
    elif single:
        shape = PlainValues()
    else:
        shape = Tuples() if isinstance(declared, TupleTypeInfo) else NAMED_ROWS
    return ResultConverter(schema, by_name, shape, timestamp_column)


@dataclass(frozen=True)
class TypedRecords:
    """Converts batches to records of a declared type, if Python's values differ from Arrow's."""

    declared: TypeInformation

    def __call__(self, batch: Any) -> list[Any]:
        """The records of a batch."""
        _, kinds, single = _describe_columns(self.declared)
        columns = []
        for kind, column in zip(kinds, batch.columns, strict=True):
            values, convert = python_values(column), from_arrow(kind)
            if convert is not None:
                values = [None if value is None else convert(value) for value in values]
            columns.append(values)
        coerce = self.declared.coercer() or _return_unchanged
        records = columns[0] if single else [*zip(*columns, strict=True)]
        return [*map(coerce, records)]


def _return_unchanged(value: Any) -> Any:
    return value
