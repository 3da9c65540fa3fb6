"""A sink that hands the records to a Spark writer: any format Spark has, Delta and tables too."""

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
    """Records into what ``DataFrame.write`` can write; the runner on Spark carries it out.

    Fields:
        format: ``parquet``, ``delta``, ``jdbc``, …; None for the session's default.
        path, table: where to, at most one; neither where the options say it.
        mode: what happens to what is there; ``append`` unless told otherwise.
        options: the writer's options.
        schema: the columns as a Spark DDL string (``"id BIGINT, price DECIMAL(18,4)"``); None
            takes them from the stream's declared type.
        partition_by: columns whose values become folders.

    Appended files (``parquet``, ``orc``, ``json``, ``csv``, ``text`` with a ``path``) are exactly
    once; so is Delta, which knows the micro-batch (``txnAppId``). Whatever else is at least once.
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
        """Spark writes the records."""
        return ExecutedBy.SPARK

    def require_columns(self, declared: Any, stream: str, site: Any) -> None:
        """Check that the sink, or else its stream, says what the columns are.

        Raises:
            PlanError: neither does.
        """
        if self.schema is None and not isinstance(self.type_info or declared, RowTypeInfo):
            raise PlanError(
                "a DataFrameSink has to know its columns",
                where={"stream": stream, "called": str(site)},
                hint='DataFrameSink(schema="id BIGINT, name STRING", ...), or declare the stream\'s'
                " type as Types.ROW_NAMED(...)",
            )

    def arrow_columns(self, declared: Any) -> Any | None:
        """The columns by the type of the records, as a pyarrow schema; None where no type says.

        ``declared`` is the stream's type; a type of the sink's own comes first.
        """
        row_type = self.type_info or declared
        return arrow_schema(row_type) if isinstance(row_type, RowTypeInfo) else None

    def writer(self, context: WriterContext) -> SinkWriter:
        """Never called: Spark writes.

        Raises:
            JobError: always.
        """
        raise self._not_here()

    def committer(self, context: CommitterContext) -> Committer:
        """Never called: Spark writes.

        Raises:
            JobError: always.
        """
        raise self._not_here()

    def _not_here(self) -> JobError:
        return JobError(
            "a DataFrameSink needs Spark: this runner has none",
            hint="use the streaming or the batch runner, or FileSink for files",
        )
