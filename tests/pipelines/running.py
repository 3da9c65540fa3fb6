"""How generated programs are run, and compared with their model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from headrace.common.configuration import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.connectors import _indexed as indexed
from headrace.runners.launch import program_of
from headrace.runtime.program import JobProgram
from headrace.testing import PipelineResults, run_pipeline
from headrace.testing import _pipeline as pipeline

from .generated import Built, Program

SETTINGS = {"headrace.watermark.chunk-records": "3", "headrace.state.page-bytes": "200"}


@contextmanager
def in_small_pieces() -> Iterator[None]:
    """Ranges, chunks and blocks of a few records, so that every boundary is met."""

    def flushing(*arguments: Any) -> JobProgram:
        program = program_of(*arguments)
        return replace(program, settings=replace(program.settings, flush_records=4))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(indexed, "RANGE_RECORDS", 5)
        patch.setattr(indexed, "CHUNK_RECORDS", 2)
        patch.setattr(pipeline, "program_of", flushing)
        yield


def run(
    program: Program, *, combining: bool = True, stops: Sequence[int | None] = (), **how: Any
) -> tuple[Built, PipelineResults]:
    """A new build of the program, and its results; windows in two phases, or in one."""
    given = {**SETTINGS, "headrace.combining.enabled": str(combining).lower()}
    env = StreamExecutionEnvironment(Configuration.from_dict(given))
    built = program.build(env, stops=stops)
    return built, run_pipeline(built.streams(), **how)


def check(program: Program, **how: Any) -> None:
    """The results are those of the model, and nothing was late."""
    compare(*run(program, **how), **how)


def compare(built: Built, results: PipelineResults, **how: Any) -> None:
    """The same of a run that has been."""
    for name, flow in built.ends().items():
        if how.get("mode") != "batch" or flow.timely:
            flow.check(results[name], (name, how))
    late = {name: results[name] for name in results if name.startswith("late") and results[name]}
    assert not late, how
