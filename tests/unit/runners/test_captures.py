"""Failed calls of the local runner become files, and the files are replayed."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headrace.cli import app
from headrace.common import Configuration, Time, WatermarkStrategy
from headrace.common._options.catalogue import FAILURE_CAPTURE_DIR, MAX_RECORDS_PER_BATCH
from headrace.common._storage.sealed import ObjectFormat, seal
from headrace.datastream import AsyncDataStream, KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.connectors.http import HttpLookup
from headrace.datastream.state import ListStateDescriptor
from headrace.errors import ConfigurationError
from headrace.runners import captures
from headrace.runners.captures import MAX_FILES, SUFFIX
from headrace.runtime.block import records_of
from headrace.runtime.failure import to_job_failure
from tests.pipelines.log import Log


class Fills(KeyedProcessFunction):
    """Keeps a list for each key, and fails at the third value; changes the record it is given."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_list_state(ListStateDescriptor("seen"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.seen.add(value["n"])
        value["n"] = "changed"
        seen = [*self.seen.get()]
        if len(seen) == 3:
            raise ValueError(f"full: {seen}")
        yield seen


class Leaves(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        raise SystemExit("enough")


class Stops(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        raise StopIteration("out of them")


RECORDS = [{"key": key, "n": n} for n in range(4) for key in "ab"]


def failure(
    folder: Path | None, function: Any = None, mode: str = "STREAMING", records_per_batch: int = 2
) -> BaseException:
    """What a job that counts by key fails with, on the local runner."""
    settings = {
        "execution.target": "local",
        "execution.runtime-mode": mode,
        MAX_RECORDS_PER_BATCH.key: str(records_per_batch),
    }
    if folder is not None:
        settings[FAILURE_CAPTURE_DIR.key] = str(folder)
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    stream = env.from_collection(RECORDS).key_by(lambda record: record["key"])
    stream.process(function or Fills()).name("fills / all").uid("fills").print()
    with pytest.raises(Exception) as raised:  # which one, the caller asks
        env.execute("fill it")
    return raised.value


def replayed(file: Path) -> BaseException:
    replay = captures.replay_of(captures.read_call(str(file)))
    with pytest.raises((Exception, SystemExit)) as raised:
        list(replay.run())
    return to_job_failure(raised.value)


def without_file(error: BaseException) -> tuple[type, str, list[str]]:
    """An exception without the note that names its capture file."""
    notes = [note for note in error.__notes__ if not note.startswith("captured:")]
    return type(error), str(error), notes


def test_a_failed_call_is_a_file_that_fails_again(tmp_path: Path) -> None:
    error = failure(tmp_path / "failed")
    (file,) = (tmp_path / "failed").glob(f"*{SUFFIX}")
    assert file.name.startswith("fill-it-fills-all-20")
    assert str(error) == "full: [0, 1, 2]"
    assert len(error.__notes__) == 2
    where, how = error.__notes__[1].splitlines()
    assert where.startswith(f"captured: {file} on ")
    assert how == f"replay:   headrace replay {file}"
    assert without_file(replayed(file)) == without_file(error)


def test_records_are_as_they_were_before_the_call(tmp_path: Path) -> None:
    failure(tmp_path, records_per_batch=6)
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    replay = captures.replay_of(captures.read_call(str(file)))
    records = [record for block in replay._blocks for record in records_of(block)]
    assert records == RECORDS[:6]


@dataclass(frozen=True)
class Secured(Log):
    """A source that knows a password, as does its reader."""

    password: str = ""

    def reader(self) -> Any:
        made = super().reader()
        made.password = self.password  # type: ignore[attr-defined]
        return made


def test_a_file_has_no_source_and_no_sink(tmp_path: Path) -> None:
    """What they know of others, passwords for example, is not needed to make a call again."""
    settings = {"execution.target": "local", FAILURE_CAPTURE_DIR.key: str(tmp_path)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = Secured(tuple(RECORDS), password="of-the-source")
    records = env.from_source(source, WatermarkStrategy.no_watermarks(), "secured")
    filled = records.key_by(lambda record: record["key"]).process(Fills()).uid("fills")
    filled.sink_to(FunctionSink(partial(print, "of-the-sink")))
    with pytest.raises(ValueError, match="full"):
        env.execute()
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    call = captures.read_call(str(file))
    assert b"of-the-" not in call.program and b"Fills" in call.program
    assert str(replayed(file)) == "full: [0, 1, 2]"


def test_a_file_has_no_secret_of_a_lookup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {"execution.target": "local", FAILURE_CAPTURE_DIR.key: str(tmp_path)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    lookup = HttpLookup("http://prices/{}?key=s3cret", headers={"X-Token": "s3cret"})
    filled = env.from_collection(RECORDS).key_by(lambda record: record["key"]).process(Fills())
    AsyncDataStream.ordered_wait(filled, lookup, Time.seconds(1)).print()
    with pytest.raises(ValueError, match="full"):
        env.execute()
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    assert file.stat().st_mode & 0o077 == 0
    call = captures.read_call(str(file))
    assert b"s3cret" not in call.program and b"X-Token" in call.program
    monkeypatch.setenv("HEADRACE_QUERY_KEY", "of the environment")
    shown = "HEADRACE_HEADER_X_TOKEN, for HttpLookup('http://prices/{}?***')"
    assert captures.replay_of(call).missing == [shown]
    said = CliRunner().invoke(app, ["replay", str(file)])
    assert f"missing:  {shown}\n" in said.output


@pytest.mark.parametrize("function", [Leaves, Stops])
def test_what_is_no_plain_exception_is_captured(tmp_path: Path, function: Any) -> None:
    error = failure(tmp_path, function())
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    assert "headrace replay" in error.__notes__[-1]
    assert without_file(replayed(file)) == without_file(error)


def test_a_batch_needs_its_input_only(tmp_path: Path) -> None:
    error = failure(tmp_path, mode="BATCH")
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    assert captures.read_call(str(file)).pages is None
    assert without_file(replayed(file)) == without_file(error)


def test_without_the_key_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(failure(None).__notes__) == 1
    assert not [*tmp_path.iterdir()]


def test_a_folder_holds_the_newest_few(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("of the user")
    for _ in range(MAX_FILES + 2):
        error = failure(tmp_path)
    files = [*tmp_path.glob(f"*{SUFFIX}")]
    assert len(files) == MAX_FILES
    assert max(files, key=lambda file: file.stat().st_mtime_ns).name in error.__notes__[1]
    assert (tmp_path / "notes.txt").exists()


def test_a_capture_that_fails_hides_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    error = failure(tmp_path / "file")
    assert str(error) == "full: [0, 1, 2]"
    assert "record:   {'key': 'a', 'n': " in error.__notes__[0]
    assert error.__notes__[1].startswith("captured: nothing, as that failed too: CheckpointError: ")


def test_a_chain_in_the_source_leaves_no_file(tmp_path: Path) -> None:
    settings = {"execution.target": "local", FAILURE_CAPTURE_DIR.key: str(tmp_path)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_collection([0]).map(lambda value: 1 / value).print()
    with pytest.raises(ZeroDivisionError) as raised:
        env.execute("divide")
    assert len(raised.value.__notes__) == 1
    assert not [*tmp_path.iterdir()]


@dataclass(frozen=True)
class Dividing(FunctionSink):
    @property
    def record_encoder(self) -> Any:
        return lambda value: 1 / value


def test_a_sinks_encoder_leaves_no_file(tmp_path: Path) -> None:
    """There would be no sink in it."""
    settings = {"execution.target": "local", FAILURE_CAPTURE_DIR.key: str(tmp_path)}
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    env.from_collection([0]).key_by(lambda n: n).sum().sink_to(Dividing(len)).name("divided")
    with pytest.raises(ZeroDivisionError) as raised:
        env.execute("divide")
    (note,) = raised.value.__notes__
    assert note.startswith("sink:     divided")
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data[:-1], "is cut short"),
        (lambda data: data[:-1] + b"?", "checksum is wrong"),
        (lambda data: b"", "is empty"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_not_whole_is_refused(tmp_path: Path, change: Any, said: str) -> None:
    failure(tmp_path)
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    if change is None:
        os.unlink(file)
    else:
        file.write_bytes(change(file.read_bytes()))
    with pytest.raises(ConfigurationError, match=said) as raised:
        captures.read_call(str(file))
    assert "checkpoint" not in str(raised.value)
    assert raised.value.where == {"file": str(file)}


def test_a_file_of_another_python_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its functions are compiled, and those of another minor version crash the interpreter."""
    with monkeypatch.context() as other:
        other.setattr(captures, "_PYTHON", "3.99")
        failure(tmp_path)
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    with pytest.raises(ConfigurationError, match=r"that Python 3\.99 compiled") as refused:
        captures.read_call(str(file))
    assert refused.value.hint == "replay it with Python 3.99"
    with monkeypatch.context() as other:
        other.setattr(captures, "_PYTHON", "3.99")
        assert captures.read_call(str(file)).job == "fill it"


def test_a_file_that_does_not_say_its_python_is_read(tmp_path: Path) -> None:
    failure(tmp_path)
    (file,) = tmp_path.glob(f"*{SUFFIX}")
    fields = {**vars(captures.read_call(str(file)))}
    file.write_bytes(seal(ObjectFormat("failed call"), pickle.dumps(fields)))
    assert captures.read_call(str(file)) == captures.FailedCall(**fields)
