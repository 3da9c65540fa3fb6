"""Executes sinks: the API's only access to planner and runners."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.common._options import catalogue as options
from headrace.errors import PlanError
from headrace.graph.caches import CachesOfJob
from headrace.graph.stream_graph import StreamGraph
from headrace.graph.transformation import SinkTransformation

if TYPE_CHECKING:
    from headrace.common.configuration import Configuration
    from headrace.common.job_client import JobClient
    from headrace.common.job_execution_result import JobExecutionResult
    from headrace.metrics._operator_counts import JobListener

Sinks = Sequence[SinkTransformation]
Listeners = Sequence["JobListener"]


def execute(
    sinks: Sinks, configuration: Configuration, job_name: str | None, listeners: Listeners = ()
) -> JobExecutionResult:
    """Run a job with the given sinks to its end, and return its result."""
    result: JobExecutionResult = _import_launch().execute(
        _build_graph(sinks, configuration), configuration, job_name, listeners
    )
    return result


def execute_async(
    sinks: Sinks, configuration: Configuration, job_name: str | None, listeners: Listeners = ()
) -> JobClient:
    """Start a job with the given sinks, and return its client."""
    client: JobClient = _import_launch().execute_async(
        _build_graph(sinks, configuration), configuration, job_name, listeners
    )
    return client


def execute_and_collect(
    sinks: Sinks,
    configuration: Configuration,
    job_name: str | None,
    limit: int | None,
    listeners: Listeners = (),
) -> tuple[Iterator[Any], Callable[[], None]]:
    """Run a job; return its collected records, and a function that cancels the job."""
    results: Iterator[Any]
    results, cancel = _import_launch().execute_and_collect(
        _build_graph(sinks, configuration), configuration, job_name, limit, listeners
    )
    return results, cancel


def execution_plan(sinks: Sinks, configuration: Configuration) -> str:
    """Return the job graph of the given sinks as JSON."""
    text: str = _import_launch().execution_plan(_build_graph(sinks, configuration), configuration)
    return text


def explain(sinks: Sinks, configuration: Configuration) -> str:
    """Return the plan of the given sinks as text."""
    text: str = _import_launch().explain(_build_graph(sinks, configuration), configuration)
    return text


def _build_graph(sinks: Sinks, configuration: Configuration) -> StreamGraph:
    if not sinks:
        raise PlanError(
            "no sink: the job would compute nothing",
            hint="end a stream with sink_to(), print() or execute_and_collect()",
        )
    mode = options.read(configuration, options.RUNTIME_MODE)
    graph = StreamGraph.of(CachesOfJob(sinks, keeps=mode != "STREAMING").sinks)
    if mode == "AUTOMATIC" and not (
        graph.bounded and options.read(configuration, options.STOP_DRAIN)
    ):
        graph = StreamGraph.of(CachesOfJob(sinks, keeps=False).sinks)
    return graph


def _import_launch() -> Any:
    # Imported with the first job: building a graph needs no runner.
    from headrace.runners import launch

    return launch
