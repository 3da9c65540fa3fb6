"""File sources and sinks; all names that PyFlink has at this path can be imported from here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from headrace._lazy_exports import lazy_exports
from headrace.common._storage.file_system import ListedFile
from headrace.common._storage.locations import absolute, location_of
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import (
    Chunk,
    ColumnChunk,
    Source,
    SplitEnumerator,
    SplitRange,
    SplitReader,
)
from headrace.datastream.connectors._files.enumerator import (
    FilePlanner,
    MonitoredFolder,
    StaticFiles,
    vanished,
)
from headrace.datastream.connectors._files.rolling import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from headrace.datastream.connectors._files.sink import (
    BulkFormatBuilder,
    FileSink,
    RowFormatBuilder,
)
from headrace.datastream.connectors._files.streaming import StreamingFileSink
from headrace.datastream.formats._file_format import BulkFormat, FileFormat
from headrace.datastream.formats._lines import StreamFormat
from headrace.errors import DecodeError, PlanError

__all__ = [
    "BucketAssigner",
    "BulkFormat",
    "BulkFormatBuilder",
    "DefaultRollingPolicy",
    "FileCompactStrategy",
    "FileCompactor",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "OnCheckpointRollingPolicy",
    "OutputFileConfig",
    "RollingPolicy",
    "RowFormatBuilder",
    "StreamFormat",
    "StreamingFileSink",
]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)

_DEFAULT_RANGE_BYTES = 8 * 1024 * 1024
_RAW_SHOWN_BYTES = 200


class FileEnumeratorProvider(Enum):
    """Whether large files are split between tasks, if the format allows it."""

    SPLITTABLE = "splittable"
    NON_SPLITTABLE = "non-splittable"

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Split large files, so that several tasks read them."""
        return FileEnumeratorProvider.SPLITTABLE

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Do not split files: one task reads a file in a micro-batch."""
        return FileEnumeratorProvider.NON_SPLITTABLE


class FileSplitAssignerProvider(Enum):
    """Which task reads which file; it has no effect: Spark decides."""

    LOCALITY_AWARE = "locality-aware"

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """Return the default assigner; it has no effect, because Spark decides the locality."""
        return FileSplitAssignerProvider.LOCALITY_AWARE


@dataclass(frozen=True)
class FileSource(Source):
    """Reads records from files, each once and as it was when it was listed.

    A static set of files: each file is a split, and all are read in parallel. With a discovery
    interval: there is one split, to which new files are added by their modification time.
    """

    format: FileFormat
    paths: tuple[str, ...]
    discovery_interval_ms: int | None = None
    error_tag: Any = None
    max_range_bytes: int | None = _DEFAULT_RANGE_BYTES

    @property
    def kind(self) -> str:
        """``files``; with a discovery interval, ``watched-folder``, which has other positions."""
        return "files" if self.discovery_interval_ms is None else "watched-folder"

    @property
    def locator(self) -> str:
        """The paths."""
        return ", ".join(self.paths)

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Build a source of lines. Paths are files, folders (recursively) or glob patterns."""
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: BulkFormat, *paths: str) -> FileSourceBuilder:
        """Build a source of rows. Paths are files, folders (recursively) or glob patterns."""
        return FileSourceBuilder(bulk_format, paths)

    @property
    def bounded(self) -> bool:
        """True without a discovery interval: the set of files is static."""
        return self.discovery_interval_ms is None

    @property
    def record_type(self) -> Any | None:
        """The type of the records, if the format declares it; otherwise None."""
        return self.format.record_type

    @property
    def bad_record_tag(self) -> Any | None:
        """The tag for records that cannot be decoded, or None."""
        return self.error_tag

    def takes(self, file: ListedFile) -> bool:
        """Return whether a file that is found is read."""
        return True

    def absolute(self) -> FileSource:
        """Return a copy with absolute paths, because tasks may have another working directory."""
        return replace(self, paths=tuple(map(absolute, self.paths)))

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return a new enumerator; a watched folder's file list is stored in ``directory``."""
        planner = FilePlanner(
            self.format,
            self.max_range_bytes,
            absolute_paths=all(absolute(path) == path for path in self.paths),
            takes=self.takes,
        )
        if self.discovery_interval_ms is None:
            return StaticFiles(self.paths, planner)
        return MonitoredFolder(
            self.paths, planner, location_of(directory), self.discovery_interval_ms
        )

    def reader(self) -> SplitReader:
        return _FileReader(self.format, self.error_tag is not None)


_WITH_SPARK = "let Spark read them: headrace.from_dataframe(spark.read...)"


class FileSourceBuilder:
    """Builds a ``FileSource``."""

    def __init__(self, file_format: FileFormat, paths: tuple[str, ...]) -> None:
        if not isinstance(file_format, FileFormat):
            raise PlanError(
                f"{file_format!r} is no file format",
                hint="pass StreamFormat.text_line_format(), CsvReaderFormat.for_schema(…), …",
            )
        if not paths:
            raise PlanError("a file source needs at least one path")
        located = (location_of(path, otherwise=_WITH_SPARK) for path in paths)
        self._source = FileSource(file_format, tuple(located))

    def monitor_continuously(self, discovery_interval: TimeAmount) -> FileSourceBuilder:
        """Look for new files at this interval; the source is unbounded.

        Files must be complete when they appear: moved into the folder, or written under a hidden
        name, or one that ends in .tmp, .part or ._COPYING_, and then renamed.
        """
        interval_ms = milliseconds_of(discovery_interval, "the discovery interval", at_least=1)
        return self._set(discovery_interval_ms=interval_ms)

    def process_static_file_set(self) -> FileSourceBuilder:
        """Read only the files that exist when the job starts (the default): a bounded source."""
        return self._set(discovery_interval_ms=None)

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Set whether large files are split between tasks."""
        if file_enumerator is FileEnumeratorProvider.NON_SPLITTABLE:
            return self._set(max_range_bytes=None)
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Do nothing: Spark decides which task reads a file."""
        return self

    def set_max_range_bytes(self, max_range_bytes: int) -> FileSourceBuilder:
        """Set the size in bytes at which a file is split between tasks (default 8 MiB)."""
        if max_range_bytes < 1:
            raise PlanError(f"ranges of {max_range_bytes} bytes: it must be at least 1")
        return self._set(max_range_bytes=max_range_bytes)

    def on_error(self, tag: Any) -> FileSourceBuilder:
        """Send records that cannot be decoded to this ``OutputTag``, as ``BadRecord`` values.

        With None (the default), the job fails at the first such record.
        """
        return self._set(error_tag=tag)

    def build(self) -> FileSource:
        """Return the source."""
        return self._source

    def _set(self, **changes: Any) -> FileSourceBuilder:
        self._source = replace(self._source, **changes)
        return self


@dataclass
class _FileReader(SplitReader):
    """Reads ranges of files in one format."""

    format: FileFormat
    tagged: bool
    _opened: FileFormat | None = field(default=None, init=False, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_opened": None}

    @property
    def _files(self) -> FileFormat:
        if self._opened is None:
            self._opened = self.format.for_reader()
        return self._opened

    def close(self) -> None:
        """Close the files that are open."""
        if self._opened is not None:
            self._opened.close()

    def read(self, split_range: SplitRange) -> Iterator[Chunk]:
        """Yield the records that start in the range.

        Raises:
            DecodeError: a record cannot be decoded, and the source has no tag for bad records.
            JobError: the file does not exist any more.
        """
        path, start, end, extent = split_range.payload
        try:
            for chunk in self._files.read(path, start, end, extent):
                if chunk.bad and not self.tagged:
                    raise _undecodable_error(path, chunk, self.format.bad_record_hint)
                yield chunk
        except FileNotFoundError:
            raise vanished(path) from None

    def read_columns(self, split_range: SplitRange) -> Iterator[Chunk | ColumnChunk] | None:
        """Return the same as columns, where the format has them.

        Raises:
            DecodeError, JobError: as ``read`` does.
        """
        found = self._files.read_columns(*split_range.payload)
        return None if found is None else self._check_chunks(split_range.payload[0], found)

    @property
    def has_columns(self) -> bool:
        """Whether the format has columns."""
        return self.format.has_columns

    def _check_chunks(
        self, path: str, chunks: Iterator[Chunk | ColumnChunk]
    ) -> Iterator[Chunk | ColumnChunk]:
        """Yield the chunks; raise DecodeError for a bad record if the source has no tag for these.

        Raises:
            JobError: the file does not exist any more.
        """
        try:
            for chunk in chunks:
                if isinstance(chunk, Chunk) and chunk.bad and not self.tagged:
                    raise _undecodable_error(path, chunk, self.format.bad_record_hint)
                yield chunk
        except FileNotFoundError:
            raise vanished(path) from None


def _undecodable_error(path: str, chunk: Chunk, hint: str | None) -> DecodeError:
    bad = chunk.bad[0][1]
    raw = repr(bad.raw[:_RAW_SHOWN_BYTES]) + ("…" if len(bad.raw) > _RAW_SHOWN_BYTES else "")
    return DecodeError(
        f"a record of {path!r} cannot be decoded: {bad.reason}",
        where={"file": path, "position": str(bad.position), "record": raw},
        hint=hint,
    )
