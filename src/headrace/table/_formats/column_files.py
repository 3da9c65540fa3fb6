"""Files whose records are read as columns of a table."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence

from headrace.connector import Chunk, ColumnChunk
from headrace.datastream.formats._file_format import FileFormat, FileStats
from headrace.runtime.columns.shapes import NAMED_ROWS


class ColumnFiles(FileFormat):
    """Measures and cuts files as another format does, and makes rows of columns."""

    @property
    @abstractmethod
    def _files(self) -> FileFormat:
        """The format that knows the files."""

    @abstractmethod
    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk]:
        """Yield the records as columns of the table, and what cannot be decoded as a ``Chunk``."""

    def measure(self, path: str, extent: int | None = None) -> FileStats:
        return self._files.measure(path, extent)

    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        return self._files.cuts(path, start, end, max_range_bytes)

    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        for chunk in self.read_columns(path, start, end, extent):
            if isinstance(chunk, Chunk):
                yield chunk
            else:
                yield Chunk(NAMED_ROWS(chunk.batch))
