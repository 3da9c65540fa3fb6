"""The older name of the file sink, for programs that still use it."""

from __future__ import annotations

import warnings

from headrace.common.serialization import BulkWriterFactory
from headrace.common.time import TimeAmount
from headrace.datastream.connectors._files.rolling import (
    BucketAssigner,
    OutputFileConfig,
    RollingPolicy,
)
from headrace.datastream.connectors._files.sink import (
    BulkFormatBuilder,
    FileSink,
    RowFormatBuilder,
)
from headrace.datastream.connectors._files.writer import RowEncoder


class StreamingFileSink:
    """Builds file sinks; deprecated in Flink since 1.15, use ``FileSink``."""

    class BaseBuilder:
        """Builds a ``FileSink``."""

        def __init__(self, builder: RowFormatBuilder | BulkFormatBuilder) -> None:
            self._builder = builder

        def with_bucket_check_interval(self, interval: TimeAmount) -> StreamingFileSink.BaseBuilder:
            """Check the interval; it has no effect on Spark."""
            self._builder.with_bucket_check_interval(interval)
            return self

        def with_bucket_assigner(
            self, bucket_assigner: BucketAssigner
        ) -> StreamingFileSink.BaseBuilder:
            """Set the bucket assigner, which chooses the folder of each record."""
            self._builder.with_bucket_assigner(bucket_assigner)
            return self

        def with_rolling_policy(self, policy: RollingPolicy) -> StreamingFileSink.BaseBuilder:
            """Set the rolling policy, which decides when a file is complete."""
            self._builder.with_rolling_policy(policy)
            return self

        def with_output_file_config(
            self, output_file_config: OutputFileConfig
        ) -> StreamingFileSink.BaseBuilder:
            """Set the prefix and the suffix of file names."""
            self._builder.with_output_file_config(output_file_config)
            return self

        def build(self) -> FileSink:
            """Return a ``FileSink``."""
            warnings.warn(
                "StreamingFileSink is deprecated: use FileSink", DeprecationWarning, stacklevel=2
            )
            return self._builder.build()

    class DefaultRowFormatBuilder(BaseBuilder):
        """Builds a ``FileSink`` that writes record by record."""

    class DefaultBulkFormatBuilder(BaseBuilder):
        """Builds a ``FileSink`` for a bulk format."""

    @staticmethod
    def for_row_format(
        base_path: str, encoder: RowEncoder
    ) -> StreamingFileSink.DefaultRowFormatBuilder:
        """Build a sink that writes record by record."""
        return StreamingFileSink.DefaultRowFormatBuilder(
            FileSink.for_row_format(base_path, encoder)
        )

    @staticmethod
    def for_bulk_format(
        base_path: str, writer_factory: BulkWriterFactory
    ) -> StreamingFileSink.DefaultBulkFormatBuilder:
        """Build a sink for a bulk format."""
        return StreamingFileSink.DefaultBulkFormatBuilder(
            FileSink.for_bulk_format(base_path, writer_factory)
        )
