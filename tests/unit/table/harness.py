"""Tables of connectors on the local runner, for tests."""

from __future__ import annotations

from typing import Any

from headrace.common.job_execution_result import JobExecutionResult
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.sql.rel import Column, Columns
from headrace.sql.types import SqlType
from headrace.table._connectors.connector import TableRequest, TableSink, TableSource
from headrace.table._connectors.registry import find_connector


def columns(**types: SqlType) -> Columns:
    """Return columns of these types."""
    return tuple(Column(name, kind) for name, kind in types.items())


def source(name: str, of: Columns, options: dict[str, str], **request: Any) -> TableSource:
    """Return the source of a table ``t``."""
    return find_connector(name).source(TableRequest("t", of, options, **request))


def sink(name: str, of: Columns, options: dict[str, str], **request: Any) -> TableSink:
    """Return the sink of a table ``t``."""
    return find_connector(name).sink(TableRequest("t", of, options, **request))


def rows(read: TableSource) -> list[Any]:
    """Return the rows of a source that ends."""
    env = _environment()
    stream = env.from_source(read.source, WatermarkStrategy.no_watermarks(), "t")
    with stream.execute_and_collect() as found:
        return [*found]


def copy(read: TableSource, write: TableSink) -> JobExecutionResult:
    """Write the rows of a source that ends into a sink."""
    env = _environment()
    stream = env.from_source(read.source, WatermarkStrategy.no_watermarks(), "t")
    stream.sink_to(write.sink)
    return env.execute()


def stream_into(given: list[Any], write: TableSink) -> None:
    """Write rows of any kinds into a sink."""
    env = _environment()
    env.from_collection(given).sink_to(write.sink)
    env.execute()


def _environment() -> StreamExecutionEnvironment:
    from headrace.common.configuration import Configuration

    config = Configuration()
    config.set_string("execution.target", "local")
    return StreamExecutionEnvironment.get_execution_environment(config)
