"""The names under which Spark's pages and plans show the parts of a job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from pyspark.sql.streaming.stateful_processor_util import TransformWithStateInPandasUdfUtils

from headrace.connector import ExecutedBy
from headrace.runtime.program import JobProgram, SourceProgram

_MAX_CHARACTERS = 200
_UDFS = (
    TransformWithStateInPandasUdfUtils.transformWithStateUDF,
    TransformWithStateInPandasUdfUtils.transformWithStateWithInitStateUDF,
)


def sources_name(sources: Iterable[SourceProgram]) -> str:
    """Return the names of the operators in source tasks: ``Source: orders -> parse``."""
    return _joined(f"Source: {source.chain.label}" for source in sources)


def stage_name(program: JobProgram, number: int) -> str:
    """Return the name of a keyed stage: the chains of its vertices."""
    return _joined(vertex.chain.label for vertex in program.stages[number - 1])


def _joined(labels: Iterable[str]) -> str:
    name = ", ".join(labels)
    return name if len(name) <= _MAX_CHARACTERS else f"{name[: _MAX_CHARACTERS - 2]} …"


@contextmanager
def state_udf_named(name: str) -> Iterator[None]:
    """Give the function of ``transformWithStateInPandas`` a name within a ``with`` block.

    Otherwise it would be ``transformWithStateUDF`` for every stage, because PySpark uses the name
    of its own function when the plan is made (4.2, 4.3).
    """
    before = [udf.__name__ for udf in _UDFS]
    for udf in _UDFS:
        udf.__name__ = name
    try:
        yield
    finally:
        for udf, old in zip(_UDFS, before, strict=True):
            udf.__name__ = old


def source_labels(program: JobProgram) -> dict[str, str]:
    """Return the names of the sources that Headrace reads, by id.

    If several sources have the same name, the id is added. ``program`` must be the driver's
    program.
    """
    ours = sources_of_headrace(program)
    names = [source.name for source in ours]
    return {
        source.id: source.name if names.count(source.name) == 1 else f"{source.name} ({source.id})"
        for source in ours
    }


def sources_of_headrace(program: JobProgram) -> list[SourceProgram]:
    """Return the sources of a job, without DataFrames, which Spark reads."""
    return [
        source for source in program.sources if source.source.executed_by is not ExecutedBy.SPARK
    ]
