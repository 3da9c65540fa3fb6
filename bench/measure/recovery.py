"""Much state after kill -9, beside PyFlink with RocksDB: ``python -m bench.measure.recovery 100``.

Each of the two keeps so many megabytes of values (``recovery_job``). All its processes are killed;
it is started again at once from its last checkpoint; a savepoint is taken while it runs; it is
killed, and begins anew from the savepoint. A start counts from the new process (the JVM's start is
in it) to the first record that finds its state, and to the next commit: of a micro-batch, and of
one of Flink's checkpoints, of which one is due every ten seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from bench.environments import ROOT, python_for
from bench.measure.recovery_job import NAME, VALUE_CHARS
from bench.processes import end_session

LIMIT_SECONDS = 3_000.0


@contextmanager
def running(package: str, folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The job in a session of its own; in the end all of the session is killed."""
    log = (folder / f"log-{arguments[1]}").open("wb")
    command = [python_for(package), "-m", "bench.measure.recovery_job", package, str(folder)]
    job = subprocess.Popen(
        [*command, *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        yield job
    finally:
        log.close()
        end_session(job, gently=False)


def wait(job: subprocess.Popen[bytes], folder: Path, until: Callable[[], bool]) -> float:
    """Wait; return the seconds.

    Raises:
        RuntimeError: the job ended, or the time was over.
    """
    began = time.monotonic()
    while not until():
        if job.poll() is not None or time.monotonic() > began + LIMIT_SECONDS:
            logs = max(folder.glob("log-*"), key=lambda path: path.stat().st_mtime)
            raise RuntimeError(logs.read_text(errors="replace")[-4000:])
        time.sleep(0.02)
    return time.monotonic() - began


def commits(package: str, folder: Path) -> Mapping[int, Path]:
    """The micro-batches or checkpoints that are complete, by number."""
    if package == "headrace":
        found = (folder / "checkpoint" / NAME / "spark" / "commits").glob("[0-9]*")
        return {int(path.name): path for path in found}
    found = (folder / "checkpoints").glob("*/chk-*/_metadata")
    return {int(path.parent.name.removeprefix("chk-")): path.parent for path in found}


def last_commit(package: str, folder: Path) -> int:
    """The number of the last one; -1 for none."""
    return max(commits(package, folder), default=-1)


def measure(package: str, keys: int, folder: Path) -> dict[str, float]:
    """The seconds of each act."""
    found = {}
    with running(package, folder, str(keys), "0") as job:
        found["filled"] = wait(job, folder, (folder / "full").exists)
        # What was changed last is to be in a commit, too.
        last = last_commit(package, folder)
        wait(job, folder, lambda: last_commit(package, folder) > last + 1)
    begin = []
    if package == "pyflink":
        begin = [commits(package, folder)[last_commit(package, folder)].as_uri()]
    with running(package, folder, str(keys), "1", *begin) as job:
        found |= started(package, job, folder, "1", "killed")
        (folder / "wanted").mkdir()
        wait(job, folder, (folder / "saved.json").exists)
        saved = json.loads((folder / "saved.json").read_text())
        found["savepoint"] = saved["seconds"]
    other = folder / "other"
    other.mkdir()
    with running(package, other, str(keys), "2", saved["place"]) as job:
        found |= started(package, job, other, "2", "restored")
    return found


def started(
    package: str, job: subprocess.Popen[bytes], folder: Path, attempt: str, name: str
) -> dict[str, float]:
    """The seconds from a start to the first record with its state, and to the next commit."""
    last = last_commit(package, folder)
    first = wait(job, folder, (folder / f"first-{attempt}").exists)
    rest = wait(job, folder, lambda: last_commit(package, folder) > last)
    return {f"{name}: first record": first, f"{name}: next commit": first + rest}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("megabytes", type=int, nargs="*", default=[100])
    parser.add_argument("--peers", nargs="*", default=["headrace", "pyflink"])
    given = parser.parse_args()
    for megabytes in given.megabytes:
        keys = megabytes * 1_000_000 // VALUE_CHARS
        for package in given.peers:
            with tempfile.TemporaryDirectory(prefix="headrace-recovery-") as name:
                found = measure(package, keys, Path(name))
            line = {act: round(seconds, 1) for act, seconds in found.items()}
            print(json.dumps({"megabytes": megabytes, "peer": package, **line}), flush=True)


if __name__ == "__main__":
    main()
