"""A Parquet file that is hashed while it is written."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.common._storage.locations import file_system_of


@dataclass(frozen=True)
class WrittenFile:
    """What was written: rows, bytes, and their SHA-256 in hex."""

    rows: int
    size_bytes: int
    sha256: str


class HashedParquet:
    """A new Parquet file, created with its first batch."""

    def __init__(self, path: str, schema: pa.Schema) -> None:
        self._path, self._schema = path, schema
        self._files = file_system_of(path)
        self._out: _CountingFile | None = None
        self._writer: pq.ParquetWriter | None = None
        self._rows = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Write a batch, as a row group of its own."""
        if self._writer is None:
            self._out = _CountingFile(self._files.create(self._path))
            self._writer = pq.ParquetWriter(
                self._out,
                self._schema,
                compression="zstd",
                compression_level=1,
                write_page_checksum=True,
            )
        self._writer.write_batch(batch)
        self._rows += batch.num_rows

    def close(self) -> WrittenFile | None:
        """Store the file durably, and return what was written; None if no batch was."""
        if self._writer is None or self._out is None:
            return None
        self._writer.close()
        self._files.sync(self._out.out)
        self._out.out.close()
        return WrittenFile(self._rows, self._out.size_bytes, self._out.sha256)

    def abort(self) -> None:
        """Close the file without storing it."""
        if self._out is not None:
            self._out.out.close()


class _CountingFile:
    """What Parquet is written to: hashes and counts the bytes on their way into a file."""

    def __init__(self, out: IO[bytes]) -> None:
        self.out = out
        self._hash = hashlib.sha256()
        self.size_bytes = 0
        self.closed = False

    @property
    def sha256(self) -> str:
        """The hash of what was written, in hex."""
        return self._hash.hexdigest()

    def write(self, data: bytes) -> int:
        """Write to the file."""
        view = memoryview(data)
        self._hash.update(view)
        self.out.write(view)
        self.size_bytes += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        """Return the number of bytes so far."""
        return self.size_bytes

    def flush(self) -> None:
        """Do nothing: the file is stored by ``HashedParquet.close``."""

    def close(self) -> None:
        """Do nothing."""


def sha256_of(path: str, block_bytes: int = 4 << 20) -> str | None:
    """Return the SHA-256 of a file, in hex; None if it does not exist."""
    files = file_system_of(path)
    if not files.exists(path):
        return None
    found = hashlib.sha256()
    with files.open(path) as content:
        while block := content.read(block_bytes):
            found.update(block)
    return found.hexdigest()
