"""The cases of the SQL corpus on the pipeline driver: with input that is cut, and restarts.

The jobs of a case (its INSERTs, and its last query) are run by ``run_pipeline``; everything else is
as in ``tests/differential/sql/run_corpus.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import pytest

from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream._streams.closeable_iterator import CloseableIterator
from headrace.runners import launch
from headrace.runtime.layout import OPERATOR, Layout
from headrace.runtime.program import JobProgram
from headrace.testing import ManualClock, PipelineResults, run_pipeline
from headrace.testing import _pipeline as pipeline
from tests.differential.sql.cases import Case
from tests.differential.sql.compare import Answer, differences
from tests.differential.sql.run_corpus import (
    answer,
    chosen_cases,
    environment,
    goldens,
    name_of,
    open_cases,
)

MODE = "streaming"

NOW_MS = 1_780_000_000_000
"""In 2026: some cases compare the time of day with that year."""

Draw = tuple[Case, Answer]
"""A case, and what Flink answered."""

_PRINTED = re.compile(r"(.*?)(?::?\d+> |> )?([+-][IUD])(\[.*)", re.S)
"""A printed row: the name of its sink and the number of its task, its kind, and its values."""


@dataclass
class Seen:
    """What the jobs of a case were like: how much they read, from how many sources, with which
    operators that keep state, by uid and name."""

    records: int = 0
    sources: int = 0
    stateful: dict[str, str] = field(default_factory=dict)

    def note(self, program: JobProgram) -> None:
        """Note the sources and operators of a job."""
        self.sources = max(self.sources, len(program.sources))
        parts = (part for part in Layout.of(program).parts if part.role == OPERATOR)
        self.stateful |= {part.uid or part.id: part.name for part in parts}


def answered_cases(*areas: str) -> list[Draw]:
    """The cases that run as a stream, which answer as Flink does."""
    still_open = open_cases()
    found: list[Draw] = []
    for case, mode in chosen_cases([f"{area}/" for area in areas], MODE):
        golden = goldens(case.area)[case.name, mode]
        if golden.keys() & {"rows", "printed"} and name_of(case, mode) not in still_open:
            found.append((case, golden))
    return found


@contextmanager
def jobs_run(how: Mapping[str, Any]) -> Iterator[Seen]:
    """Run the jobs that statements start by ``run_pipeline``, in this way."""
    seen = Seen()
    plan = launch.program_of

    def planned(*arguments: Any) -> JobProgram:
        program = plan(*arguments)
        seen.note(program)
        return program

    def run(streams: dict[str, DataStream]) -> PipelineResults:
        clock = ManualClock(NOW_MS)
        results = run_pipeline(streams, clock=lambda: clock.advance(1000), **how)
        seen.records += sum(each.records for batch in results.batches for each in batch.sources)
        return results

    def collect(stream: DataStream, *_: Any) -> CloseableIterator:
        return CloseableIterator(iter(run({"collected": stream})["collected"]))

    def execute(env: StreamExecutionEnvironment, *_: Any) -> Any:
        inputs = [sink.inputs for sink in env._pending_sinks]
        run({f"into {number}": DataStream(env, each) for number, each in enumerate(inputs)})
        ended = SimpleNamespace(result=lambda timeout=None: None)
        return SimpleNamespace(get_job_id=object, get_job_execution_result=lambda: ended)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "program_of", planned)
        patch.setattr(DataStream, "execute_and_collect", collect)
        patch.setattr(StreamExecutionEnvironment, "execute_async", execute)
        yield seen


def run_case(case: Case, how: Mapping[str, Any]) -> tuple[Answer, Seen]:
    """What a case answers when it is run in a way."""
    with TemporaryDirectory() as folder, jobs_run(how) as seen:
        given = answer(environment(case, MODE, "local"), case, Path(folder), MODE)
    return given, seen


def differing(recorded: Answer, given: Answer, order: str) -> list[str]:
    """What differs; printed rows are compared as rows.

    ``order``: as in the corpus; or ``taken back``: only that each row is there that is taken back;
    or ``any``: only that the case runs.
    """
    recorded, given = _with_rows(recorded), _with_rows(given)
    if order in ("taken back", "any") and "rows" in given:
        recorded = {**given, "columns": recorded["columns"]}
    return differences(recorded, given, {"taken back": "folded", "any": "bag"}.get(order, order))


def _with_rows(found: Answer) -> Answer:
    if "printed" not in found:
        return found
    lines = [_PRINTED.fullmatch(line) for line in found["printed"]]
    rows = [[line[2], line[1] + line[3]] for line in lines if line is not None]
    return {"columns": [["printed", "STRING"]], "rows": rows}
