"""Record what real PyFlink answers to every program of the corpus, into ``goldens/``.

Run it at the root of the repository, with an interpreter that has ``apache-flink`` installed and
its folder first on the PATH (Flink starts ``python`` by that name):

    python -m tests.differential.record [--mode streaming|batch] [NAME ...]

With names (or their beginnings, such as ``07``), only those programs are recorded. The goldens are
facts: they come from here and are never edited by hand.

A program with ``watermarks="each record"`` runs slowly: each record waits before it gets its
timestamp, the watermark interval is shorter than that, and Python answers record by record (bundles
of one); no record waits in a buffer. So the watermark of a record reaches every operator before the
next record does.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.differential.corpus import (
    MODES,
    Program,
    copy_programs,
    load,
    named_streams,
    programs,
    without_module,
)
from tests.differential.encoding import canonical, encode

PAUSE_S = 0.06
COPIES = Path(tempfile.gettempdir()) / f"differential-corpus-{os.getpid()}"
PYTHON_ERROR = re.compile(r"^([A-Za-z_][\w.]*(?:Error|Exception|Interrupt)): (.*)$", re.MULTILINE)


def default_execution_mode(program: Program, mode: str) -> str:
    """How PyFlink runs Python: in a process, or in a batch in a thread of the Java process.

    A batch in a process goes wrong where keys have timers: it waits forever, or loses the first
    timer of a key. A program may say otherwise: asynchronous functions run in a process only.
    """
    return program.python or ("thread" if mode == "batch" else "process")


def environment(program: Program, mode: str, execution_mode: str) -> Any:
    """A fresh PyFlink environment for one run of the program."""
    from pyflink.common import Configuration
    from pyflink.datastream import StreamExecutionEnvironment

    config = Configuration()
    # Named local, PyFlink runs its Python workers as threads of this process, and not as a new
    # interpreter for every operator of every job.
    config.set_string("execution.target", "local")
    config.set_string("python.execution-mode", execution_mode)
    config.set_string("execution.runtime-mode", mode.upper())
    config.set_string("parallelism.default", str(program.parallelism))
    config.set_string("restart-strategy.type", "none")
    config.set_string("heartbeat.timeout", "600 s")  # a busy machine is not a lost one
    if program.watermark_each_record:
        config.set_string("pipeline.auto-watermark-interval", "1 ms")
        config.set_string("execution.buffer-timeout.interval", "0 ms")
        config.set_string("python.fn-execution.bundle.size", "1")
    return StreamExecutionEnvironment.get_execution_environment(config)


@contextmanager
def pace(program: Program) -> Iterator[None]:
    """Let each record wait before its timestamp is taken, where the program says so."""
    if not program.watermark_each_record:
        yield
        return
    from pyflink.datastream import DataStream

    assign = DataStream.assign_timestamps_and_watermarks

    def wait(value: object) -> object:
        time.sleep(PAUSE_S)
        return value

    def assign_slowly(stream: Any, strategy: Any) -> Any:
        # A task of its own: a source that waits would keep the lock that the timer needs.
        slow = stream.map(wait, output_type=stream.get_type()).disable_chaining()
        return assign(slow.rebalance(), strategy)

    DataStream.assign_timestamps_and_watermarks = assign_slowly
    try:
        yield
    finally:
        DataStream.assign_timestamps_and_watermarks = assign


def failure(program: Program, error: Exception, when: str) -> dict[str, object]:
    """The failure as facts: when it came, the Python error and the Java causes it names."""
    text = without_module("".join(traceback.format_exception(error)), program, "pyflink")
    found = PYTHON_ERROR.findall(text)
    python_errors = [f"{kind}: {message}" for kind, message in found if not kind.startswith("py4j")]
    causes = [line.strip() for line in text.splitlines() if line.startswith("Caused by: ")]
    return {
        "when": when,
        "type": type(error).__name__,
        "python_error": python_errors[-1][:300] if python_errors else None,
        "causes": [cause[:300] for cause in causes if "Traceback" not in cause][-3:],
    }


def outcome(
    program: Program, mode: str, name: str | None, execution_mode: str
) -> dict[str, object]:
    """The values of one named stream (of the first, for None), or how the program failed."""
    when = "build"
    try:
        env = environment(program, mode, execution_mode)
        streams = named_streams(load(program, "pyflink")(env))
        stream = streams[name or next(iter(streams))]
        when = "run"
        with stream.execute_and_collect() as results:
            return {"values": [encode(value) for value in results]}
    except Exception as error:  # the failure is the fact to record
        return {"error": failure(program, error, when)}


def stream_names(program: Program, mode: str, execution_mode: str) -> list[str]:
    """The names of the program's streams; none when it fails while it is built."""
    try:
        env = environment(program, mode, execution_mode)
        return list(named_streams(load(program, "pyflink")(env)))
    except Exception:  # recorded by the run that follows
        return ["result"]


def printed_lines(
    program: Program, mode: str, execution_mode: str, stdout: Path
) -> dict[str, object]:
    """The lines that the program's job printed on the standard output of the Java process."""
    start = stdout.stat().st_size
    try:
        env = environment(program, mode, execution_mode)
        load(program, "pyflink")(env)
        env.execute(program.name)
    except Exception as error:  # the failure is the fact to record
        return {"error": failure(program, error, "run")}
    with stdout.open("rb") as file:
        file.seek(start)
        return {"lines": file.read().decode("utf-8").splitlines()}


def record(program: Program, mode: str, execution_mode: str, stdout: Path) -> dict[str, object]:
    """Everything that goes into the golden of this program in this mode."""
    from pyflink.version import __version__ as version

    golden: dict[str, object] = {
        "program": program.name,
        "mode": mode,
        "pyflink": version,
        "python": platform.python_version(),
        "execution_mode": execution_mode,
    }
    if program.prints:
        return {**golden, "printed": printed_lines(program, mode, execution_mode, stdout)}
    names = stream_names(program, mode, execution_mode)
    return {
        **golden,
        "streams": {name: outcome(program, mode, name, execution_mode) for name in names},
    }


def pretty(data: object, depth: int = 0) -> str:
    """JSON text with one value of a stream per line."""
    flat = json.dumps(data, ensure_ascii=False)
    if depth > 3 or not data or not isinstance(data, dict | list):
        return flat
    indent = " " * (depth + 1)
    if isinstance(data, dict):
        inner = [f"{json.dumps(key)}: {pretty(item, depth + 1)}" for key, item in data.items()]
        opening, closing = "{", "}"
    else:
        inner = [json.dumps(item, ensure_ascii=False) for item in data]
        opening, closing = "[", "]"
    body = f",\n{indent}".join(inner)
    return f"{opening}\n{indent}{body}\n{indent[:-1]}{closing}"


def stdout_into(path: Path) -> None:
    """Send file descriptor 1, which the Java process inherits, into ``path``."""
    sys.stdout.flush()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.close(descriptor)


def main() -> int:
    """Record the programs asked for; return 1 when one failed unexpectedly, or did not fail."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--execution-mode", choices=("process", "thread"))
    parser.add_argument("--into", type=Path, help="another folder than goldens/, to compare")
    chosen = parser.parse_args()

    stdout = Path(tempfile.mkdtemp()) / "stdout.txt"
    stdout_into(stdout)
    # Before the Java process starts: its workers inherit the path.
    copy_programs(COPIES, "pyflink")
    unexpected = 0
    for program in programs():
        if chosen.names and not any(program.name.startswith(name) for name in chosen.names):
            continue
        for mode in program.modes:
            if chosen.mode not in (None, mode):
                continue
            started = time.monotonic()
            execution_mode = chosen.execution_mode or default_execution_mode(program, mode)
            with pace(program):
                golden = record(program, mode, execution_mode, stdout)
            target = program.golden(mode)
            if chosen.into:
                chosen.into.mkdir(parents=True, exist_ok=True)
                target = chosen.into / target.name
            target.write_text(pretty(golden) + "\n", encoding="utf-8")
            failed = '"error":' in canonical(golden)
            surprise = failed != (program.rule == "raises")
            unexpected += surprise
            sys.stderr.write(
                f"{'UNEXPECTED ' if surprise else ''}{program.name} {mode} "
                f"{'failed' if failed else 'ok'} {time.monotonic() - started:.1f} s\n"
            )
    return 1 if unexpected else 0


if __name__ == "__main__":
    raise SystemExit(main())
