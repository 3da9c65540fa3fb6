"""A job's checkpoint: its folder, who may use it, and whose it is.

<execution.checkpointing.dir>/<pipeline.name>/
    headrace.json    the program's layout, the shuffle partitions, the scope of its sinks
    driver.lock      held (flock) by the driver that runs; names its processes
    owner            the run id whose commits count
    commit.lock      held during a commit
    splits/          what splits remember (see states.py)
    source-<n>/      what a source's enumerator keeps
    spark/           Spark's own checkpoint
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from pathlib import Path
from types import TracebackType
from typing import Any

from headrace.common.local_files import local_path
from headrace.common.options.catalogue import FRESH_VARIABLE
from headrace.errors import CheckpointError, CheckpointLockedError
from headrace.runners.spark.checkpoint.progress import OWNER_FILE
from headrace.runtime.layout import Layout, check, must_move
from headrace.runtime.program import JobProgram

_WAIT_FOR_JVM_SECONDS = 30.0


class Checkpoint:
    """The checkpoint of one run, locked from ``open`` to ``close``."""

    def __init__(self, directory: Path, temporary: bool) -> None:
        self.directory = directory
        self.temporary = temporary
        self._lock = (directory / "driver.lock").open("a+")

    @classmethod
    def open(
        cls, base: str | None, program: JobProgram, fresh: bool, ignore_unclaimed: bool = False
    ) -> Checkpoint:
        """Lock the job's checkpoint, in a temporary folder where no base is configured.

        Raises:
            CheckpointLockedError: another driver runs on it.
            CheckpointError: the program cannot go on from what it holds (``layout.check``).
        """
        if base is None:
            checkpoint = cls(Path(tempfile.mkdtemp(prefix="headrace-checkpoint-")), True)
        else:
            directory = Path(local_path(base)) / _folder_name(program.name)
            directory.mkdir(parents=True, exist_ok=True)
            checkpoint = cls(directory.resolve(), False)
        checkpoint._acquire()
        try:
            if fresh:
                checkpoint._clear()
            checkpoint._check(program, ignore_unclaimed)
            checkpoint._drop_unplanned()
        except BaseException:
            checkpoint.close()
            raise
        return checkpoint

    @property
    def spark(self) -> str:
        """The folder for Spark's own checkpoint."""
        return str(self.directory / "spark")

    @property
    def resumed(self) -> bool:
        """True when an earlier run has planned micro-batches here."""
        return (self.directory / "spark" / "offsets").exists()

    def _acquire(self) -> None:
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._lock.seek(0)
            holder = _holder(self._lock.read()) or "unknown"
            self._lock.close()
            raise CheckpointLockedError(
                "another driver is running on this checkpoint",
                where={"checkpoint": str(self.directory), "driver": f"process {holder}"},
                hint="stop that job, or give this one another pipeline.name",
            ) from None
        self._wait_for_dead_driver()

    def _wait_for_dead_driver(self) -> None:
        """A driver that was killed leaves a JVM that notices a moment later: wait for its end."""
        self._lock.seek(0)
        text = self._lock.read()
        jvm = int(json.loads(text).get("jvm") or 0) if text else 0
        if not jvm or jvm == own_jvm_pid():
            return
        deadline = time.monotonic() + _WAIT_FOR_JVM_SECONDS
        while _is_java(jvm):
            if time.monotonic() > deadline:
                raise CheckpointLockedError(
                    "the Spark of an earlier driver is still running on this checkpoint",
                    where={"checkpoint": str(self.directory), "process": str(jvm)},
                    hint="end that process, then start the job again",
                )
            time.sleep(0.05)

    def give_to(self, run_id: str) -> None:
        """From now on only the commits of this run count."""
        (self.directory / OWNER_FILE).write_text(run_id)

    def claim(self, jvm_pid: int | None) -> None:
        """Write down which processes run on the checkpoint."""
        self._lock.seek(0)
        self._lock.truncate()
        self._lock.write(json.dumps({"driver": os.getpid(), "jvm": jvm_pid}))
        self._lock.flush()

    def _clear(self) -> None:
        for path in self.directory.iterdir():
            if path.name == "driver.lock":
                continue
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()

    def _check(self, program: JobProgram, ignore_unclaimed: bool) -> None:
        path = self.directory / "headrace.json"
        now = Layout.of(program)
        if not path.exists():
            self._write_facts(
                path,
                {
                    "partitions": program.parallelism,
                    "scope": uuid.uuid4().hex[:12],
                    "layout": now.to_json(),
                },
            )
            return
        facts = json.loads(path.read_text())
        before = Layout.from_json(facts["layout"])
        try:
            check(before, now, ignore_unclaimed)
            self._check_stages(before, now)
        except CheckpointError as error:
            hint = (
                f"{error.hint}; to start anew: `headrace run --fresh`, or {FRESH_VARIABLE}=1 in the"
                " environment"
            )
            where = {"checkpoint": str(self.directory), **error.where}
            raise CheckpointError(
                f"{program.name!r} cannot go on from its checkpoint: {error.message}",
                where=where,
                hint=hint,
            ) from None
        self._write_facts(path, {**facts, "layout": now.following(before).to_json()})

    @staticmethod
    def _check_stages(before: Layout, now: Layout) -> None:
        moved = must_move(before, now)
        if moved:
            raise CheckpointError(
                "operators with state lie at another depth of the program than before",
                where={"operators": ", ".join(str(p) for p in now.parts if p.id in moved)},
                hint="keep the number of exchanges before them",
            )

    def _drop_unplanned(self) -> None:
        """Remove what a driver left that was killed before it had planned a micro-batch.

        Spark refuses to begin in such a folder, and nothing in it counts yet.
        """
        offsets = self.directory / "spark" / "offsets"
        if offsets.exists() and not any(path.name.isdigit() for path in offsets.iterdir()):
            shutil.rmtree(self.directory / "spark")

    @staticmethod
    def _write_facts(path: Path, facts: dict[str, Any]) -> None:
        aside = path.with_suffix(".tmp")
        aside.write_text(json.dumps(facts))
        aside.replace(path)

    @property
    def partitions(self) -> int:
        """The number of shuffle partitions, fixed when the checkpoint was made."""
        return int(self._facts()["partitions"])

    @property
    def scope(self) -> str:
        """What tells this checkpoint's sinks from those of any other."""
        return str(self._facts()["scope"])

    def _facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads((self.directory / "headrace.json").read_text())
        return facts

    def close(self) -> None:
        """Release the lock; a temporary checkpoint is removed."""
        if self._lock.closed:
            return
        self._lock.close()
        if self.temporary:
            shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _folder_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "job"


def _holder(text: str) -> str | None:
    return str(json.loads(text)["driver"]) if text else None


def own_jvm_pid() -> int | None:
    """The process id of this driver's JVM, where this process started it."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)


def _is_java(pid: int) -> bool:
    """True when a process of this id runs and is a JVM (ids are given out again)."""
    try:
        command = Path(f"/proc/{pid}/comm").read_text().strip()
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return command == "java" and state != "Z"
