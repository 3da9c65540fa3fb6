"""Writes a task's records to staged files, for the file sink."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import IO, Any, Protocol
from urllib.parse import quote

from headrace.common._storage.file_system import FileSystem
from headrace.common._storage.locations import file_system_of
from headrace.common.serialization import Encoder
from headrace.connector import ColumnChunk, SinkWriter, WriterContext
from headrace.datastream.connectors._files.committer import StagedFile
from headrace.datastream.connectors._files.rolling import BasePathBucketAssigner, BucketAssigner

MAX_OPEN_FILES = 128
"""A task with more folders than this completes the file that was not written to for longest."""


class RowEncoder(Protocol):
    """Encodes records one by one.

    It may also have ``encode_all(values) -> bytes``, for speed; ``head() -> bytes``, for the
    beginning of every file; and, if it ``takes_columns``, ``encode_columns(chunk) -> bytes`` for a
    ``ColumnChunk``.
    """

    def encode(self, value: Any) -> bytes:
        """Return the record's bytes, including the delimiter."""


class BulkWriter(Protocol):
    """Writes the records of one file.

    It may also have ``discard()``, called instead of ``finish`` if the file is not needed; and, if
    its factory has ``takes_columns``, ``write_columns(chunk)`` for a ``ColumnChunk``.
    """

    def write(self, values: Sequence[Any]) -> None:
        """Add records."""

    def finish(self) -> None:
        """Complete the file."""


@dataclass(frozen=True)
class StagingSettings:
    """Where a task stages files, and how it encodes records.

    Either ``encoder`` or ``writer_factory`` is set. ``head``: the beginning of each file.
    ``type_info``: the stream's type.
    """

    staging: str
    bucket_assigner: BucketAssigner
    encoder: Any = None
    writer_factory: Any = None
    head: bytes = b""
    type_info: Any = None


class FileWriter(SinkWriter):
    """Writes one task's records of one micro-batch into staged files, one or more per folder."""

    def __init__(
        self, form: StagingSettings, context: WriterContext, files: FileSystem | None = None
    ) -> None:
        self._form, self._context = form, context
        self._files = files or file_system_of(form.staging)
        self._one_bucket = isinstance(form.bucket_assigner, BasePathBucketAssigner)
        self._encode = None if form.encoder is None else encode_all(form.encoder, form.type_info)
        self._open: dict[str | None, _OpenFile] = {}
        self._complete: list[StagedFile] = []
        self._created: list[str] = []

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        if not values:
            return
        if self._one_bucket:
            self._get_open_file("").write(values)
            return
        bucket_of = self._form.bucket_assigner.get_bucket_id
        by_bucket: dict[str | None, list[Any]] = {}
        for value, timestamp in zip(values, timestamps, strict=True):
            by_bucket.setdefault(bucket_of(value, timestamp), []).append(value)
        for bucket, taken in by_bucket.items():
            self._get_open_file(bucket).write(taken)

    def write_columns(self, chunk: ColumnChunk) -> None:
        """Write records as columns; such a sink has only one folder."""
        if chunk.count:
            self._get_open_file("").write_columns(chunk)

    def prepare_commit(self) -> tuple[StagedFile, ...] | None:
        """Complete and sync all files; None when nothing was written."""
        for bucket in list(self._open):
            self._finish(bucket)
        return tuple(self._complete) or None

    def abort(self) -> None:
        """Remove all files."""
        for part in self._open.values():
            part.discard()
        self._open.clear()
        for path in self._created:
            self._files.remove(path)

    def _get_open_file(self, bucket: str | None) -> _OpenFile:
        part = self._open.pop(bucket, None)
        if part is None:
            if len(self._open) >= MAX_OPEN_FILES:
                self._finish(next(iter(self._open)))
            context, number = self._context, len(self._created)
            attempt = quote(context.attempt, safe="")
            name = f"{context.batch_id}-{context.partition}-{attempt}-{number}"
            path = os.path.join(self._form.staging, name)
            self._created.append(path)
            file = self._files.create(path)
            part = _OpenFile(name, number, file, self._writer_into(file))
        self._open[bucket] = part  # moved to the end: the first one is the least recently written
        return part

    def _writer_into(self, file: IO[bytes]) -> Any:
        """Return the ``BulkWriter`` of a new file."""
        if self._encode is None:
            return self._form.writer_factory.create(file)
        file.write(self._form.head)
        return _EncodedRecords(file, self._form.encoder, self._encode)

    def _finish(self, bucket: str | None) -> None:
        part = self._open[bucket]
        part.writer.finish()
        self._files.sync(part.file)
        size_bytes = part.file.tell()
        part.file.close()
        del self._open[bucket]
        context = self._context
        self._complete.append(
            StagedFile(
                part.name,
                bucket,
                size_bytes,
                part.records,
                context.batch_id,
                context.partition,
                part.number,
            )
        )


@dataclass
class _OpenFile:
    """``writer``: a ``BulkWriter``."""

    name: str
    number: int
    file: IO[bytes]
    writer: Any
    records: int = 0

    def write(self, values: Sequence[Any]) -> None:
        self.writer.write(values)
        self.records += len(values)

    def write_columns(self, chunk: ColumnChunk) -> None:
        self.writer.write_columns(chunk)
        self.records += chunk.count

    def discard(self) -> None:
        try:
            discard = getattr(self.writer, "discard", None)
            if discard is not None:
                discard()
        finally:
            self.file.close()


@dataclass
class _EncodedRecords:
    """Writes encoded records, one after the other."""

    file: IO[bytes]
    encoder: Any
    encode: Callable[[Sequence[Any]], bytes]

    def write(self, values: Sequence[Any]) -> None:
        self.file.write(self.encode(values))

    def write_columns(self, chunk: ColumnChunk) -> None:
        self.file.write(self.encoder.encode_columns(chunk))

    def finish(self) -> None:
        """Do nothing: each record is complete."""


def encode_all(encoder: Any, type_info: Any) -> Callable[[Sequence[Any]], bytes]:
    """Return a function from many records to their bytes."""
    many = getattr(encoder, "encode_all", None)
    if many is not None:
        found: Callable[[Sequence[Any]], bytes] = many
        return found
    if isinstance(encoder, Encoder):
        return lambda values: b"".join([encoder.encode(value, type_info) for value in values])
    one = encoder.encode
    return lambda values: b"".join([one(value) for value in values])
