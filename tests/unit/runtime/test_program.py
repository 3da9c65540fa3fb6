"""What a job's program is called, among the programs that came before it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.graph.stream_graph import StreamGraph
from headrace.runners.launch import program_of
from headrace.runtime.program import JobProgram
from tests.unit.runtime.programs import job_of


@pytest.mark.parametrize(
    ("last", "copied", "now"),
    [
        ("", False, "one"),  # of an older build, which wrote down nothing
        ("", True, "one"),
        ("one", False, "one"),
        ("one-2", False, "one-2"),
        ("other", False, "one-1"),
        ("other-2", False, "one-3"),
        ("one", True, "one-1"),
        ("one-2", True, "one-3"),
    ],
)
def test_a_program_is_the_one_before_it_only_if_nothing_came_between(
    last: str, copied: bool, now: str
) -> None:
    program = replace(job_of(), fingerprint="one").as_successor_of(last, copied)
    assert program.identity == now
    assert program.as_successor_of(now) == program


def reading_program(build: Callable[[DataStream], object]) -> JobProgram:
    """The program of a job with one source, from which ``build`` goes on."""
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env.from_collection([1, 2, 3]))
    return program_of(StreamGraph.of(env._take_sinks()), env._configuration, "job")


def keyed(stream: DataStream) -> DataStream:
    return stream.key_by(lambda value: value % 2).reduce(lambda a, b: a + b)


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda stream: stream.print(), False),
        (lambda stream: keyed(stream).print(), True),
        (lambda stream: keyed(stream.map(str).map(int)).print(), True),
        (lambda stream: stream.rebalance().map(str).print(), True),
        (lambda stream: stream.forward().map(str).print(), False),
        (lambda stream: (keyed(stream).print(), stream.map(str).print()), False),
    ],
)
def test_fewer_source_tasks_may_not_make_others_less_parallel(
    build: Callable[[DataStream], object], expected: bool
) -> None:
    assert reading_program(build).may_read_in_fewer_tasks is expected


def test_a_batch_and_a_single_task_are_read_as_before() -> None:
    program = reading_program(lambda stream: keyed(stream).print())
    assert program.may_read_in_fewer_tasks
    assert not replace(program, batch=True).may_read_in_fewer_tasks
    assert not replace(program, parallelism=1).may_read_in_fewer_tasks
