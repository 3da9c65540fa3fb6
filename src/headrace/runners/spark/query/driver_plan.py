"""What the processes beside the driver need to know of a job, and how it reaches them."""

from __future__ import annotations

import pickle
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from headrace.runners import program_classes
from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import CheckpointFolder
from headrace.runners.spark.notices import send_warnings
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.temporary_files import new_subfolder
from headrace.runtime.program import JobProgram

_PROGRAM, _QUERY = "program", "query"


@dataclass(frozen=True)
class Stop:
    """An end between two micro-batches, asked for and answered by files in a folder."""

    folder: str

    @property
    def asked(self) -> Path:
        """A file that exists once no further micro-batch is to be planned."""
        return Path(self.folder) / "stop-asked"

    @property
    def answered(self) -> Path:
        """A file that exists once none is planned any more: all micro-batches are committed."""
        return Path(self.folder) / "stop-answered"


@dataclass(frozen=True)
class QueryPlan:
    """What differs from one query of a job to the next.

    ``workers`` is what travels on to the workers. ``owner`` is the epoch in which the run owns the
    checkpoint. ``address`` and ``token`` reach the user's process for what it prints, collects and
    shows. ``generation``: that of Spark's checkpoint. ``stop``: where the driver asks for an end
    between two micro-batches; None: it never does (a batch). ``notices``: the file for warnings.
    """

    workers: ProgramRef
    checkpoint_folder: CheckpointFolder
    owner: int
    address: tuple[str, int]
    token: bytes
    generation: Generation = field(default_factory=Generation)
    stop: Stop | None = None
    notices: str | None = None


@dataclass(frozen=True)
class DriverPlan:
    """A whole program, collections included, and the query that it runs in."""

    program: JobProgram
    query: QueryPlan


class PlanFolder:
    """A temporary folder with the plan of a job, found by its path.

    The program is written once, however many queries the job has. ``pickled`` gives its bytes.
    """

    def __init__(self, program: JobProgram, pickled: Callable[[JobProgram], bytes]) -> None:
        self._path = new_subfolder("plan-")
        (self._path / _PROGRAM).write_bytes(pickled(program))

    @property
    def notices(self) -> str:
        """The file for the warnings of the job's processes."""
        return str(self._path / "notices")

    @property
    def stop(self) -> Stop:
        """Where an end of the query is asked for."""
        return Stop(str(self._path))

    def put(self, query: QueryPlan) -> str:
        """The folder's path, for a query that starts now. It replaces the query before."""
        for left in (self.stop.asked, self.stop.answered):
            left.unlink(missing_ok=True)
        (self._path / _QUERY).write_bytes(pickle.dumps(query, 5))
        return str(self._path)

    def remove(self) -> None:
        """Remove the folder; what Spark's processes still write into it goes with this process."""
        shutil.rmtree(self._path, ignore_errors=True)


def read_plan(folder: str) -> DriverPlan:
    """The plan in a folder."""
    path = Path(folder)
    query: QueryPlan = pickle.loads((path / _QUERY).read_bytes())
    send_warnings(query.notices)
    query.workers.brought.enter_beside_driver()
    program, _ = program_classes.loads((path / _PROGRAM).read_bytes())
    return DriverPlan(program, query)
