"""``spark``: tables of Spark's own catalog, which ``SparkCatalog`` describes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from headrace.datastream.connectors._dataframe_source import from_dataframe
from headrace.datastream.connectors.dataframe import DataFrameSink
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.operators.columns.calc import BatchContext, BatchFunction
from headrace.runners.launch import spark_tables
from headrace.sql.rel import Columns, arrow_schema
from headrace.table._connectors.connector import Connector, TableRequest, TableSink, TableSource
from headrace.table._connectors.spark.catalog import FILE_OPTION
from headrace.table._options import TableOption, read_options

_OPTIONS = tuple(
    TableOption(key, required=True)
    for key in ("table", "provider", "location", "schema", "bucketed")
)
_APPENDED = ("csv", "delta", "json", "orc", "parquet", "text")
"""The providers whose tables get each micro-batch exactly once."""


class SparkConnector(Connector):
    """Tables that Spark reads and writes."""

    identifier = "spark"

    def source(self, request: TableRequest) -> TableSource:
        """Return the rows that the table has when the statement is planned."""
        options = read_options(request.name, request.options, _OPTIONS, (FILE_OPTION,))
        # In a stream, the rows are stored with the checkpoint. A changed statement may continue
        # from it, and read other columns.
        columns = request.projected if request.batch else request.columns
        rows = spark_tables().rows(options["table"], [each.name for each in columns])
        return TableSource(
            from_dataframe(rows), conversion=ColumnsOfSpark(columns), projects=request.batch
        )

    def sink(self, request: TableRequest) -> TableSink:
        """Return a sink that appends to the table exactly once.

        Raises:
            UnsupportedError: Spark does not append to such a table exactly once.
        """
        options = read_options(request.name, request.options, _OPTIONS, (FILE_OPTION,))
        provider, location = options["provider"], options["location"]
        if provider not in _APPENDED or not location:
            raise UnsupportedError(
                f"table {request.name!r} is not written: a table of {provider or 'a query'} does"
                " not get rows exactly once",
                where={"table": options["table"], "written": ", ".join(_APPENDED)},
            )
        if options["bucketed"] == "true" or (request.partition_keys and provider != "delta"):
            raise UnsupportedError(
                f"table {request.name!r} is not written: Spark's catalog lists its partitions and"
                " buckets, and files alone add none",
                where={"table": options["table"]},
            )
        sink = DataFrameSink(
            format=provider,
            path=location,
            schema=options["schema"],
            partition_by=request.partition_keys,
            options={
                key.removeprefix(FILE_OPTION): value
                for key, value in request.options.items()
                if key.startswith(FILE_OPTION)
            },
        )
        return TableSink(sink)


@dataclass(frozen=True)
class ColumnsOfSpark(BatchFunction):
    """Gives columns of Spark the Arrow types of SQL, such as UTC for moments."""

    columns: Columns
    summary = "columns of Spark"

    @cached_property
    def schema(self) -> Any:
        """The Arrow schema of the result."""
        return arrow_schema(self.columns)

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: vars(self)[each.name] for each in fields(self)}

    def compile(self) -> Callable[[Any, BatchContext], tuple[Any, None]]:
        """Return the function, for one task."""
        import pyarrow as pa

        schema = self.schema

        def convert(batch: Any, _: BatchContext) -> tuple[Any, None]:
            arrays = [batch.column(each.name).cast(each.type) for each in schema]
            if not arrays:
                raise SqlValidationError("a table has at least one column")
            return pa.RecordBatch.from_arrays(arrays, schema=schema), None

        return convert
