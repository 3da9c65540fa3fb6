"""How far a job has read: values with fields, and their JSON in a checkpoint's log.

    {"version": 1,
     "epoch": n, "now_ms": ms,
     "steady_ms": ms,                  for intervals and timeouts (``runtime.job_time``)
     "program": text,                  the identity of the program that planned this epoch
     "cut": {"tasks": n,               the maximum number of tasks of this epoch
             "task_records": n,        the number of records of each task; 1 if missing
             "chunk_records": n},      the number of records between two watermarks
     "sources": {"<id>": {
        "positions": {split: position},  of unfinished splits, at the end of this epoch
        "started": {split: position},    first positions of the splits that appear in this epoch
        "finished": {split: position},   end positions of splits that finish in it; null: not known
        "idle": [split],                 splits that are idle now
        "seen_ms": {split: ms},          monotonic time of a split's last progress, for idleness;
                                         increased by the time it had to wait for other splits
        "ended": bool,
        "until": text,                   where the source stops (``coordination.stops``)
        "stopped": {split: position},    splits at their stop, without drain; none if missing
        "suspended": true,               ended without drain; false if missing
        "drained": true,                 a split has its final watermark; false if missing
        "unread": n,                     records after this epoch, when it was planned
        "unread_bytes": n}}}             both only for people, and only if the source knows them

A source is in ``sources`` from the first epoch in which its enumerator was asked. Keys have a
stable order, because Spark compares offsets as text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from headrace.connector import JsonValue, Pending
from headrace.errors import CheckpointError

VERSION = 1


def source_key(source_id: object) -> str:
    """Return the key of a source in an offset."""
    return str(source_id)


@dataclass(frozen=True)
class WorkLimits:
    """The division of an epoch's work into tasks.

    ``tasks``: the maximum number of tasks. ``chunk_records``: the number of records between two
    watermarks. ``task_records``: the number of records of each task, if ``tasks`` allows it; 1: it
    is not known what records cost, and there may be ``tasks`` tasks.
    """

    tasks: int
    chunk_records: int
    task_records: int = 1

    def tasks_for(self, record_count: int) -> int:
        """Return the maximum number of tasks for an epoch that reads ``record_count`` records."""
        if self.task_records == 1:
            return self.tasks  # an epoch of an older build is cut as that build did
        return max(min(self.tasks, -(-record_count // self.task_records)), 1)


@dataclass(frozen=True)
class SourceProgress:
    """The ranges of one source that one epoch reads.

    A range starts at the split's position in the offset before, or in ``started``. It ends at the
    position in ``positions``, or in ``finished`` (None: only the enumerator knows the end).
    """

    positions: Mapping[str, JsonValue] = field(default_factory=dict)
    started: Mapping[str, JsonValue] = field(default_factory=dict)
    finished: Mapping[str, JsonValue] = field(default_factory=dict)
    idle: frozenset[str] = frozenset()
    seen_ms: Mapping[str, int] = field(default_factory=dict)
    ended: bool = False
    until: str | None = field(default=None, compare=False)
    """Where the source stops (``runtime.stops``); None in checkpoints of older builds."""
    stopped: Mapping[str, JsonValue] = field(default_factory=dict)
    """The splits that are at their stop and were not drained: no ``advance`` is asked of them."""
    suspended: bool = False
    """The source has ended, and no last watermark was sent: a later run reads on."""
    drained: bool = field(default=False, compare=False)
    """The last watermark was sent for what another stop would have left open."""
    unread: Pending = field(default=Pending(), compare=False)
    """What was unread after this epoch when it was planned; no plan depends on it."""

    def carried_over(self) -> SourceProgress:
        """Return the progress of a later epoch that reads nothing."""
        if not self.started and not self.finished:
            return self
        return replace(self, started={}, finished={})

    def end_positions(self) -> dict[str, JsonValue]:
        """Return the position of each split at the end of the epoch, without unknown ones."""
        known = {split: at for split, at in self.finished.items() if at is not None}
        return {**self.positions, **self.stopped, **known}

    def differs_from(self, before: SourceProgress) -> bool:
        """Return True if this epoch reads or announces something new after ``before``."""
        return replace(before.carried_over(), seen_ms={}) != replace(self, seen_ms={})

    def to_json(self) -> dict[str, Any]:
        """Return the fields, as JSON."""
        said: dict[str, Any] = {"until": self.until, "stopped": dict(self.stopped)}
        said |= {"suspended": self.suspended, "drained": self.drained}
        known = {"unread": self.unread.records, "unread_bytes": self.unread.size_bytes}
        return {
            "positions": dict(self.positions),
            "started": dict(self.started),
            "finished": dict(self.finished),
            "idle": sorted(self.idle),
            "seen_ms": dict(self.seen_ms),
            "ended": self.ended,
            **{key: value for key, value in said.items() if value or value == ""},
            **{key: int(value) for key, value in known.items() if value is not None},
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SourceProgress:
        """Return the value of ``to_json``'s result."""
        return SourceProgress(
            _require_mapping(data["positions"]),
            _require_mapping(data["started"]),
            _require_mapping(data["finished"]),
            frozenset(data["idle"]),
            _require_mapping(data["seen_ms"]),
            bool(data["ended"]),
            data.get("until"),
            _require_mapping(data.get("stopped", {})),
            bool(data.get("suspended")),
            bool(data.get("drained")),
            Pending(data.get("unread"), data.get("unread_bytes")),
        )


def _limits_to_json(limits: WorkLimits) -> dict[str, int]:
    many = {"task_records": limits.task_records} if limits.task_records > 1 else {}
    return {"tasks": limits.tasks, "chunk_records": limits.chunk_records, **many}


def _limits_from_json(data: Mapping[str, Any]) -> WorkLimits:
    return WorkLimits(
        int(data["tasks"]), int(data["chunk_records"]), int(data.get("task_records", 1))
    )


def _require_mapping(data: Any) -> Mapping[str, Any]:
    """Return ``data``; raise TypeError if it is not a mapping."""
    if not isinstance(data, Mapping):
        raise TypeError(f"a mapping is expected, not {data!r:.100}")
    return data


NO_PROGRESS = SourceProgress()
"""Of a source that no epoch has asked yet."""


@dataclass(frozen=True)
class Offset:
    """The end of an epoch (a planned micro-batch), with all that is needed to plan it again."""

    epoch: int
    now_ms: int
    monotonic_ms: int
    work_limits: WorkLimits
    sources: Mapping[str, SourceProgress]
    program: str = ""

    def source(self, source_id: object) -> SourceProgress:
        """Return the progress of one source."""
        return self.sources.get(source_key(source_id), NO_PROGRESS)

    def with_unread(self, unread: Mapping[str, Pending]) -> Offset:
        """Return this offset with the unread input of its sources, by source id."""
        left = {source_key(source_id): found for source_id, found in unread.items()}
        sources = {
            key: replace(found, unread=left.get(key, Pending()))
            for key, found in self.sources.items()
        }
        return replace(self, sources=sources)

    def merged_with_earlier(self, earlier: Offset) -> Offset:
        """Merge the epoch before into this one: splits start and finish as in either."""
        sources = {}
        for key, found in self.sources.items():
            first = earlier.sources.get(key, NO_PROGRESS)
            started = {**found.started, **first.started}
            finished = {**found.finished, **first.finished}
            sources[key] = replace(found, started=started, finished=finished)
        return replace(self, sources=sources)

    def to_json(self) -> dict[str, Any]:
        """Return a JSON object whose text is the same for equal offsets."""
        plain = {
            "version": VERSION,
            "epoch": self.epoch,
            "now_ms": self.now_ms,
            "steady_ms": self.monotonic_ms,
            "program": self.program,
            "cut": _limits_to_json(self.work_limits),
            "sources": {key: source.to_json() for key, source in self.sources.items()},
        }
        ordered: dict[str, Any] = json.loads(json.dumps(plain, sort_keys=True))
        return ordered

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Offset:
        """Return the offset in a JSON object.

        Raises:
            CheckpointError: another format, or parts are missing.
        """
        try:
            version = data.get("version")
            if version != VERSION:
                raise CheckpointError(
                    f"an offset in the checkpoint has format {version!r}; this version of Headrace"
                    f" reads format {VERSION}",
                    hint="use the version that wrote it, or start anew with --fresh",
                )
            work_limits = _limits_from_json(data["cut"])
            sources = {
                key: SourceProgress.from_json(source) for key, source in data["sources"].items()
            }
            epoch, now_ms = int(data["epoch"]), int(data["now_ms"])
            monotonic_ms = int(data.get("steady_ms", now_ms))  # older builds had one time for both
            return Offset(epoch, now_ms, monotonic_ms, work_limits, sources, str(data["program"]))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CheckpointError(
                f"an offset in the checkpoint is damaged: {type(error).__name__}: {error}",
                where={"offset": json.dumps(data)[:500]},
                hint="restore the checkpoint from a copy, or start anew with --fresh",
            ) from error
