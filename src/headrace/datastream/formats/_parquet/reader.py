"""Parquet files read through pyarrow: dictionaries, or rows of a declared type."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.common._storage.locations import open_file
from headrace.common._types.other_forms import as_type_information
from headrace.common.typeinfo import RowTypeInfo
from headrace.connector import BadRecord, Chunk, ColumnChunk
from headrace.datastream.formats._arrow.types import arrow_schema, from_arrow
from headrace.datastream.formats._file_format import (
    CHUNK_RECORDS,
    COLUMNS_RECORDS,
    BulkFormat,
    FileStats,
    refuse_hadoop,
)
from headrace.datastream.formats._parquet.batches import BatchReader
from headrace.errors import DecodeError, TypeMismatchError
from headrace.runtime.columns.shapes import DICTS, NAMED_ROWS

MISFITS = (TypeError, ValueError, KeyError, ArithmeticError)


@dataclass(frozen=True)
class ParquetFormat(BulkFormat):
    """Reads dictionaries from Parquet files; a position is the number of a row.

    ``columns`` selects columns; by default all are read. Files are split between row groups if
    these are small enough. Timestamps become ``datetime``, with a time zone if the column has one
    (nanoseconds are cut off), decimals ``Decimal``.
    """

    columns: tuple[str, ...] | None = None
    batch_size: int = CHUNK_RECORDS
    dictionaries: ClassVar[bool] = False
    """Whether texts in columns keep the dictionaries that they have in files."""

    def __init__(
        self, columns: Sequence[str] | None = None, batch_size: int = CHUNK_RECORDS
    ) -> None:
        object.__setattr__(self, "columns", None if columns is None else tuple(columns))
        object.__setattr__(self, "batch_size", min(batch_size, CHUNK_RECORDS))

    def measure(self, path: str, extent: int | None = None) -> FileStats:
        """Return the number of rows from the file's footer; ``extent`` is not used.

        Raises:
            DecodeError: the file is not a Parquet file.
        """
        with open_file(path) as file:
            try:
                metadata = pq.ParquetFile(file).metadata
            except (pa.ArrowException, OSError) as error:
                raise _unreadable_error(path, error) from error
            rows = metadata.num_rows
            groups = range(metadata.num_row_groups)
            size_bytes = sum(metadata.row_group(group).total_byte_size for group in groups)
        return FileStats(rows, 1.0, max(size_bytes / rows, 1.0) if rows else 1.0)

    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        """Return the first rows of row groups at which the range can be split."""
        with open_file(path) as file:
            try:
                metadata = pq.ParquetFile(file).metadata
            except (pa.ArrowException, OSError):
                return ()  # the reader finds the same error, and reports it
            cuts: list[int] = []
            row, taken_bytes = 0, 0
            for group in range(metadata.num_row_groups):
                if start < row < end and taken_bytes >= max_range_bytes:
                    cuts.append(row)
                    taken_bytes = 0
                found = metadata.row_group(group)
                row += found.num_rows
                taken_bytes += found.total_byte_size if row > start else 0
        return cuts

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        """Yield the rows of the range; a damaged file yields one bad record, at the failing row."""
        row = start
        try:
            for batch in self._batches(self.batch_size).read(path, start, end):
                yield self.chunk(path, row, batch)
                row += batch.num_rows
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError) as error:
            yield _corrupt(path, row, error)

    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk] | None:
        """Yield the rows of the range as columns; return None if the format has no columns."""
        return self._read_columns(path, start, end, extent) if self.has_columns else None

    @property
    def has_columns(self) -> bool:
        return True

    def _read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        row = start
        # After an error smaller batches are read: they get closer to it, or the storage is back.
        for size in (COLUMNS_RECORDS, self.batch_size):
            try:
                for batch in self._batches(size).read(path, row, end):
                    yield self.column_chunk(batch)
                    row += batch.num_rows
                return
            except FileNotFoundError:
                raise
            except (pa.ArrowException, OSError) as error:
                failure = error
        yield _corrupt(path, row, failure)

    def column_chunk(self, batch: Any) -> ColumnChunk:
        """Return an Arrow batch as columns of the same records as ``chunk``."""
        return ColumnChunk(batch, DICTS)

    def _batches(self, batch_size: int) -> BatchReader:
        """Return what reads batches; it keeps files open if this is the format of one reader."""
        open_readers: dict[int, BatchReader] | None = vars(self).get("_open_readers")
        if open_readers is None:
            return BatchReader(self.column_names, batch_size, self.dictionaries, max_open_files=0)
        found = open_readers.get(batch_size)
        if found is None:
            found = BatchReader(self.column_names, batch_size, self.dictionaries)
            open_readers[batch_size] = found
        return found

    def for_reader(self) -> ParquetFormat:
        made = copy.copy(self)
        vars(made)["_open_readers"] = {}
        return made

    def close(self) -> None:
        for each in vars(self).get("_open_readers", {}).values():
            each.close()

    def column_names(self, schema: Any) -> list[str]:
        """Return the columns to read from a file with this Arrow schema."""
        return list(self.columns) if self.columns is not None else list(schema.names)

    def chunk(self, path: str, row: int, batch: Any) -> Chunk:
        """Return the rows of an Arrow batch; its first row has the number ``row`` in the file."""
        return Chunk(DICTS(batch))


@dataclass(frozen=True)
class ParquetColumnarRowInputFormat(ParquetFormat):
    """Reads rows with named fields from Parquet files.

    ``row_type`` is a ``DataTypes.ROW(…)``, ``Types.ROW_NAMED(…)`` or a pyarrow schema; columns are
    found by name. ``is_utc_timestamp`` has no effect: the file declares whether a timestamp has a
    time zone.
    """

    row_type: Any = None
    is_case_sensitive: bool = True

    def __init__(
        self,
        row_type: Any,
        hadoop_config: Any = None,
        batch_size: int = 2048,
        is_utc_timestamp: bool = True,
        is_case_sensitive: bool = True,
    ) -> None:
        refuse_hadoop(hadoop_config, "Parquet is read")
        row_type = as_type_information(row_type)
        names = arrow_schema(row_type).names
        super().__init__(names, batch_size)
        object.__setattr__(self, "row_type", row_type)
        object.__setattr__(self, "is_case_sensitive", is_case_sensitive)

    def column_names(self, schema: Any) -> list[str]:
        """Return the names that the selected columns have in the file."""
        wanted = self.columns or ()
        if self.is_case_sensitive:
            return list(wanted)
        by_folded = {name.casefold(): name for name in schema.names}
        return [by_folded.get(name.casefold(), name) for name in wanted]

    def chunk(self, path: str, row: int, batch: Any) -> Chunk:
        """Return the rows of an Arrow batch; rows that do not fit the row type are bad records."""
        rows = NAMED_ROWS(self._select_columns(batch))
        if not isinstance(self.row_type, RowTypeInfo):
            return Chunk(rows)
        return self._to_declared_rows(path, row, rows, self.row_type)

    @property
    def has_columns(self) -> bool:
        # A declared type may convert the file's values, or reject some.
        return not isinstance(self.row_type, RowTypeInfo)

    def column_chunk(self, batch: Any) -> ColumnChunk:
        """Return an Arrow batch as columns of the same rows as ``chunk``."""
        return ColumnChunk(self._select_columns(batch), NAMED_ROWS)

    def _select_columns(self, batch: Any) -> Any:
        """Return the selected columns, under their declared names."""
        names, fold = self.columns or (), str if self.is_case_sensitive else str.casefold
        found = {fold(name): index for index, name in enumerate(batch.schema.names)}
        missing = [name for name in names if fold(name) not in found]
        if missing:
            raise pa.ArrowInvalid(f"the file has no column {missing[0]!r}")
        columns = [batch.columns[found[fold(name)]] for name in names]
        return pa.RecordBatch.from_arrays(columns, names=[*names])

    def _to_declared_rows(
        self, path: str, first: int, rows: list[Any], declared: RowTypeInfo
    ) -> Chunk:
        converts = [
            (index, convert)
            for index, convert in enumerate(map(from_arrow, declared.get_field_types()))
            if convert is not None
        ]
        coerce, chunk = declared.coercer() or (lambda row: row), Chunk([])
        for number, row in enumerate(rows, first):
            try:
                for index, convert in converts:
                    if row[index] is not None:
                        row[index] = convert(row[index])
                chunk.values.append(coerce(row))
            except (TypeMismatchError, *MISFITS) as error:
                reason = error.message if isinstance(error, TypeMismatchError) else str(error)
                bad = BadRecord(repr(row).encode(), reason, path, number)
                chunk.bad.append((len(chunk.values), bad))
        return chunk


def _corrupt(path: str, row: int, error: Exception) -> Chunk:
    return Chunk([], None, [(0, BadRecord(b"", f"the file is corrupt: {error}", path, row))])


def _unreadable_error(path: str, error: Exception) -> DecodeError:
    return DecodeError(f"{path!r} is no Parquet file: {error}", where={"file": path})
