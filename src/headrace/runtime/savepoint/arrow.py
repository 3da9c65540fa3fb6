"""The tables of the savepoint as Arrow record batches, with the records' fields as columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, get_type_hints

import pyarrow as pa

from headrace.runtime.savepoint.records import COLUMNS, TABLES

BATCH_RECORDS = 8192
BATCH_BYTES = 16 << 20

_TYPES = {str: pa.string(), int: pa.int64(), bool: pa.bool_(), bytes: pa.binary()}


def schema_of(table: str) -> pa.Schema:
    """Return the columns of a table."""
    record, fields = TABLES[table], []
    for name, hint in get_type_hints(record).items():
        kinds = getattr(hint, "__args__", (hint,))
        nullable = type(None) in kinds
        kind = next(kind for kind in kinds if kind is not type(None))
        fields.append(pa.field(COLUMNS.get((record, name), name), _TYPES[kind], nullable=nullable))
    return pa.schema(fields, metadata={"table": table})


def to_batches(table: str, records: Iterable[tuple[Any, ...]]) -> Iterator[pa.RecordBatch]:
    """Yield the records of a table in batches of bounded numbers and bytes."""
    schema = schema_of(table)
    # The last binary column has what may be large: values, snapshots, pending data.
    large = max((i for i, kind in enumerate(schema.types) if kind == pa.binary()), default=None)
    rows: list[tuple[Any, ...]] = []
    size_bytes = 0
    for record in records:
        rows.append(record)
        if large is not None:
            size_bytes += len(record[large] or b"")
        if len(rows) >= BATCH_RECORDS or size_bytes >= BATCH_BYTES:
            yield _make_batch(rows, schema)
            rows, size_bytes = [], 0
    if rows:
        yield _make_batch(rows, schema)


def from_batches(table: str, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
    """Yield the records of a table from its batches."""
    make, names = TABLES[table]._make, schema_of(table).names
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in names]
        yield from map(make, zip(*columns, strict=True))


def _make_batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = zip(*rows, strict=True)
    arrays = [
        pa.array(column, kind)
        for column, kind in zip(islice(columns, len(schema)), schema.types, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)
