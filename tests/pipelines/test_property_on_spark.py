"""The property on Spark: generated programs, as a stream in micro-batches and as a batch.

Several programs are one job, their results named and collected together: a job costs seconds.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace.common.configuration import Configuration
from headrace.common.job_status import JobStatus
from headrace.common.serialization import Encoder
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSink

from .generated import Built, Program, programs

pytestmark = pytest.mark.spark

PROGRAMS = 6


def named(stream: DataStream, name: tuple[int, str]) -> DataStream:
    return stream.map(lambda value: (name, value))


def joined(
    drawn: Sequence[Program], settings: dict[str, str], changes: Sequence[Sequence[int]] = ()
) -> tuple[list[Built], DataStream]:
    """The programs in one environment, and their results in one stream.

    ``changes``: what differs in the n-th program (see ``Program.build``), in turn.
    """
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "parallelism.default": "2",
                "headrace.watermark.chunk-records": "3",
                "headrace.state.page-bytes": "200",
                **settings,
            }
        )
    )
    turns = changes or [()]
    built = [program.build(env, turns[number % len(turns)]) for number, program in enumerate(drawn)]
    streams = [
        named(stream, (number, name))
        for number, one in enumerate(built)
        for name, stream in one.streams().items()
    ]
    return built, streams[0].union(*streams[1:])


def run(drawn: list[Program], mode: str, most: int) -> list[tuple[Built, dict[str, list[Any]]]]:
    """Each program, built, and the records of its streams by name."""
    settings = {
        "execution.runtime-mode": mode,
        "headrace.source.max-records-per-batch": str(most),
    }
    built, together = joined(drawn, settings)
    collected: Any = together.execute_and_collect()
    with collected:
        return list(zip(built, by_name(len(drawn), collected), strict=True))


def read(line: str) -> Any:
    """What ``repr`` wrote: Python's and numpy's values, NaN and infinity among them."""
    floats = {name: float(name) for name in ("nan", "inf")}
    return eval(line, {"__builtins__": {}, "np": np, **floats})


def by_name(programs: int, found: Any) -> list[dict[str, list[Any]]]:
    """The records of each program's streams by name."""
    results: list[dict[str, list[Any]]] = [{} for _ in range(programs)]
    for (number, name), value in found:
        results[number].setdefault(name, []).append(value)
    return results


@settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a smaller example costs minutes
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(programs, min_size=PROGRAMS, max_size=PROGRAMS), st.integers(10, 60))
def test_property_on_spark(drawn: list[Program], most: int) -> None:
    for mode in ("STREAMING", "BATCH"):
        for built, results in run(drawn, mode, most):
            for name, flow in built.ends().items():
                if mode == "STREAMING" or flow.timely:
                    flow.check(results.get(name, []))
            assert not any(name.startswith("late") for name in results), mode


VERSIONS = 3


@settings(
    max_examples=2,  # the first is the simplest one
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(
    st.lists(programs, min_size=PROGRAMS, max_size=PROGRAMS),
    st.integers(20, 40),
    st.lists(
        st.tuples(
            st.integers(1, 4),
            st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=3),
        ),
        min_size=VERSIONS,
        max_size=VERSIONS,
    ),
    st.lists(st.integers(1, 2), min_size=VERSIONS - 1, max_size=VERSIONS - 1),
)
def test_property_of_changed_programs_on_spark(
    tmp_path_factory: pytest.TempPathFactory,
    drawn: list[Program],
    most: int,
    versions: list[tuple[int, list[list[int]]]],
    cuts: list[int],
) -> None:
    """Three versions go on one after another, the first two stopped somewhere.

    Parallelism differs, and what stands before operators with state (see ``Built.keyed``): steps
    without state, chains, exchanges. The files they write in turn are those of one run.
    """
    folder = tmp_path_factory.mktemp("changed")
    for number, (parallelism, changes) in enumerate(versions):
        settings = {
            "pipeline.name": "changed",
            "parallelism.default": str(parallelism),
            "execution.checkpointing.dir": str(folder / "checkpoint"),
            "headrace.source.max-records-per-batch": str(most),
        }
        built, together = joined(drawn, settings, changes)
        until = cuts[number] if number < len(cuts) else None
        run_until(together, folder / "out", until)
    # A slow run publishes files every minute: the last record of a key is in the last of them.
    files = [path for path in (folder / "out").rglob("part-*") if path.is_file()]
    files.sort(key=lambda path: int(path.name.rpartition("-")[2]))
    found = [read(line) for path in files for line in path.read_text().splitlines()]
    for one, results in zip(built, by_name(len(drawn), found), strict=True):
        for name, flow in one.ends().items():
            flow.check(results.get(name, []))
        assert not any(name.startswith("late") for name in results)


def run_until(results: DataStream, folder: Path, micro_batches: int | None) -> None:
    """Write a job's results to files: to its end, or cancel it once it has done so many more."""
    rows = FileSink.for_row_format(str(folder), Encoder.simple_string_encoder()).build()
    results.sink_to(rows)
    client = results.get_execution_environment().execute_async()
    end = client.get_job_execution_result()
    first = None
    while micro_batches is not None and not end.done():
        count = client.get_accumulators().result().get("microBatches")
        if count is not None:
            first = count if first is None else first
            if count - first + 1 >= micro_batches:
                client.cancel().result()
                assert client.get_job_status().result() in (JobStatus.CANCELED, JobStatus.FINISHED)
                return
        time.sleep(0.02)
    end.result()
