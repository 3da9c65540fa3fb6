"""The law on Spark: generated programs, as a stream in micro-batches and as a batch.

Several programs are one job, their results named and collected together: a job costs seconds.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from headrace.common.configuration import Configuration
from headrace.datastream import DataStream, StreamExecutionEnvironment

from .generated import Built, Flow, Program, programs

pytestmark = pytest.mark.spark

PROGRAMS = 6


def named(stream: DataStream, name: tuple[int, str]) -> DataStream:
    return stream.map(lambda value: (name, value))


def run(drawn: list[Program], mode: str, most: int) -> list[tuple[Built, dict[str, list[Any]]]]:
    """Each program, built, and the records of its streams by name."""
    env = StreamExecutionEnvironment(
        Configuration.from_dict(
            {
                "execution.runtime-mode": mode,
                "parallelism.default": "2",
                "headrace.source.max-records-per-batch": str(most),
                "headrace.watermark.chunk-records": "3",
                "headrace.state.page-bytes": "200",
            }
        )
    )
    built = [program.build(env) for program in drawn]
    streams = [
        named(stream, (number, name))
        for number, one in enumerate(built)
        for name, stream in one.streams().items()
    ]
    results: list[dict[str, list[Any]]] = [{} for _ in drawn]
    collected: Any = streams[0].union(*streams[1:]).execute_and_collect()
    with collected:
        for (number, name), value in collected:
            results[number].setdefault(name, []).append(value)
    return list(zip(built, results, strict=True))


def check(flow: Flow, found: list[Any]) -> None:
    if flow.last:
        assert dict(found) == {key: number for key, number, _ in flow.records}
    else:
        assert Counter(found) == Counter((key, number) for key, number, _ in flow.records)


@settings(
    max_examples=2,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # a smaller example costs minutes
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(programs, min_size=PROGRAMS, max_size=PROGRAMS), st.integers(10, 60))
def test_the_law_on_spark(drawn: list[Program], most: int) -> None:
    for mode in ("STREAMING", "BATCH"):
        for built, results in run(drawn, mode, most):
            for name, flow in built.ends().items():
                if mode == "STREAMING" or flow.timely:
                    check(flow, results.get(name, []))
            assert not any(name.startswith("late") for name in results), mode
