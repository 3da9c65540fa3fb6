"""Each row of docs/capabilities.md, shown by a program of its own on every runner.

In one plain process each program is a job. On Spark all of them are one job: their streams are
named, united and collected, so that the suite costs one start of Spark and two jobs.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.parquet as pq
import pytest

from headrace.common import Configuration, Encoder, Types
from headrace.common.job_status import JobStatus
from headrace.datastream import (
    DataStream,
    MapFunction,
    RuntimeContext,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.file_system import FileSink
from headrace.datastream.formats.avro import AvroBulkWriters, AvroSchema
from headrace.datastream.formats.json import JsonLinesEncoder
from headrace.datastream.formats.parquet import ParquetBulkWriters
from tests.capabilities import own_windows, patterns  # noqa: F401 - list their programs
from tests.capabilities.programs import CAPABILITIES, PAIRS, Capability, Sized, first

MODES = {"local": "STREAMING", "batch": "BATCH", "streaming": "STREAMING"}
NAMES = [capability.name for capability in CAPABILITIES]

FILES_OUT = "Files as sinks: text, JSON lines, Parquet, Avro"
ERRORS = "A user's exception, with its operator and record"
COUNTERS = "Counters, meters, distributions and gauges of user functions"
BEAM = {each.name: each.beam for each in CAPABILITIES} | {COUNTERS: ("What/Metrics",)}
CACHED = "cache: the records of a stream, kept for later jobs"


def environment(runner: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    configuration.set_string("execution.runtime-mode", MODES[runner])
    configuration.set_string("parallelism.default", "2")
    if runner == "local":
        configuration.set_string("execution.target", "local")
    return StreamExecutionEnvironment.get_execution_environment(configuration)


def rows(names: list[str], runners: Iterable[str] = MODES) -> list[Any]:
    """One parameter set for each name and runner, marked as that row of the table."""
    return [
        pytest.param(
            name,
            runner,
            id=f"{name}-{runner}",
            marks=[
                *shown(name, runner),
                *([] if runner == "local" else [pytest.mark.spark]),
            ],
        )
        for name in names
        for runner in runners
    ]


def shown(name: str, runner: str) -> list[Any]:
    """The marks of a row; none where its program has no result on the runner."""
    program = next((one for one in CAPABILITIES if one.name == name), None)
    if program is not None and not program.on(runner):
        return []
    beam = [pytest.mark.beam(*BEAM[name], runners=runner)] if BEAM.get(name) else []
    return [pytest.mark.capability(name, runners=runner), *beam]


class Results:
    """What the programs gave on each runner; a runner is started when it is first asked for."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._on_spark: dict[str, dict[str, list[Any]]] = {}

    def of(self, capability: Capability, runner: str) -> list[Any]:
        if runner == "local":
            return collected(capability.build(environment(runner), self._new_folder()))
        if runner not in self._on_spark:
            self._on_spark[runner] = self._all(runner)
        return self._on_spark[runner][capability.name]

    def _new_folder(self) -> Path:
        folder = self._folder / str(len(list(self._folder.iterdir())))
        folder.mkdir()
        return folder

    def _all(self, runner: str) -> dict[str, list[Any]]:
        env = environment(runner)
        streams = [
            named(capability.build(env, self._new_folder()), capability.name)
            for capability in CAPABILITIES
        ]
        found: dict[str, list[Any]] = {name: [] for name in NAMES}
        for name, value in collected(streams[0].union(*streams[1:])):
            found[name].append(value)
        return found


def named(stream: DataStream, name: str) -> DataStream:
    return stream.map(lambda value: (name, value))


def collected(stream: DataStream) -> list[Any]:
    results: Any = stream.execute_and_collect()
    with results:
        return list(results)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(tmp_path_factory.mktemp("capabilities"))


@pytest.mark.parametrize(("name", "runner"), rows(NAMES))
def test_program(name: str, runner: str, results: Results) -> None:
    capability = next(one for one in CAPABILITIES if one.name == name)
    found = results.of(capability, runner)
    assert Counter(map(repr, found)) == Counter(map(repr, capability.on(runner)))


@pytest.mark.parametrize(("name", "runner"), rows([FILES_OUT]))
def test_files_written(name: str, runner: str, tmp_path: Path) -> None:
    env = environment(runner)
    kind = Types.ROW_NAMED(["name", "size"], [Types.STRING(), Types.INT()])
    pairs = env.from_collection(PAIRS)
    pairs.map(str).sink_to(
        FileSink.for_row_format(str(tmp_path / "text"), Encoder.simple_string_encoder()).build()
    )
    pairs.sink_to(FileSink.for_row_format(str(tmp_path / "json"), JsonLinesEncoder()).build())
    pairs.map(lambda pair: pair, kind).sink_to(
        FileSink.for_bulk_format(
            str(tmp_path / "parquet"), ParquetBulkWriters.for_row_type(kind)
        ).build()
    )
    schema = AvroSchema.of_dataclass(Sized)
    pairs.map(lambda pair: Sized(*pair)).sink_to(
        FileSink.for_bulk_format(
            str(tmp_path / "avro"), AvroBulkWriters.for_generic_record(schema)
        ).build()
    )
    env.execute("files")
    assert lines_below(tmp_path / "text") == sorted(map(str, PAIRS))
    assert lines_below(tmp_path / "json") == sorted(f'["{name}",{size}]' for name, size in PAIRS)
    table = pq.read_table(sorted(visible(tmp_path / "parquet")))
    assert sorted((row["name"], row["size"]) for row in table.to_pylist()) == sorted(PAIRS)
    files = [path.read_bytes() for path in visible(tmp_path / "avro")]
    found = [row for data in files for row in fastavro.reader(io.BytesIO(data))]
    assert sorted((row["name"], row["size"]) for row in found) == sorted(PAIRS)


def visible(folder: Path) -> list[Path]:
    return [
        path
        for path in folder.rglob("*")
        if path.is_file() and not any(part.startswith(".") for part in path.parts)
    ]


def lines_below(folder: Path) -> list[str]:
    return sorted(line for path in visible(folder) for line in path.read_text().splitlines())


class Counting(MapFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        group = runtime_context.get_metrics_group()
        self.seen = group.counter("seen")
        self.meter = group.meter("rate")
        self.values = group.distribution("values")
        group.gauge("level", lambda: 4)

    def map(self, value: Any) -> Any:
        self.seen.inc()
        self.meter.mark_event(2)
        self.values.update(value)
        return value


@pytest.mark.parametrize(("name", "runner"), rows([COUNTERS]))
def test_counters(name: str, runner: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(runner)
    env.from_sequence(1, 7).map(Counting()).name("counting").print()
    client = env.execute_async("counters")
    result = client.get_job_execution_result().result()
    assert client.get_job_status().result() is JobStatus.FINISHED
    found = result.get_all_accumulator_results()

    def figures(end: str) -> list[Any]:
        return [value for name, value in found.items() if name.endswith(f".{end}")]

    assert (sum(figures("seen")), sum(figures("rate.count"))) == (7, 14)
    assert (sum(figures("values.sum")), max(figures("values.max"))) == (28, 7)
    assert {*figures("level")} == {4}
    assert len(capsys.readouterr().out.splitlines()) == 7


@pytest.mark.parametrize(("name", "runner"), rows([CACHED], ["local", "batch"]))
def test_cached(name: str, runner: str, tmp_path: Path) -> None:
    env = environment(runner)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    log = tmp_path / "log"

    def noted(pair: Any) -> Any:
        with log.open("a") as file:
            file.write("called\n")
        return pair

    cached = env.from_collection(PAIRS).map(noted).cache()
    assert sorted(collected(cached.key_by(first).sum(1))) == [("a", 12), ("b", 7)]
    assert sorted(collected(cached)) == sorted(PAIRS)
    assert len(log.read_text().splitlines()) == len(PAIRS)
    env.close()


@pytest.mark.parametrize(("name", "runner"), rows([ERRORS]))
def test_exceptions(name: str, runner: str) -> None:
    env = environment(runner)
    env.from_collection([1, 0]).map(lambda value: 1 // value).name("invert").uid("i").print()
    with pytest.raises(ZeroDivisionError) as caught:
        env.execute("errors")
    notes = "\n".join(caught.value.__notes__)
    assert "operator: invert (uid=i)" in notes
    assert "record:   0" in notes
