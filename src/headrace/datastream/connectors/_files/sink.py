"""``FileSink`` and its builders: writes records to files, exactly once."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import quote

from headrace.common._storage.locations import absolute, file_system_of, location_of
from headrace.common.serialization import BulkWriterFactory
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import (
    CommitterContext,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.connectors._files.committer import FileCommitter
from headrace.datastream.connectors._files.rolling import (
    BasePathBucketAssigner,
    BucketAssigner,
    DefaultRollingPolicy,
    FileCompactor,
    FileCompactStrategy,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from headrace.datastream.connectors._files.writer import FileWriter, RowEncoder, StagingSettings
from headrace.errors import PlanError, UnsupportedError

STAGING = ".headrace-staging"

_WITH_SPARK = "let Spark write them: sink_to(DataFrameSink(path=...))"
_NO_LIMIT_BYTES = 1 << 62
_SCOPE_DIGITS = 10
CHECK_INTERVAL_MS = 60_000


@dataclass(frozen=True)
class FileSink(Sink):
    """Writes records to files below a base path; files become visible when they are committed.

    Names are ``<prefix>-<scope>-<micro-batch>-<task>-<number><suffix>``, or
    ``<prefix>-<scope>-<number><suffix>`` if files are rolled over several micro-batches. ``scope``
    identifies this sink and its checkpoint. Existing files are never replaced. A hidden folder in
    the base path contains files that are not yet published. ``type_info`` is the type of the
    stream; the string encoder uses it to format records as Flink does.
    """

    base_path: str
    encoder: Any = None
    writer_factory: Any = None
    bucket_assigner: BucketAssigner = field(default_factory=BasePathBucketAssigner)
    rolling_policy: RollingPolicy = field(default_factory=OnCheckpointRollingPolicy)
    output_file_config: OutputFileConfig = field(default_factory=OutputFileConfig)
    compaction_delimiter: bytes = b""
    type_info: Any = None

    @property
    def kind(self) -> str:
        return "files"

    @property
    def locator(self) -> str:
        """The base path."""
        return self.base_path

    @property
    def keeps_state(self) -> bool:
        """Return True: incomplete files are not yet published."""
        return True

    @property
    def commit_interval_ms(self) -> int | None:
        """Return how often (ms) to check for files that are complete by age or after a pause."""
        policy = self.rolling_policy
        if not isinstance(policy, DefaultRollingPolicy):
            return None
        known = (policy.rollover_interval_ms, policy.inactivity_interval_ms)
        given = [interval_ms for interval_ms in known if interval_ms is not None]
        return max(min(*given, CHECK_INTERVAL_MS), 1) if given else None

    @property
    def takes_columns(self) -> bool:
        """Return True if the format can write columns, and all records go to one folder."""
        one_folder = type(self.bucket_assigner) is BasePathBucketAssigner
        written_by = self.encoder if self.writer_factory is None else self.writer_factory
        return one_folder and bool(getattr(written_by, "takes_columns", False))

    @staticmethod
    def for_row_format(base_path: str, encoder: RowEncoder) -> RowFormatBuilder:
        """Build a sink that writes record by record.

        Encoders are ``Encoder``, ``JsonLinesEncoder`` and ``CsvEncoder``. The default policy is
        ``RollingPolicy.default_rolling_policy()``.
        """
        if isinstance(encoder, str) or not callable(getattr(encoder, "encode", None)):
            raise PlanError(
                f"{encoder!r} is no encoder", hint="pass Encoder.simple_string_encoder(), say"
            )
        policy = RollingPolicy.default_rolling_policy()
        return RowFormatBuilder(
            FileSink(location_of(base_path, otherwise=_WITH_SPARK), encoder, rolling_policy=policy)
        )

    @staticmethod
    def for_bulk_format(base_path: str, writer_factory: BulkWriterFactory) -> BulkFormatBuilder:
        """Build a sink for bulk formats (Parquet, ORC, Avro, CSV).

        Each micro-batch completes its files.
        """
        if not callable(getattr(writer_factory, "create", None)):
            raise PlanError(
                f"{writer_factory!r} makes no writers",
                hint="pass ParquetBulkWriters.for_row_type(…), say",
            )
        return BulkFormatBuilder(
            FileSink(location_of(base_path, otherwise=_WITH_SPARK), None, writer_factory)
        )

    def with_type_info(self, type_info: Any) -> FileSink:
        """Return the same sink for a stream of this type."""
        return replace(self, type_info=type_info)

    def absolute(self) -> FileSink:
        """Return a copy with an absolute path, because tasks may have another working directory."""
        return replace(self, base_path=absolute(self.base_path))

    def writer(self, context: WriterContext) -> SinkWriter:
        return FileWriter(self.staged(context.sink_id), context)

    def staged(self, sink_id: str) -> StagingSettings:
        """Return the settings with which tasks write files that are not yet visible."""
        return StagingSettings(
            self.staging(sink_id),
            self.bucket_assigner,
            self.encoder,
            self.writer_factory,
            self.head if self.writes_head else b"",
            self.type_info,
        )

    def last_batch(self, context: CommitterContext) -> int:
        return self.committer(context).last_batch

    def committer(self, context: CommitterContext) -> FileCommitter:
        return FileCommitter(
            self.base_path,
            self.staging(context.sink_id),
            self._committer_rolling_policy(),
            self.bucket_assigner,
            self.output_file_config,
            hashlib.sha256(context.sink_id.encode()).hexdigest()[:_SCOPE_DIGITS],
            self.head,
            self.compaction_delimiter,
            file_system_of(self.base_path),
        )

    def staging(self, sink_id: str) -> str:
        """Return the folder for files that are not yet visible."""
        return os.path.join(self.base_path, STAGING, quote(sink_id, safe=""))

    @property
    def head(self) -> bytes:
        """The bytes at the beginning of each file, such as a CSV header."""
        make = getattr(self.encoder, "head", None)
        return make() if make is not None else b""

    @property
    def writes_head(self) -> bool:
        """True if tasks write the head, because their files are published unchanged."""
        return self._committer_rolling_policy() is None

    def _committer_rolling_policy(self) -> DefaultRollingPolicy | None:
        policy = self.rolling_policy
        return policy if isinstance(policy, DefaultRollingPolicy) else None


class _FileSinkBuilder:
    def __init__(self, sink: FileSink) -> None:
        self._sink = sink
        self._compaction: tuple[FileCompactStrategy, FileCompactor] | None = None

    def _check_interval(self, interval: TimeAmount) -> None:
        # The ages of files are checked with every micro-batch, which is at least as often.
        """Raise PlanError if the interval is shorter than 1 ms."""
        milliseconds_of(interval, "the bucket check interval", at_least=1)


class RowFormatBuilder(_FileSinkBuilder):
    """Builds a ``FileSink`` that writes record by record."""

    def with_bucket_check_interval(self, interval: TimeAmount) -> RowFormatBuilder:
        """Check the interval; it has no effect on Spark: micro-batches check the age of files."""
        self._check_interval(interval)
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> RowFormatBuilder:
        """Set the bucket assigner, which chooses the folder of each record."""
        self._sink = replace(self._sink, bucket_assigner=bucket_assigner)
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> RowFormatBuilder:
        """Set the rolling policy, which decides when a file is complete."""
        self._sink = replace(self._sink, rolling_policy=rolling_policy)
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> RowFormatBuilder:
        """Set the prefix and the suffix of file names."""
        self._sink = replace(self._sink, output_file_config=output_file_config)
        return self

    def enable_compact(
        self, strategy: FileCompactStrategy, compactor: FileCompactor
    ) -> RowFormatBuilder:
        """Merge small files before they are published; replaces the rolling policy."""
        self._compaction = (strategy, compactor)
        return self

    def disable_compact(self) -> RowFormatBuilder:
        """Publish files by the rolling policy, without merging."""
        self._compaction = None
        return self

    def build(self) -> FileSink:
        """Return the sink.

        Raises:
            PlanError: files with a header are to be merged with a delimiter.
        """
        if self._compaction is None or not self._compaction[1].concatenates:
            return self._sink
        strategy, compactor = self._compaction
        if compactor.delimiter and self._sink.head:
            raise PlanError("files with a header cannot be concatenated with a delimiter")
        rolling = DefaultRollingPolicy(
            strategy.size_threshold_bytes or _NO_LIMIT_BYTES, batches=strategy.batches
        )
        return replace(self._sink, rolling_policy=rolling, compaction_delimiter=compactor.delimiter)


class BulkFormatBuilder(_FileSinkBuilder):
    """Builds a ``FileSink`` for a bulk format."""

    def with_bucket_check_interval(self, interval: TimeAmount) -> BulkFormatBuilder:
        """Check the interval; it has no effect on Spark: each micro-batch completes its files."""
        self._check_interval(interval)
        return self

    def with_bucket_assigner(self, bucket_assigner: BucketAssigner) -> BulkFormatBuilder:
        """Set the bucket assigner, which chooses the folder of each record."""
        self._sink = replace(self._sink, bucket_assigner=bucket_assigner)
        return self

    def with_rolling_policy(self, rolling_policy: RollingPolicy) -> BulkFormatBuilder:
        """Accept only ``on_checkpoint_rolling_policy()``, as in Flink.

        Raises:
            PlanError: the argument is another rolling policy.
        """
        if not isinstance(rolling_policy, OnCheckpointRollingPolicy):
            raise PlanError(
                "files of a bulk format cannot stay open over several micro-batches",
                hint="use RollingPolicy.on_checkpoint_rolling_policy()",
            )
        return self

    def with_output_file_config(self, output_file_config: OutputFileConfig) -> BulkFormatBuilder:
        """Set the prefix and the suffix of file names."""
        self._sink = replace(self._sink, output_file_config=output_file_config)
        return self

    def enable_compact(
        self, strategy: FileCompactStrategy, compactor: FileCompactor
    ) -> BulkFormatBuilder:
        """Accept only the identical compactor, which does nothing.

        Raises:
            UnsupportedError: the compactor concatenates files, which bulk formats do not allow.
        """
        if compactor.concatenates:
            raise UnsupportedError(
                "files of a bulk format cannot be concatenated",
                hint="write larger micro-batches, or compact with another job",
            )
        return self

    def disable_compact(self) -> BulkFormatBuilder:
        """Do nothing: files of a bulk format are never merged."""
        return self

    def build(self) -> FileSink:
        """Return the sink."""
        return self._sink
