"""A sink that uses a Spark writer: any format of Spark, also Delta and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headrace.common.typeinfo import RowTypeInfo
from headrace.connector import (
    Committer,
    CommitterContext,
    ExecutedBy,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.datastream.formats._arrow.types import arrow_schema
from headrace.errors import JobError, PlanError

__all__ = [
    "DataFrameSink",
]

_MODES = ("append", "overwrite", "ignore", "error", "errorifexists")


@dataclass(frozen=True)
class DataFrameSink(Sink):
    """Writes records with Spark's ``DataFrame.write``; the job must run on Spark.

    Fields:
        format: ``parquet``, ``delta``, ``jdbc``, …; None for the session's default.
        path, table: the destination, at most one; neither if ``options`` name it.
        mode: what happens to existing data (default ``append``).
        options: the writer's options.
        schema: the columns as a Spark DDL string (``"id BIGINT, price DECIMAL(18,4)"``); None
            takes them from the stream's declared type.
        partition_by: columns whose values become folders.

    Appended files (``parquet``, ``orc``, ``json``, ``csv``, ``text`` with a ``path``) are written
    exactly once; so is Delta, which stores the micro-batch (``txnAppId``). All other formats are
    written at least once.
    """

    format: str | None = None
    path: str | None = None
    table: str | None = None
    mode: str = "append"
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    schema: str | None = None
    partition_by: tuple[str, ...] = ()
    type_info: Any = None

    @property
    def kind(self) -> str:
        return "dataframe"

    @property
    def locator(self) -> str:
        """The path or table."""
        return self.path or self.table or ""

    def __post_init__(self) -> None:
        if self.path is not None and self.table is not None:
            raise PlanError("a DataFrame is written to a path or to a table, not to both")
        if self.mode not in _MODES:
            raise PlanError(f"there is no mode {self.mode!r}", hint=f"one of {', '.join(_MODES)}")

    @property
    def executed_by(self) -> ExecutedBy:
        """SPARK: Spark itself writes the records."""
        return ExecutedBy.SPARK

    def require_columns(self, declared: Any, stream: str, site: Any) -> None:
        """Check that the sink or the stream declares the columns.

        ``declared``: the stream's type. ``stream`` and ``site`` describe it in the error.

        Raises:
            PlanError: neither of them declares columns.
        """
        if self.schema is None and not isinstance(self.type_info or declared, RowTypeInfo):
            raise PlanError(
                "a DataFrameSink has to know its columns",
                where={"stream": stream, "called": str(site)},
                hint='DataFrameSink(schema="id BIGINT, name STRING", ...), or declare the stream\'s'
                " type as Types.ROW_NAMED(...)",
            )

    def arrow_columns(self, declared: Any) -> Any | None:
        """Return the columns as a pyarrow schema; None if no type declares them.

        ``declared`` is the stream's type; the sink's type takes precedence.
        """
        row_type = self.type_info or declared
        return arrow_schema(row_type) if isinstance(row_type, RowTypeInfo) else None

    def writer(self, context: WriterContext) -> SinkWriter:
        """Never called: Spark writes the records.

        Raises:
            JobError: always.
        """
        raise self._not_here()

    def committer(self, context: CommitterContext) -> Committer:
        """Never called: Spark writes the records.

        Raises:
            JobError: always.
        """
        raise self._not_here()

    def _not_here(self) -> JobError:
        return JobError(
            "a DataFrameSink needs Spark: this runner has none",
            hint="use the streaming or the batch runner, or FileSink for files",
        )
