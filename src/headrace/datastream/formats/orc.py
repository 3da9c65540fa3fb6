"""ORC files: reading and writing rows with pyarrow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import IO, Any

import pyarrow as pa
from pyarrow import orc

from headrace.common._storage.locations import open_file, stat_file
from headrace.common._types.other_forms import as_arrow_schema
from headrace.common.serialization import BulkWriterFactory
from headrace.common.typeinfo import RowTypeInfo
from headrace.connector import BadRecord, Chunk
from headrace.datastream.formats._arrow.types import arrow_schema, arrow_values
from headrace.datastream.formats._csv.fields import fields_of
from headrace.datastream.formats._file_format import (
    CHUNK_RECORDS,
    BulkFormat,
    FileStats,
    refuse_hadoop,
)
from headrace.errors import DecodeError, PlanError
from headrace.runtime.columns.shapes import DICTS

__all__ = ["OrcBulkWriters", "OrcFormat"]

_STRIPE_ROWS = 1 << 17
_COMPRESSIONS = ("none", "zlib", "snappy", "lz4", "zstd")


@dataclass(frozen=True)
class OrcFormat(BulkFormat):
    """Reads dicts from ORC files; a position is the number of a row.

    ``columns`` selects columns; by default all are read. Files are split between stripes.
    Timestamps become ``datetime``, with a time zone if the column has one (nanoseconds are cut
    off), decimals ``Decimal``.
    """

    columns: tuple[str, ...] | None = None

    def __init__(self, columns: Sequence[str] | None = None) -> None:
        object.__setattr__(self, "columns", None if columns is None else tuple(columns))

    def measure(self, path: str, extent: int | None = None) -> FileStats:
        """Return the number of rows from the file's footer; ``extent`` is not used.

        Raises:
            DecodeError: the file is not an ORC file.
        """
        found = stat_file(path)
        try:
            rows = sum(_stripe_rows(path, found.size_bytes, found.mtime_ms))
        except (pa.ArrowException, OSError) as error:
            raise DecodeError(f"{path!r} is no ORC file: {error}", where={"file": path}) from error
        return FileStats(rows, 1.0, max(found.size_bytes / rows, 1.0) if rows else 1.0)

    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        """Return the first rows of stripes at which the range can be split."""
        found = stat_file(path)
        stripes = _stripe_rows(path, found.size_bytes, found.mtime_ms)
        row_bytes = found.size_bytes / max(sum(stripes), 1)
        cuts: list[int] = []
        row, last = 0, start
        for rows in stripes:
            if start < row < end and (row - last) * row_bytes >= max_range_bytes:
                cuts.append(row)
                last = row
            row += rows
        return cuts

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        """Yield the rows of the range; a damaged stripe yields one bad record, at its first row."""
        found = stat_file(path)
        row = start
        with open_file(path) as source:
            try:
                file = orc.ORCFile(source)
                first = 0
                stripes = _stripe_rows(path, found.size_bytes, found.mtime_ms)
                for number, rows in enumerate(stripes):
                    row, stop = max(first, start), min(first + rows, end)
                    if row < stop:
                        batch = _in_microseconds(
                            file.read_stripe(number, self._check_columns(file))
                        )
                        for at in range(row - first, stop - first, CHUNK_RECORDS):
                            yield Chunk(
                                DICTS(batch.slice(at, min(CHUNK_RECORDS, stop - first - at)))
                            )
                    first += rows
            except (pa.ArrowException, OSError) as error:
                bad = BadRecord(b"", f"the file is corrupt: {error}", path, row)
                yield Chunk([], None, [(0, bad)])

    def _check_columns(self, file: Any) -> list[str] | None:
        """Return the columns to read (None: all); raise ArrowInvalid if the file lacks one."""
        if self.columns is None:
            return None
        missing = [name for name in self.columns if name not in file.schema.names]
        if missing:
            raise pa.ArrowInvalid(f"the file has no column {missing[0]!r}")
        return list(self.columns)


@lru_cache(maxsize=64)
def _stripe_rows(path: str, size_bytes: int, modified_ms: int) -> tuple[int, ...]:
    """Return the number of rows in each stripe of a file."""
    with open_file(path) as source:
        file = orc.ORCFile(source)
        if file.nstripes == 1:
            return (file.nrows,)
        # They are in the footer, which pyarrow does not expose, so one column is read.
        column = file.schema.names[:1]
        return tuple(file.read_stripe(n, column).num_rows for n in range(file.nstripes))


def _in_microseconds(batch: Any) -> Any:
    """Return the batch with timestamps in microseconds, as Python cannot represent nanoseconds."""
    schema = pa.schema([pa.field(f.name, _cut(f.type)) for f in batch.schema])
    columns = [
        column if column.type == field.type else column.cast(field.type, safe=False)
        for column, field in zip(batch.columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cut(kind: Any) -> Any:
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(f.name, _cut(f.type)) for f in kind])
    if pa.types.is_list(kind):
        return pa.list_(_cut(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_cut(kind.key_type), _cut(kind.item_type))
    return kind


class OrcBulkWriters:
    """Makes ORC writers for ``FileSink.for_bulk_format``."""

    @staticmethod
    def for_row_type(
        row_type: Any, writer_properties: Any = None, hadoop_config: Any = None
    ) -> _OrcWriterFactory:
        """Return a writer of rows, dictionaries, dataclasses or tuples.

        ``row_type`` is a ``DataTypes.ROW(…)``, ``Types.ROW_NAMED(…)`` or a pyarrow schema. The
        supported ``writer_properties`` are ``orc.compress`` (NONE, ZLIB, SNAPPY, LZ4, ZSTD) and
        ``orc.stripe.size`` (bytes).

        Raises:
            PlanError: another property is given, or ORC has no such type (a time of day).
        """
        refuse_hadoop(hadoop_config, "ORC is written")
        row_type = as_arrow_schema(row_type)
        for field in arrow_schema(row_type):
            if pa.types.is_time(field.type):
                raise PlanError(f"ORC cannot represent a time of day (field {field.name!r})")
        return _OrcWriterFactory(row_type, *_parse_properties(writer_properties))


def _parse_properties(properties: Any) -> tuple[str, int]:
    """Return the compression and the size of a stripe."""
    found: Mapping[str, Any] = (
        properties if isinstance(properties, Mapping) else _table_to_dict(properties)
    )
    unknown = [key for key in found if key not in ("orc.compress", "orc.stripe.size")]
    if unknown:
        raise PlanError(f"the ORC property {unknown[0]!r} has no effect here")
    compression = str(found.get("orc.compress", "ZLIB")).lower()
    if compression not in _COMPRESSIONS:
        raise PlanError(
            f"ORC is not compressed by {compression!r}", hint=f"use {', '.join(_COMPRESSIONS)}"
        )
    size_bytes = int(found.get("orc.stripe.size", 64 * 1024 * 1024))
    return "uncompressed" if compression == "none" else compression, size_bytes


def _table_to_dict(properties: Any) -> dict[str, str]:
    return {} if properties is None else dict(properties.to_dict())


@dataclass(frozen=True)
class _OrcWriterFactory(BulkWriterFactory):
    """Writes records as ORC."""

    row_type: Any
    compression: str = "zlib"
    stripe_bytes: int = 64 * 1024 * 1024

    def create(self, file: IO[bytes]) -> _OrcWriter:
        """Return a writer into an open file."""
        coerce = self.row_type.coercer() if isinstance(self.row_type, RowTypeInfo) else None
        schema = arrow_schema(self.row_type)
        writer = orc.ORCWriter(file, compression=self.compression, stripe_size=self.stripe_bytes)
        return _OrcWriter(schema, coerce, writer)


class _OrcWriter:
    """Writes records into one file, many rows at a time."""

    def __init__(self, schema: Any, coerce: Any, writer: Any) -> None:
        self._schema, self._coerce, self._writer = schema, coerce, writer
        self._rows: list[Sequence[Any]] = []
        self._written = False

    def write(self, values: Sequence[Any]) -> None:
        """Add records.

        Raises:
            TypeMismatchError: a value does not fit its column.
        """
        if self._coerce is not None:
            self._rows += [self._coerce(value) for value in values]
        else:
            self._rows += map(partial(fields_of, columns=tuple(self._schema.names)), values)
        if len(self._rows) >= _STRIPE_ROWS:
            self._flush()

    def finish(self) -> None:
        """Complete the file; the caller closes it."""
        if self._rows or not self._written:
            self._flush()
        self._writer.close()

    def discard(self) -> None:
        """Close the file without completing it: its content is not needed any more."""
        self._rows = []
        self._writer.close()

    def _flush(self) -> None:
        columns = list(zip(*self._rows, strict=True)) or [()] * len(self._schema)
        arrays = [
            arrow_values(field, column) for field, column in zip(self._schema, columns, strict=True)
        ]
        self._writer.write(pa.Table.from_arrays(arrays, schema=self._schema))
        self._rows, self._written = [], True
