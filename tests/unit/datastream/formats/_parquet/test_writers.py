"""Columns into Parquet: the file holds what it would hold of the records, whatever their types."""

from __future__ import annotations

import io
from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.typeinfo import Types
from headrace.connector import ColumnChunk
from headrace.datastream.formats._arrow.columns import fitting
from headrace.datastream.formats._parquet import writers as parquet_writers
from headrace.datastream.formats.parquet import ParquetBulkWriters
from headrace.runtime.columns.shapes import DICTS, NAMED_ROWS, Objects, Tuples

UTC_MS, CENTS = pa.timestamp("ms", "UTC"), pa.decimal128(9, 2)
FITTING: dict[str, tuple[Any, Any]] = {
    "as declared": (Types.LONG(), pa.array([1, None, -(1 << 63)])),
    "wider": (Types.LONG(), pa.array([1, 2, 3], pa.int16())),
    "unsigned": (Types.LONG(), pa.array([1, None, (1 << 32) - 1], pa.uint32())),
    "text": (Types.STRING(), pa.array(["a", None, "ä"], pa.large_string())),
    "dictionary": (Types.STRING(), pa.array(["a", None, "a"]).dictionary_encode()),
    "floats": (Types.DOUBLE(), pa.array([0.1, float("nan"), -0.0])),
    "booleans": (Types.BOOLEAN(), pa.array([True, None, False])),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), pa.array([b"\xff", None, b""])),
    "dates": (Types.SQL_DATE(), pa.array([date(2024, 1, 2), None, date(1, 1, 1)])),
    "moments": (Types.SQL_TIMESTAMP(), pa.array([0, None, -1], pa.timestamp("us"))),
    "a schema's own": (pa.float32(), pa.array([0.5, None, 2.0], pa.float32())),
    "moments of a zone": (UTC_MS, pa.array([0, 1, 2], UTC_MS)),
}
OTHERS: dict[str, tuple[Any, Any]] = {
    "integers as floats": (Types.DOUBLE(), pa.array([1, 2, 3])),
    "floats cut": (Types.FLOAT(), pa.array([0.1, 0.2, 0.5])),
    "moments cut": (pa.timestamp("us"), pa.array([1, 1999, 2000], pa.timestamp("ns"))),
    "lists": (Types.LIST(Types.LONG()), pa.array([[1], None, []], pa.list_(pa.int64()))),
    "decimals": (Types.BIG_DEC(), pa.array([Decimal("1.5"), None, None], CENTS)),
    "numbers as text": (pa.int32(), pa.array([1, 2, 3], pa.int64())),
}
SHAPES = {"dicts": DICTS, "rows": NAMED_ROWS, "tuples": Tuples()}


def types_of(kind: Any) -> Any:
    if isinstance(kind, pa.DataType):
        return pa.schema([("id", pa.int64()), ("x", kind)])
    return Types.ROW_NAMED(["id", "x"], [Types.LONG(), kind])


def chunk_of(column: Any, shape: Any = NAMED_ROWS) -> ColumnChunk:
    return ColumnChunk(pa.record_batch({"id": pa.array([1, 2, 3]), "x": column}), shape)


def written(kind: Any, chunk: ColumnChunk, how: str) -> Any:
    file = io.BytesIO()
    writer = ParquetBulkWriters.for_row_type(types_of(kind)).create(file)
    if how == "rows":
        writer.write(chunk.shape(chunk.batch))
    else:
        writer.write_columns(chunk)
    writer.finish()
    return pq.read_table(file)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", [*FITTING, *OTHERS])
def test_the_file_holds_what_it_would_of_records(name: str, shape: str) -> None:
    kind, column = {**FITTING, **OTHERS}[name]
    chunk = chunk_of(column, SHAPES[shape])
    expected, found = written(kind, chunk, "rows"), written(kind, chunk, "columns")
    assert found.schema.equals(expected.schema)
    assert repr(found.to_pylist()) == repr(expected.to_pylist())


@pytest.mark.parametrize("name", [*FITTING, *OTHERS])
def test_columns_are_used_where_they_fit(name: str) -> None:
    kind, column = {**FITTING, **OTHERS}[name]
    types = types_of(kind)
    factory = ParquetBulkWriters.for_row_type(types)
    writer = factory.create(io.BytesIO())
    batch = fitting(chunk_of(column), writer._schema, writer._declared)
    assert (batch is not None) == (name in FITTING)


@pytest.mark.parametrize(
    ("batch", "shape"),
    [
        ({"x": ["a"], "id": [1]}, NAMED_ROWS),
        ({"id": [1], "y": ["a"]}, NAMED_ROWS),
        ({"id": [1], "x": ["a"], "z": [1]}, DICTS),
        ({"id": [1], "x": ["a"]}, Objects(complex)),
    ],
)
def test_other_fields_are_looked_at_one_by_one(batch: Any, shape: Any) -> None:
    schema = pa.schema([("id", pa.int64()), ("x", pa.string())])
    assert fitting(ColumnChunk(pa.record_batch(batch), shape), schema) is None


def test_nulls_go_only_where_the_schema_has_them() -> None:
    schema = pa.schema([("id", pa.int64()), pa.field("x", pa.int64(), nullable=False)])
    assert fitting(chunk_of(pa.array([1, None, 3])), schema) is None
    assert fitting(chunk_of(pa.array([1, 2, 3])), schema) is not None


def test_a_single_character_is_checked() -> None:
    texts = chunk_of(pa.array(["a", "b", "c"]))
    row = Types.ROW_NAMED(["id", "x"], [Types.LONG(), Types.CHAR()])
    writer = ParquetBulkWriters.for_row_type(row).create(io.BytesIO())
    assert fitting(texts, writer._schema, writer._declared) is None


def test_records_and_columns_keep_their_order_and_row_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(parquet_writers, "ROW_GROUP_ROWS", 6)
    file = io.BytesIO()
    writer = ParquetBulkWriters.for_row_type(types_of(Types.LONG())).create(file)
    for start in range(0, 24, 6):
        chunk = ColumnChunk(
            pa.record_batch({"id": [*range(start, start + 3)], "x": [0] * 3}), NAMED_ROWS
        )
        writer.write_columns(chunk)
        if start % 12:
            writer.write([(start + 3 + number, 0) for number in range(3)])
        else:
            chunk = ColumnChunk(
                pa.record_batch({"id": [*range(start + 3, start + 6)], "x": [0] * 3}), NAMED_ROWS
            )
            writer.write_columns(chunk)
    writer.finish()
    assert pq.read_table(file)["id"].to_pylist() == [*range(24)]
    groups = pq.ParquetFile(file).metadata
    assert [groups.row_group(n).num_rows for n in range(groups.num_row_groups)] == [
        6,
        3,
        3,
        6,
        3,
        3,
    ]


def test_what_is_discarded_is_not_written() -> None:
    file = io.BytesIO()
    writer = ParquetBulkWriters.for_row_type(types_of(Types.LONG())).create(file)
    writer.write_columns(chunk_of(pa.array([1, 2, 3])))
    writer.discard()
    assert pq.read_table(file).num_rows == 0
