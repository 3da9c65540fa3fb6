"""Tables in files: csv, json, parquet, avro; also partitioned by folders."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from headrace.common._options.values import ValueKind
from headrace.common._storage.file_system import ListedFile
from headrace.common._storage.locations import location_of
from headrace.common.changelog_mode import ChangelogMode
from headrace.datastream.connectors._files.rolling import (
    BasePathBucketAssigner,
    BucketAssigner,
    DefaultRollingPolicy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
)
from headrace.datastream.connectors.file_system import FileSource
from headrace.errors import SqlValidationError
from headrace.table._connectors.connector import Connector, TableRequest, TableSink, TableSource
from headrace.table._connectors.filesystem.encoding import PartitionFolders, TableLineEncoder
from headrace.table._connectors.filesystem.file_columns import (
    FileColumns,
    check_metadata,
    check_partition_keys,
)
from headrace.table._connectors.filesystem.lines import CompletedFiles, TableLines
from headrace.table._connectors.filesystem.overwrite import TableFileSink, overwriting
from headrace.table._formats.format import BulkTableFormat, TableFormat
from headrace.table._formats.parquet import ParquetFiles, ParquetTableFormat
from headrace.table._formats.registry import find_format, format_options, make_format
from headrace.table._options import TableOption, read_options

_PATH = TableOption("path", required=True)
_FORMAT = TableOption("format", required=True)
_MONITOR = TableOption("source.monitor-interval", ValueKind.DURATION)
_STATISTICS = TableOption(
    "source.report-statistics", ValueKind.CHOICE, "ALL", choices=("ALL", "NONE")
)
_DEFAULT_PARTITION = TableOption("partition.default-name", default="__DEFAULT_PARTITION__")
_ROLLING_SIZE = TableOption("sink.rolling-policy.file-size", ValueKind.MEMORY, 128 << 20)
_ROLLING_AGE = TableOption("sink.rolling-policy.rollover-interval", ValueKind.DURATION, 30 * 60_000)
_ROLLING_CHECK = TableOption("sink.rolling-policy.check-interval", ValueKind.DURATION, 60_000)
_ROLLING_IDLE = TableOption(
    "sink.rolling-policy.inactivity-interval", ValueKind.DURATION, 30 * 60_000
)
_SHUFFLE = TableOption("sink.shuffle-by-partition.enable", ValueKind.BOOLEAN, False)
_PARALLELISM = TableOption("sink.parallelism", ValueKind.INT)
_OPTIONS = (
    _PATH,
    _FORMAT,
    _MONITOR,
    _STATISTICS,
    _DEFAULT_PARTITION,
    _ROLLING_SIZE,
    _ROLLING_AGE,
    _ROLLING_CHECK,
    _ROLLING_IDLE,
    _SHUFFLE,
    _PARALLELISM,
)

_UNSUPPORTED = (
    "auto-compaction",
    "compaction.",
    "partition.time-extractor.",
    "sink.partition-commit.",
    "source.path.regex-pattern",
)


class FilesystemConnector(Connector):
    """Tables in the files of a folder."""

    identifier = "filesystem"
    overwrites = True

    def source(self, request: TableRequest) -> TableSource:
        """Return a source of all files below the path, or of new files as well."""
        table = _FileTable.of(request)
        check_metadata(request)
        source = TableFileSource(
            table.reader,
            (location_of(table.options["path"]),),
            discovery_interval_ms=table.options["source.monitor-interval"],
            mode=table.format.gives,
        )
        read = source.absolute()
        encoded = table.reader_with_dictionaries
        return TableSource(
            read,
            table.format.gives,
            with_dictionaries=None if encoded is None else replace(read, format=encoded),
            projects=True,
            columns_of_files=table.extra.columns_of_files,
        )

    def sink(self, request: TableRequest) -> TableSink:
        """Return a sink that writes files, exactly once."""
        table = _FileTable.of(request)
        options, folders = table.options, table.folders
        if request.overwrite and not request.batch:
            raise SqlValidationError(
                f"table {request.name!r} is not overwritten in streaming mode, only in a batch"
            )
        rolling = DefaultRollingPolicy(
            options["sink.rolling-policy.file-size"],
            options["sink.rolling-policy.rollover-interval"],
            options["sink.rolling-policy.inactivity-interval"],
        )
        bulk = isinstance(table.format, BulkTableFormat)
        sink = TableFileSink(
            location_of(options["path"]),
            None if bulk else TableLineEncoder(table.format, table.kept),
            table.format.writer_factory() if isinstance(table.format, BulkTableFormat) else None,
            bucket_assigner=folders,
            rolling_policy=OnCheckpointRollingPolicy() if request.batch or bulk else rolling,
            output_file_config=OutputFileConfig("part", ""),
            mode=table.format.accepts,
        )
        if request.overwrite:
            # Of a partitioned table only the partitions that get rows are replaced, as in Flink.
            sink = overwriting(sink, by_folder=bool(request.partition_keys))
        return TableSink(sink.absolute())


@dataclass(frozen=True)
class TableFileSource(FileSource):
    """Files of a table."""

    format: TableLines | CompletedFiles
    mode: ChangelogMode = field(default_factory=ChangelogMode.insert_only)

    @property
    def gives(self) -> ChangelogMode | None:
        return self.mode

    def takes(self, file: ListedFile) -> bool:
        return self.format.extra.takes(file)


@dataclass(frozen=True)
class _FileTable:
    """A table's options, its format, and which of its columns are in the files."""

    request: TableRequest
    options: dict[str, Any]
    format: TableFormat
    extra: FileColumns

    @staticmethod
    def of(request: TableRequest) -> _FileTable:
        """Return what a request means.

        Raises:
            SqlValidationError: an option is unknown, missing or wrong.
        """
        kind = find_format(request.options.get("format"), request.name, request.options, "files")
        declared = (*_OPTIONS, *format_options(kind))
        options = read_options(request.name, request.options, declared, unsupported=_UNSUPPORTED)
        check_partition_keys(request)
        extra = FileColumns(
            request.columns,
            request.metadata,
            request.partition_keys,
            options["partition.default-name"],
            request.projection,
            request.files_where,
            request.time_zone,
        )
        made = make_format(kind, request.name, extra.in_files, options)
        if request.projection is not None:
            made = made.of_columns(extra.decoded)
        return _FileTable(request, options, made, extra)

    @property
    def reader(self) -> TableLines | CompletedFiles:
        """What reads the files."""
        if isinstance(self.format, BulkTableFormat):
            return CompletedFiles(self.format.file_format(), self.extra)
        return TableLines(self.format, self.extra)

    @property
    def reader_with_dictionaries(self) -> CompletedFiles | None:
        """The reader that keeps the dictionaries of the files; None: the format has none."""
        if not isinstance(self.format, ParquetTableFormat):
            return None
        return CompletedFiles(ParquetFiles(self.format, dictionaries=True), self.extra)

    @property
    def kept(self) -> tuple[int, ...]:
        """The positions of the columns that are written to files."""
        names = {column.name for column in self.extra.in_files}
        return tuple(
            place for place, column in enumerate(self.request.columns) if column.name in names
        )

    @property
    def folders(self) -> BucketAssigner:
        """The folder of each row."""
        if not self.request.partition_keys:
            return BasePathBucketAssigner()
        names = [column.name for column in self.request.columns]
        keys = self.request.partition_keys
        places = tuple(map(names.index, keys))
        types = tuple(self.request.columns[place].type for place in places)
        return PartitionFolders(keys, places, types, self.options["partition.default-name"])
