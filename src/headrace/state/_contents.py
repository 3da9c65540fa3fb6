"""Where state is read from: a savepoint, a checkpoint that no job runs on, or a restore point."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from headrace.common._storage.locations import is_url, location_of
from headrace.errors import ConfigurationError
from headrace.runners.savepoint_folders import is_savepoint
from headrace.runtime.savepoint.folder import StoredSavepoint
from headrace.runtime.savepoint.job_state import read_split_states
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.tasks.source_task import SplitState

if TYPE_CHECKING:
    from headrace.runners.spark.state_tables import Records


class Contents(Protocol):
    """The state of a job after a micro-batch."""

    @property
    def folder(self) -> str:
        """Where it is."""

    @property
    def job(self) -> str:
        """The name of the job."""

    only_data: bool
    """Whether pickles that can run code are refused."""

    @property
    def operators(self) -> Sequence[OperatorEntry]:
        """The operators with state."""

    @property
    def offset(self) -> Mapping[str, Any]:
        """The source positions, as JSON of the coordinator."""

    def split_states(self) -> Mapping[tuple[str, str], SplitState]:
        """Return the states of sources' splits."""

    def records(
        self,
        table: str,
        operator: str,
        groups: Collection[int] | None = None,
        *,
        only_shown: bool = True,
    ) -> Records:
        """Return the records of an operator in ``states`` or ``timers``.

        ``groups``: others than those of these key groups are not needed; None: all are.
        ``only_shown``: objects whose class cannot be imported may be pickled as stand-ins.
        """


class SavepointContents:
    """The state in a savepoint."""

    def __init__(self, stored: StoredSavepoint, allow_pickles: bool = False) -> None:
        self.stored = stored
        self.only_data = not allow_pickles
        self.folder, self.job = stored.folder, stored.manifest.job
        self.operators, self.offset = stored.manifest.operators, stored.manifest.offset

    def split_states(self) -> Mapping[tuple[str, str], SplitState]:
        """Return the states of sources' splits."""
        return read_split_states(self.stored)

    def records(
        self,
        table: str,
        operator: str,
        groups: Collection[int] | None = None,
        *,
        only_shown: bool = True,
    ) -> Records:
        """Return the records of an operator; the reader's filter leaves out other key groups.

        They are as they are stored, whatever ``only_shown`` is.
        """
        from headrace.runners.spark.state_tables import stored_records

        paths = self.stored.files_of(table, operator)
        return stored_records([f"{self.folder}/{path}" for path in paths])


def find_operator(operators: Iterable[OperatorEntry], uid: str) -> OperatorEntry | None:
    """Return the operator of a uid or id; None if there is none."""
    return next((entry for entry in operators if uid in (entry.uid, entry.id)), None)


def unknown_operator_error(operators: Iterable[OperatorEntry], uid: str) -> ConfigurationError:
    """Return the error for a uid that no operator has."""
    known = ", ".join(entry.uid or entry.id for entry in operators) or "none"
    return ConfigurationError(f"no operator has the uid {uid!r}", hint=f"there are: {known}")


def reach(location: str) -> None:
    """Have remote storage reached as the Spark session reaches it."""
    if is_url(location):
        from headrace.runners.spark.startup.storage import use_storage
        from headrace.runners.spark.state_tables import state_session

        use_storage(state_session())


def contents_of(url: str, allow_pickles: bool = False) -> Contents:
    """Return the state in a folder; ``allow_pickles``: a savepoint may have more than data.

    Raises:
        CheckpointLockedError: it is a checkpoint, and a job runs on it.
        CheckpointError: there is no state, or what says whose it is is damaged.
    """
    from headrace.runners.spark.committed_state import CommittedState, is_checkpoint

    folder = location_of(url)
    reach(folder)
    if not is_savepoint(folder) and is_checkpoint(folder):
        return CommittedState.open(folder)
    return SavepointContents(StoredSavepoint(folder), allow_pickles)
