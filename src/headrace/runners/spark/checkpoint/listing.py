"""The jobs that have a checkpoint in a folder, for people: nothing here changes a checkpoint."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from headrace.common._storage.locations import file_system_of, location_of
from headrace.common._storage.object_store import ObjectStore
from headrace.connector import JsonValue, Pending
from headrace.errors import HeadraceError
from headrace.runners.processes import this_machine
from headrace.runners.spark.checkpoint.layout import BEGUN, JOB, CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.owners import Owner, latest_owner, read_lease
from headrace.runners.spark.checkpoint.progress import have_been_read, log_of
from headrace.runners.spark.checkpoint.restart_log import Restart, restarts_of
from headrace.runners.spark.checkpoint.split_states import SplitStates
from headrace.runtime.coordination.coordinator import source_watermarks
from headrace.runtime.coordination.offset import Offset

RUNNING, STOPPED, FINISHED, NEW, DAMAGED = "running", "stopped", "finished", "new", "damaged"
DIED = "died"
"""The state of a job whose process has ended without giving its checkpoint back."""
UNKNOWN = "running or ended"
"""The state of a job of another machine that has not given its checkpoint back."""


@dataclass(frozen=True)
class StoredJob:
    """A job with a checkpoint.

    ``program``: the identity of the program that ran last. ``stateful``: its sources, operators
    with state, and sinks that hold records back. ``micro_batch``: the last one that is completed;
    None before the first. ``at_ms``: when that was planned. ``positions``: by source and split.
    ``watermarks``: the lowest of each source. ``unread``: what was unread when the last micro-batch
    was planned, by the sources that knew. ``restarts``: the last ones. ``problem``: why the rest
    cannot be read.
    """

    name: str
    folder: str
    state: str
    program: str = ""
    stateful: tuple[str, ...] = ()
    micro_batch: int | None = None
    at_ms: int | None = None
    positions: Mapping[str, Mapping[str, JsonValue]] | None = None
    watermarks: Mapping[str, int] | None = None
    unread: Mapping[str, Pending] = field(default_factory=dict)
    size_bytes: int = 0
    host: str | None = None
    pid: int | None = None
    restarts: tuple[Restart, ...] = ()
    problem: str = ""

    @property
    def lag_ms(self) -> int | None:
        """How far the watermark was behind the time of the last micro-batch; None: not known."""
        known = [at for at in (self.watermarks or {}).values() if abs(at) < 1 << 52]
        return self.at_ms - min(known) if known and self.at_ms is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON value."""
        return {
            "name": self.name,
            "state": self.state,
            "folder": self.folder,
            "program": self.program,
            "stateful": [*self.stateful],
            "micro-batch": self.micro_batch,
            "at-ms": self.at_ms,
            "positions": {key: dict(splits) for key, splits in (self.positions or {}).items()},
            "watermarks-ms": dict(self.watermarks or {}),
            "lag-ms": self.lag_ms,
            "unread": {
                key: {"records": left.records, "bytes": left.size_bytes}
                for key, left in self.unread.items()
            },
            "size-bytes": self.size_bytes,
            "host": self.host,
            "pid": self.pid,
            "restarts": [asdict(restart) for restart in self.restarts],
            "problem": self.problem or None,
        }


def stored_jobs(base: str) -> list[StoredJob]:
    """Return the jobs with a checkpoint in a folder, sorted by name."""
    place = location_of(base)
    files = file_system_of(place)
    folders = [posixpath.join(place, name) for name in files.names(place)]
    found = (_read_job(CheckpointFolder(folder)) for folder in folders if files.is_folder(folder))
    return sorted((job for job in found if job is not None), key=lambda job: job.name)


def _read_job(folder: CheckpointFolder) -> StoredJob | None:
    """Return the job of a folder; None if the folder is no checkpoint."""
    files, store = folder.files, folder.store
    if not files.exists(posixpath.join(folder.directory, JOB)):
        return None
    size = sum(file.size_bytes for file in files.all_files(folder.directory))
    name = posixpath.basename(folder.directory)
    try:
        metadata = CheckpointMetadata.read(store)
        if metadata is None:
            return None
        name = metadata.name
        return _describe(folder, store, metadata, size)
    except (HeadraceError, OSError) as error:
        problem = f"{type(error).__name__}: {error}"
        return StoredJob(name, folder.directory, DAMAGED, size_bytes=size, problem=problem)


def _describe(
    folder: CheckpointFolder, store: ObjectStore, metadata: CheckpointMetadata, size: int
) -> StoredJob:
    log = log_of(folder.spark(metadata.generation.number))
    end = log.end if log.end is not None else log.planned
    owner = latest_owner(store)
    stateful = [part for part in metadata.layout["parts"] if part["id"]]
    offset = None if log.end is None else Offset.from_json(log.end)
    states = SplitStates(store)
    watermarks = (
        source_watermarks(states.load(offset.epoch))
        if offset is not None and states.has(offset.epoch)
        else {}
    )
    return StoredJob(
        name=metadata.name,
        folder=folder.directory,
        state=_state_of(store, owner, end),
        program=metadata.identity,
        stateful=tuple(f"{part['role']} {part['name']!r}" for part in stateful),
        micro_batch=None if offset is None else log.committed + metadata.generation.first_batch,
        at_ms=None if offset is None else offset.now_ms,
        positions={}
        if offset is None
        else {key: source.end_positions() for key, source in offset.sources.items()},
        watermarks=watermarks,
        unread={}
        if offset is None
        else {
            key: source.unread
            for key, source in offset.sources.items()
            if source.unread != Pending()
        },
        size_bytes=size,
        host=None if owner is None else owner.process.host,
        pid=None if owner is None else owner.process.pid,
        restarts=tuple(restarts_of(store)),
    )


def is_running(folder: CheckpointFolder) -> bool | None:
    """Return whether a driver runs on a checkpoint; None: it is of another machine.

    Such a driver has not given the checkpoint back, and may have been killed.
    """
    state = _state_of(folder.store, latest_owner(folder.store), None)
    return None if state == UNKNOWN else state == RUNNING


def _state_of(store: ObjectStore, owner: Owner | None, end: Mapping[str, Any] | None) -> str:
    """Return whether a driver runs on the checkpoint, and if not, how it ended.

    A driver gives the checkpoint back when it ends, whatever the reason, unless it is killed.
    """
    ended = STOPPED
    if owner is not None:
        lease = read_lease(store, owner)
        if lease is None or not lease.released:
            machine = this_machine()
            if not machine.can_look_up(owner.process):
                return UNKNOWN
            if machine.is_running(owner.process):
                return RUNNING
            ended = DIED
    if end is None:
        return ended if ended == DIED or store.get(BEGUN) is not None else NEW
    return FINISHED if have_been_read(end, [*end["sources"]]) else ended
