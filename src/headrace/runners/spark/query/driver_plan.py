"""The plan of a job for the processes beside the driver, passed through a folder."""

from __future__ import annotations

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
    def acknowledged(self) -> Path:
        """Exists once no more are planned, and all are committed."""
        return Path(self.folder) / "stop-answered"


@dataclass(frozen=True)
class QueryPlan:
    """What differs from one query of a job to the next.

    ``program_ref``: what is sent on to the workers. ``owner``: the epoch in which the run owns the
    checkpoint. ``address`` and ``token``: of the user's process, for what it prints and collects.
    ``generation``: that of Spark's checkpoint. ``stop``: where the driver requests a stop between
    two micro-batches; None for a batch. ``warnings_file``: where processes write their warnings.
    ``planned_file``: where the source writes what it has planned last, for observers; None: not.
    ``reading_ms_file``: where the user's process writes how long source tasks worked; None: not.
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


@dataclass(frozen=True)
class DriverPlan:
    """A complete program, with the data of collections, and its query."""

    program: JobProgram
    query: QueryPlan


class PlanFolder:
    """A temporary folder with the plan of a job.

    The program is written once for all queries of the job. ``pickled`` pickles it.
    """

    def __init__(self, program: JobProgram, pickled: Callable[[JobProgram], bytes]) -> None:
        self._path = new_subfolder("plan-")
        (self._path / _PROGRAM).write_bytes(pickled(program))

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

    def write_query(self, query: QueryPlan) -> str:
        """Write the plan of the next query, and return the folder's path."""
        for left in (self.stop.requested, self.stop.acknowledged):
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
