"""Read Parquet files as Arrow batches. A file stays open between consecutive ranges.

A row group can only be decoded from its first row. If a range begins where the last one ended, as
in the next micro-batch, the reader continues to decode there.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.common._storage.locations import open_file

MAX_OPEN_FILES = 8
"""How many files of one reader stay open; then the least recently used one is closed."""

_PLAIN_TEXT_BYTES = 4
"""The bytes for the length of a text that is not in a dictionary; the text follows."""


class BatchReader:
    """Reads ranges of rows as Arrow batches.

    ``names_of``: the columns to read, by a file's Arrow schema. ``dictionaries``: columns of texts
    keep the dictionary that they have in the file.
    """

    def __init__(
        self,
        names_of: Callable[[Any], list[str]],
        batch_size: int,
        dictionaries: bool = False,
        max_open_files: int = MAX_OPEN_FILES,
    ) -> None:
        self._names_of, self._batch_size, self._dictionaries = names_of, batch_size, dictionaries
        self._max_open_files = max_open_files
        self._waiting: dict[tuple[str, int], _OpenFile] = {}
        """Open files by path and next row."""

    def read(self, path: str, start: int, end: int) -> Iterator[Any]:
        """Yield the rows of a range."""
        file = self._waiting.pop((path, start), None)
        if file is None:
            file = _OpenFile(path, start, self._names_of, self._batch_size, self._dictionaries)
        try:
            yield from file.until(end)
            if file.row < end:
                raise pa.ArrowInvalid(
                    f"it has {file.row} rows, and had at least {end} when it was listed"
                )
        except BaseException:
            file.close()
            raise
        if file.is_at_end:
            file.close()
        else:
            before = self._waiting.pop((path, file.row), None)
            if before is not None:
                before.close()
            self._waiting[path, file.row] = file
        self._close_all_but(self._max_open_files)

    def close(self) -> None:
        """Close the files that are open."""
        self._close_all_but(0)

    def _close_all_but(self, count: int) -> None:
        while len(self._waiting) > count:
            self._waiting.pop(next(iter(self._waiting))).close()


class _OpenFile:
    """A file, and the next row to read."""

    def __init__(
        self,
        path: str,
        row: int,
        names_of: Callable[[Any], list[str]],
        batch_size: int,
        dictionaries: bool,
    ) -> None:
        self._file = open_file(path)
        try:
            made = pq.ParquetFile(self._file)
            names = names_of(made.schema_arrow)
            encoded = _dictionary_columns(made, names) if dictionaries else []
            if encoded:
                made = pq.ParquetFile(self._file, read_dictionary=encoded, metadata=made.metadata)
        except BaseException:
            self._file.close()
            raise
        self.row = row
        self._rows: int = made.metadata.num_rows
        self._batches = _batches(made, row, names, batch_size)
        self._rest: Any = None
        """Decoded rows, from ``row`` on."""

    @property
    def is_at_end(self) -> bool:
        """Whether no row is left."""
        return self.row >= self._rows

    def until(self, end: int) -> Iterator[Any]:
        """Yield the rows before ``end``."""
        while self.row < end:
            batch = next(self._batches, None) if self._rest is None else self._rest
            if batch is None:
                return
            count = min(batch.num_rows, end - self.row)
            self.row += count
            self._rest = batch.slice(count) if count < batch.num_rows else None
            yield batch.slice(0, count)

    def close(self) -> None:
        self._batches.close()
        self._file.close()


def _batches(
    file: Any, start: int, names: list[str], batch_size: int
) -> Generator[Any, None, None]:
    """Yield the rows of a file from ``start`` on."""
    first = 0
    for group in range(file.metadata.num_row_groups):
        rows = file.metadata.row_group(group).num_rows
        if first + rows > start:
            at = first
            for batch in file.iter_batches(batch_size, [group], names):
                before = max(start - at, 0)
                if before < batch.num_rows:
                    yield batch.slice(before)
                at += batch.num_rows
        first += rows


def _dictionary_columns(file: Any, names: list[str]) -> list[str]:
    """Return the columns of texts that have dictionaries in a file, for nearly all rows.

    For other columns a dictionary costs more than it saves.
    """
    import pyarrow as pa

    metadata = file.metadata
    texts = {field.name for field in file.schema_arrow if pa.types.is_string(field.type)}
    found = []
    for index in range(metadata.num_columns if metadata.num_row_groups else 0):
        chunk = metadata.row_group(0).column(index)
        name = chunk.path_in_schema
        small = chunk.total_uncompressed_size < _PLAIN_TEXT_BYTES * metadata.row_group(0).num_rows
        if name in texts and name in names and chunk.has_dictionary_page and small:
            found.append(name)
    return found
