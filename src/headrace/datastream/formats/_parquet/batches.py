"""The Arrow batches of Parquet files; files stay open between ranges that follow each other.

A row group can only be decoded from its first row on. A range that begins where the last one ended,
as that of the next micro-batch does, goes on with what that one has decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from typing import Any

import pyarrow.parquet as pq

from headrace.common._storage.locations import open_file

MAX_OPEN_FILES = 8
"""So many files of one reader stay open; beyond these the one that waits longest is closed."""

_PLAIN_TEXT_BYTES = 4
"""A text that is not in a dictionary takes more bytes than these, which have its length."""


class BatchReader:
    """Reads ranges of rows as Arrow batches.

    ``names_of``: the columns to read, by a file's Arrow schema. ``dictionaries``: texts that have a
    dictionary in the file keep it.
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
        """Open files by path, and by the row at which they go on."""

    def read(self, path: str, start: int, end: int) -> Iterator[Any]:
        """Yield the rows of a range."""
        file = self._waiting.pop((path, start), None)
        if file is None:
            file = _OpenFile(path, start, self._names_of, self._batch_size, self._dictionaries)
        try:
            yield from file.until(end)
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
        """What is decoded of the rows from ``row`` on."""

    @property
    def is_at_end(self) -> bool:
        """Whether no row is left."""
        return self.row >= self._rows

    def until(self, end: int) -> Iterator[Any]:
        """Yield the rows up to one."""
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
    """Yield the rows of a file from one on."""
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
    """Return the columns of texts that have dictionaries in a file, for nearly all of their rows.

    Where many rows have none, to make a dictionary for them would cost more than it saves.
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
