"""The worked example of a connector, by the contract of sources and sinks and in whole programs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.connector import Budget, Sink, Source, WorkerResources
from headrace.datastream import StreamExecutionEnvironment
from headrace.testing import run_pipeline
from headrace.testing._contracts import START_MS, Planner, SinkContract, SourceContract
from tests.connectors import sqlite_log
from tests.connectors.sqlite_log import TABLES, SqliteLogSink, SqliteLogSource, connect

LINES_OF_THE_EXAMPLE = 160
PARTS = 3


def make_log(path: Path, values: Sequence[Any] = ()) -> str:
    """A log with these values, in turns in its partitions."""
    with closing(connect(str(path))) as client:
        client.executescript(f"BEGIN; {TABLES} COMMIT;")
    append(path, values)
    return str(path)


def append(path: Path, values: Sequence[Any], parts: int = PARTS) -> None:
    rows = [(f"p{index % parts}", json.dumps(value)) for index, value in enumerate(values)]
    with closing(connect(str(path))) as client, client:
        client.execute("BEGIN")
        client.executemany("INSERT INTO log (part, value) VALUES (?, ?)", rows)


def content(path: Path) -> list[Any]:
    with closing(connect(str(path))) as client:
        return [json.loads(value) for (value,) in client.execute("SELECT value FROM log")]


class TestBoundedSource(SourceContract):
    def make_source(self, folder: Path) -> Source:
        return SqliteLogSource(make_log(folder / "log.db", range(100)))

    def expected(self) -> Sequence[Any]:
        return range(100)

    def grow(self, folder: Path) -> None:
        append(folder / "log.db", range(1000, 1100), parts=5)


class TestUnboundedSourceFromTheMiddle(TestBoundedSource):
    def make_source(self, folder: Path) -> Source:
        return SqliteLogSource(make_log(folder / "log.db", range(100)), first=41, bounded=False)

    def expected(self) -> Sequence[Any]:
        return range(40, 100)


class TestSink(SinkContract):
    def make_sink(self, folder: Path) -> Sink:
        return SqliteLogSink(make_log(folder / "log.db"))

    def values(self, count: int) -> list[Any]:
        return [f"record {index}" for index in range(count)]

    def published(self, folder: Path) -> list[Any]:
        return content(folder / "log.db")

    def test_writers_of_a_worker_have_one_connection(self, sink: Sink) -> None:
        worker = WorkerResources()
        first = self.writer(sink, 0, worker=worker)
        assert self.writer(sink, 1, worker=worker).client is first.client  # type: ignore[attr-defined]
        worker.close()


def test_a_partition_that_appears_is_read_from_the_first_position(tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    source = SqliteLogSource(make_log(log, range(6)), first=3, bounded=False)
    planner = Planner(source, tmp_path)
    planner.step(Budget(100, 1000), START_MS)
    assert planner.progress.started == {"p0": 3, "p1": 3, "p2": 3}
    append(log, range(100, 105), parts=5)
    planner.step(Budget(100, 1000), START_MS)
    assert planner.progress.started == {"p3": 3, "p4": 3}
    planner.close()


@pytest.mark.beam(
    "Bounded SDF/Bundle Finalization", "Unbounded SDF/Bundle Finalization", runners="local"
)
def test_the_log_learns_how_far_it_was_read(tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    source = SqliteLogSource(make_log(log, range(6)))
    planner = Planner(source, tmp_path)
    planner.step(Budget(100, 1000), START_MS)
    planner.close()
    with closing(connect(str(log))) as client:
        positions = dict(client.execute("SELECT part, id FROM read_up_to"))
    assert positions == {"p0": 5, "p1": 6, "p2": 7}


@pytest.fixture
def logs(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """A log with numbers, and an empty one."""
    given, taken = tmp_path / "given.db", tmp_path / "taken.db"
    make_log(given, range(60))
    make_log(taken)
    yield given, taken


@pytest.mark.beam("Bounded SDF/Base", "Bounded SDF/SDF-initiated Checkpointing", runners="local")
@pytest.mark.parametrize("restarts", [False, True])
def test_sums_from_log_to_log(logs: tuple[Path, Path], restarts: bool) -> None:
    given, taken = logs

    def program(env: StreamExecutionEnvironment) -> Any:
        source = SqliteLogSource(str(given), first=11)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log")
        sums = numbers.map(lambda n: [n % 4, n]).key_by(lambda pair: pair[0])
        summed = sums.reduce(lambda one, other: [one[0], one[1] + other[1]])
        summed.sink_to(SqliteLogSink(str(taken)))
        return summed

    results = run_pipeline(program, cuts=[7] * 5, backends="paged", restarts=restarts)
    written = content(taken)
    assert sorted(written) == sorted(results.only)
    last = {key: max(total for k, total in written if k == key) for key in range(4)}
    assert last == {key: sum(n for n in range(10, 60) if n % 4 == key) for key in range(4)}
    assert len(written) == 50


@pytest.mark.beam("Bounded SDF/Base", runners="local")
def test_a_batch_reads_from_the_first_position(logs: tuple[Path, Path]) -> None:
    given, taken = logs

    def program(env: StreamExecutionEnvironment) -> Any:
        source = SqliteLogSource(str(given), first=11)
        numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "log")
        numbers.sink_to(SqliteLogSink(str(taken)))
        return numbers

    assert sorted(run_pipeline(program, "batch").only) == [*range(10, 60)]
    assert sorted(content(taken)) == [*range(10, 60)]


def test_the_example_is_small() -> None:
    assert sqlite_log.__file__ is not None
    lines = Path(sqlite_log.__file__).read_text().splitlines()
    assert len(lines) <= LINES_OF_THE_EXAMPLE
