"""Any Spark DataFrame, streaming or batch, as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.connector import ExecutedBy, Source, SplitEnumerator, SplitReader
from headrace.datastream.connectors.file_system import FileSource
from headrace.datastream.formats.parquet import ParquetColumnarRowInputFormat
from headrace.errors import JobError, PlanError


@dataclass(frozen=True, eq=False)
class DataFrameSource(Source):
    """The rows of a DataFrame. Spark itself reads them, so there are no splits and no readers.

    The DataFrame stays in the driver: in workers, it is None.
    """

    dataframe: Any
    ends: bool

    @property
    def kind(self) -> str:
        """What the source is."""
        # Spark tracks the progress of a streaming one; a batch is read from files.
        return "dataframe" if self.ends else "streaming dataframe"

    @property
    def executed_by(self) -> ExecutedBy:
        """Spark reads the rows."""
        return ExecutedBy.SPARK

    @property
    def bounded(self) -> bool:
        """True for a DataFrame that is not a streaming one."""
        return self.ends

    @property
    def name(self) -> str:
        return "DataFrame"

    def __getstate__(self) -> dict[str, Any]:
        return {"dataframe": None, "ends": self.ends}

    def parquet_source(self, schema: Any, path: str) -> Source:
        """Return a source that reads the rows from Parquet files that the caller has written.

        ``schema`` is pyarrow's.
        """
        files = FileSource.for_bulk_file_format(ParquetColumnarRowInputFormat(schema), path)
        return files.build()

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Never called: Spark reads the rows.

        Raises:
            JobError: always.
        """
        raise JobError("a DataFrame needs Spark: this runner has none")

    def reader(self) -> SplitReader:
        """Never called: Spark reads the rows.

        Raises:
            JobError: always.
        """
        raise JobError("a DataFrame needs Spark: this runner has none")


def from_dataframe(dataframe: Any) -> Source:
    """Return a source for ``env.from_source`` with the rows of a Spark DataFrame.

    Raises:
        PlanError: ``dataframe`` is not a Spark DataFrame.
    """
    is_streaming = getattr(dataframe, "isStreaming", None)
    if not isinstance(is_streaming, bool):
        raise PlanError(f"from_dataframe() takes a Spark DataFrame, not {dataframe!r:.100}")
    return DataFrameSource(dataframe, ends=not is_streaming)
