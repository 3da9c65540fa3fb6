"""From an environment to a runner: the API's one door to what runs it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors import PlanError
from headrace.graph.stream_graph import StreamGraph
from headrace.graph.transformation import SinkTransformation

if TYPE_CHECKING:
    from headrace.common.job_client import JobClient
    from headrace.common.job_execution_result import JobExecutionResult
    from headrace.datastream.closeable_iterator import CloseableIterator
    from headrace.datastream.data_stream import DataStream
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


def execute(env: StreamExecutionEnvironment, job_name: str | None) -> JobExecutionResult:
    """Run the environment's sinks to their end, and forget them."""
    result: JobExecutionResult = _launch().execute(_job(env), env._configuration, job_name)
    return result


def execute_async(env: StreamExecutionEnvironment, job_name: str | None) -> JobClient:
    """Start the environment's sinks, and forget them."""
    client: JobClient = _launch().execute_async(_job(env), env._configuration, job_name)
    return client


def execute_and_collect(
    env: StreamExecutionEnvironment, stream: DataStream, job_name: str | None, limit: int | None
) -> CloseableIterator:
    """Start the environment's sinks and one that brings a stream's records here."""
    from headrace.datastream.closeable_iterator import CloseableIterator

    graph = StreamGraph.of((*env._take_sinks(), _collecting(stream)))
    return CloseableIterator(
        *_launch().execute_and_collect(graph, env._configuration, job_name, limit)
    )


def execution_plan(env: StreamExecutionEnvironment) -> str:
    """The graph of the environment's sinks as JSON."""
    text: str = _launch().execution_plan(StreamGraph.of(_some(env)), env._configuration)
    return text


def explain(env: StreamExecutionEnvironment, stream: DataStream | None) -> str:
    """How a stream, or all sinks of the environment, would be computed, as text."""
    sinks = _some(env) if stream is None else (_collecting(stream),)
    text: str = _launch().explain(StreamGraph.of(sinks), env._configuration)
    return text


def _launch() -> Any:
    from headrace.runners import launch

    return launch


def _collecting(stream: DataStream) -> SinkTransformation:
    from headrace.datastream._build.call_site import call_site
    from headrace.datastream.connectors.print import CollectSink

    return SinkTransformation(
        stream._edges, None, "Collect", call_site(), stream._type(), sink=CollectSink()
    )


def _job(env: StreamExecutionEnvironment) -> StreamGraph:
    _some(env)
    # taken before the graph is checked: a program that failed the check starts anew
    return StreamGraph.of(env._take_sinks())


def _some(env: StreamExecutionEnvironment) -> tuple[SinkTransformation, ...]:
    sinks = env._sinks()
    if not sinks:
        raise PlanError(
            "no sink: the job would compute nothing",
            hint="end a stream with sink_to(), print() or execute_and_collect()",
        )
    return sinks
