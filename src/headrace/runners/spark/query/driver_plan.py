"""The plan of a job for the processes beside the driver, passed through a folder."""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headrace.common._storage.locations import use_access
from headrace.runners import program_classes
from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.worker_warnings import write_warnings_to
from headrace.runners.temporary_files import new_subfolder
from headrace.runtime.program import JobProgram

_PROGRAM, _QUERY = "program", "query"


@dataclass(frozen=True)
class StopSignal:
    """Requests a stop between two micro-batches, with files in a folder."""

    folder: str

    @property
    def requested(self) -> Path:
        """Exists once no more micro-batches are to be planned."""
        return Path(self.folder) / "stop-asked"

    @property
    def drain_requested(self) -> Path:
        """Exists if a last micro-batch is to end event time before the stop."""
        return Path(self.folder) / "drain-asked"

    @property
    def acknowledged(self) -> Path:
        """Exists once no more are planned, and all are committed."""
        return Path(self.folder) / "stop-answered"


@dataclass(frozen=True)
class PinSignal:
    """Requests a pin between two micro-batches, with files in a folder."""

    folder: str

    @property
    def _requested(self) -> Path:
        return Path(self.folder) / "pin-asked"

    @property
    def _answered(self) -> Path:
        return Path(self.folder) / "pin-answered"

    def request(self, name: str) -> None:
        """Request a pin of this name; one at a time."""
        self._answered.unlink(missing_ok=True)
        _write_whole(self._requested, name)

    def withdraw(self) -> None:
        """Request no pin any more."""
        self._requested.unlink(missing_ok=True)

    def requested_name(self) -> str | None:
        """Return the name of the pin that is requested; None if none is."""
        try:
            return self._requested.read_text()
        except FileNotFoundError:
            return None

    def answer(self, name: str, error: str) -> None:
        """Answer that the pin was made, or why not."""
        _write_whole(self._answered, json.dumps([name, error]))
        self.withdraw()

    def answer_to(self, name: str) -> str | None:
        """Return the error of a requested pin, empty if it was made; None without an answer."""
        try:
            answered, error = json.loads(self._answered.read_text())
        except FileNotFoundError:
            return None
        return str(error) if answered == name else None


def _write_whole(path: Path, text: str) -> None:
    """Write a file that is never read half written."""
    draft = path.with_suffix(".draft")
    draft.write_text(text)
    draft.replace(path)


@dataclass(frozen=True)
class QueryPlan:
    """What differs from one query of a job to the next.

    ``program_ref``: what is sent on to the workers. ``owner``: the epoch in which the run owns the
    checkpoint. ``address`` and ``token``: of the user's process, for what it prints and collects.
    ``generation``: that of Spark's checkpoint. ``stop``: where the driver requests a stop between
    two micro-batches; None for a batch. ``warnings_file``: where processes write their warnings.
    ``planned_file``: where the source writes what it has planned last, for observers; None: not.
    ``reading_ms_file``: where the user's process writes how long source tasks worked; None: not.
    ``pins``: where the driver requests a pin; None for a batch.
    """

    program_ref: ProgramRef
    checkpoint_folder: CheckpointFolder
    owner: int
    address: tuple[str, int]
    token: bytes
    generation: Generation = field(default_factory=Generation)
    stop: StopSignal | None = None
    warnings_file: str | None = None
    planned_file: str | None = None
    reading_ms_file: str | None = None
    pins: PinSignal | None = None


@dataclass(frozen=True)
class DriverPlan:
    """A complete program, with the data of collections, and its query."""

    program: JobProgram
    query: QueryPlan


class PlanFolder:
    """A temporary folder with the plan of a job.

    The program is written once for all queries of the job, and again when the job is rescaled.
    ``pickled`` pickles it.
    """

    def __init__(self, program: JobProgram, pickled: Callable[[JobProgram], bytes]) -> None:
        self._path, self._pickled = new_subfolder("plan-"), pickled
        self.write_program(program)

    def write_program(self, program: JobProgram) -> None:
        """Write the program of the next queries."""
        (self._path / _PROGRAM).write_bytes(self._pickled(program))

    @property
    def warnings_file(self) -> str:
        """The file for warnings of the job's processes."""
        return str(self._path / "notices")

    @property
    def planned_file(self) -> str:
        """The file for what is planned last (``PlannedBatch``)."""
        return str(self._path / "planned")

    @property
    def reading_ms_file(self) -> str:
        """The file for the working time of source tasks (``write_reading_ms``)."""
        return str(self._path / "reading-ms")

    @property
    def stop(self) -> StopSignal:
        """The signal that stops the query."""
        return StopSignal(str(self._path))

    @property
    def pins(self) -> PinSignal:
        """The signal that requests a pin."""
        return PinSignal(str(self._path))

    def write_query(self, query: QueryPlan) -> str:
        """Write the plan of the next query, and return the folder's path."""
        for left in (self.stop.requested, self.stop.drain_requested, self.stop.acknowledged):
            left.unlink(missing_ok=True)
        (self._path / _QUERY).write_bytes(pickle.dumps(query, 5))
        return str(self._path)

    def remove(self) -> None:
        """Remove the folder.

        Files that Spark's processes write later are removed with this process.
        """
        shutil.rmtree(self._path, ignore_errors=True)


def read_plan(folder: str) -> DriverPlan:
    """Read the plan in a folder."""
    path = Path(folder)
    query: QueryPlan = pickle.loads((path / _QUERY).read_bytes())
    write_warnings_to(query.warnings_file)
    query.program_ref.dependencies.activate_on_driver()
    use_access(query.program_ref.storage)
    program, _ = program_classes.loads((path / _PROGRAM).read_bytes())
    return DriverPlan(program, query)
