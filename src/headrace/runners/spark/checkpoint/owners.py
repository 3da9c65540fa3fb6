"""Ownership of a checkpoint: an epoch that one driver acquires, a lease, and a check per commit.

A driver acquires the next epoch with ``put_if_absent``; the highest epoch owns the checkpoint.
Before that, the owner of the highest epoch must have ended. On the same machine its process is
looked up, so a killed driver is replaced at once. On another machine, its lease must not change for
``EXPIRY_SECONDS`` of the local clock. Clocks of different machines are never compared.

A commit announces itself (``committing/<epoch>``), then checks that its epoch is the highest, then
publishes. A new owner writes its epoch first, then waits for announced commits. So one of both sees
the other: either the commit of the old owner is refused, or it ends before the new owner plans
anything.

One case is left: a commit on another machine that pauses for longer than its driver's lease, and
continues later. It changes nothing: committers recognize the numbers of their micro-batches, and
split states are put if absent (``split_states.py``).
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from headrace.common._storage.object_store import ObjectStore, numbered_name, stored_numbers
from headrace.common._storage.sealed import ObjectFormat, get_json, json_bytes, put_json, seal
from headrace.errors import CheckpointError, CheckpointLockedError
from headrace.runners.processes import Machine, Process, this_machine
from headrace.runners.spark.checkpoint.layout import (
    COMMITTING,
    LEASES,
    OWNERS,
    CheckpointFolder,
)

RENEWAL_SECONDS = 2.0
EXPIRY_SECONDS = 10.0
_STANDBY_SECONDS = 0.5
_WAIT_FOR_PROCESS_SECONDS = 60.0
_LOOK_SECONDS = 0.05
_KEPT_OWNERS = 4

_OWNER = ObjectFormat("checkpoint owner")
_LEASE = ObjectFormat("checkpoint lease")
_COMMIT = ObjectFormat("checkpoint commit")


@dataclass(frozen=True)
class Owner:
    """The run and process that acquired ``epoch``.

    ``jvm``: the process of its Spark, if it was running.
    """

    epoch: int
    run: str
    process: Process
    jvm: Process | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON value, without the epoch: that is in the object's name."""
        jvm = None if self.jvm is None else self.jvm.to_json()
        return {"run": self.run, "process": self.process.to_json(), "jvm": jvm}

    @classmethod
    def of_json(cls, epoch: int, value: dict[str, Any]) -> Owner:
        """Return the inverse of ``to_json``."""
        jvm = value["jvm"]
        return cls(
            epoch,
            value["run"],
            Process.of_json(value["process"]),
            None if jvm is None else Process.of_json(jvm),
        )


@dataclass(frozen=True)
class Lease:
    """Shows that an owner is alive: ``beat`` keeps rising. ``jvm``: the process of its Spark."""

    beat: int = 0
    released: bool = False
    jvm: Process | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the JSON value."""
        jvm = None if self.jvm is None else self.jvm.to_json()
        return {"beat": self.beat, "released": self.released, "jvm": jvm}

    @classmethod
    def of_json(cls, value: dict[str, Any]) -> Lease:
        """Return the inverse of ``to_json``."""
        jvm = value["jvm"]
        return cls(value["beat"], value["released"], None if jvm is None else Process.of_json(jvm))


class Ownership:
    """The ownership of a checkpoint by this driver, from ``acquire`` to ``release``."""

    def __init__(
        self,
        store: ObjectStore,
        signals: ObjectStore,
        machine: Machine,
        notify: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._store, self._signals, self._machine, self._notify = store, signals, machine, notify
        self.epoch = 0
        self._lease = Lease()
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def acquire(self, run: str, waits: bool = False) -> None:
        """Become the owner, after the last owner has ended; ``waits``: however long it runs.

        Raises:
            CheckpointLockedError: another driver is alive, or its Spark, or its commit.
        """
        notified = False
        while True:
            last = latest_owner(self._store)
            try:
                if last is not None:
                    self._wait_for_end_of(last)
            except CheckpointLockedError as error:
                if not waits:
                    raise
                if not notified:
                    self._notify(f"{error.message}: waiting for its end ({error.where['driver']})")
                notified = True
                self._machine.sleep(_STANDBY_SECONDS)
                continue
            if self._try_epoch(1 if last is None else last.epoch + 1, run):
                break
        self._prune()

    def acquire_next(self, run: str) -> None:
        """Acquire the next epoch, for another run of the same driver.

        Raises:
            CheckpointLockedError: another driver has taken over.
            CheckpointError: the checkpoint was deleted or replaced.
        """
        check_owner(self._store, self.epoch)
        if not self._try_epoch(self.epoch + 1, run):
            raise _taken_over_error(self._store, self.epoch)
        self._prune()

    def _try_epoch(self, epoch: int, run: str) -> bool:
        owner = Owner(epoch, run, self._machine.current_process(), self._lease.jvm)
        data = seal(_OWNER, json_bytes(owner.to_json()))
        if not self._store.put_if_absent(numbered_name(OWNERS, epoch), data):
            return False
        with self._lock:
            self.epoch = epoch
            self._write_lease()
        self._wait_for_commits()
        return True

    def _wait_for_end_of(self, owner: Owner) -> None:
        lease = self._lease_of(owner)
        if lease is not None and lease.released:
            return
        if not self._machine.can_look_up(owner.process):
            self._wait_for_expiry(owner, lease)
        elif self._machine.is_running(owner.process):
            raise self._locked_error("another driver is running on this checkpoint", owner.process)
        else:
            self._wait_for_jvm(owner.jvm if lease is None else lease.jvm)

    def _wait_for_jvm(self, jvm: Process | None) -> None:
        """Wait for the JVM of a killed driver, which ends a moment later."""
        if jvm is not None:
            self._wait_for_process(
                jvm, "Spark's JVM of an earlier driver is still running on this checkpoint"
            )

    def _lease_of(self, owner: Owner) -> Lease | None:
        return read_lease(self._signals, owner)

    def _wait_for_expiry(self, owner: Owner, seen: Lease | None) -> None:
        self._notify(
            f"the last driver of this checkpoint was {owner.process}; waiting up to"
            f" {EXPIRY_SECONDS:g} s to see whether it is alive"
        )
        deadline = self._machine.seconds() + EXPIRY_SECONDS
        while self._machine.seconds() < deadline:
            self._machine.sleep(1.0)
            lease = self._lease_of(owner)
            if lease is not None and lease.released:
                return
            if lease != seen:
                raise self._locked_error(
                    "another driver is running on this checkpoint", owner.process
                )

    def _wait_for_commits(self) -> None:
        """Wait for commits of earlier owners that were announced before this epoch was written."""
        for epoch in stored_numbers(self._signals, COMMITTING):
            name = numbered_name(COMMITTING, epoch)
            stored = _read_object(self._signals, name, _COMMIT)
            if epoch >= self.epoch or stored is None:
                continue
            process = Process.of_json(stored)
            if self._machine.can_look_up(process):
                # Until the process ends, or only its commit.
                self._wait_for_process(
                    process,
                    "an earlier driver is still committing to this checkpoint",
                    announced=name,
                )
            # On another machine, the commit has expired with its driver's lease.
            self._signals.delete(name)

    def _wait_for_process(
        self, process: Process, problem: str, announced: str | None = None
    ) -> None:
        """Wait for the end of a process, or until the object ``announced`` is removed."""
        deadline = self._machine.seconds() + _WAIT_FOR_PROCESS_SECONDS
        while self._machine.is_running(process):
            if announced is not None and self._signals.get(announced) is None:
                return
            if self._machine.seconds() > deadline:
                raise self._locked_error(problem, process)
            self._machine.sleep(_LOOK_SECONDS)

    def _locked_error(self, problem: str, process: Process) -> CheckpointLockedError:
        return CheckpointLockedError(
            problem,
            where={"checkpoint": self._store.location(""), "driver": str(process)},
            hint="stop that job, or give this one another pipeline.name",
        )

    def record_jvm(self, jvm_pid: int | None) -> None:
        """Record the process of Spark, so that the next owner waits for its end."""
        jvm = None if jvm_pid is None else self._machine.process(jvm_pid)
        with self._lock:
            self._lease = replace(self._lease, jvm=jvm)
            self._write_lease()

    def renew(self) -> None:
        """Renew the lease."""
        with self._lock:
            if not self._lease.released:
                self._lease = replace(self._lease, beat=self._lease.beat + 1)
                self._write_lease()

    def keep_renewing(self) -> None:
        """Renew the lease in a thread, until ``release``."""
        threading.Thread(
            target=self._renew_until_released, name="headrace-lease", daemon=True
        ).start()

    def _renew_until_released(self) -> None:
        while not self._ended.wait(RENEWAL_SECONDS):
            try:
                self.renew()
            except CheckpointError as error:
                # Commits check the epoch, so a takeover by another driver loses nothing.
                self._notify(f"the lease of the checkpoint was not renewed: {error}")

    def release(self) -> None:
        """Release the checkpoint, so that the next driver need not wait."""
        self._ended.set()
        with self._lock:
            if self.epoch and not self._lease.released:
                self._lease = replace(self._lease, released=True)
                try:
                    self._write_lease()
                except CheckpointError as error:
                    # It is released when the process ends, or the lease expires.
                    self._notify(f"the checkpoint was not released: {error}")

    def _write_lease(self) -> None:
        put_json(self._signals, numbered_name(LEASES, self.epoch), _LEASE, self._lease.to_json())

    def _prune(self) -> None:
        for store, folder in ((self._store, OWNERS), (self._signals, LEASES)):
            for epoch in stored_numbers(store, folder):
                if epoch <= self.epoch - _KEPT_OWNERS:
                    store.delete(numbered_name(folder, epoch))


@contextmanager
def owned(checkpoint_folder: CheckpointFolder) -> Iterator[None]:
    """Own a checkpoint within a ``with`` block.

    Raises:
        CheckpointLockedError: a driver is running on it.
    """
    ownership = Ownership(checkpoint_folder.store, checkpoint_folder.signals, this_machine())
    ownership.acquire(uuid.uuid4().hex)
    try:
        ownership.keep_renewing()
        yield
    finally:
        ownership.release()


def latest_owner(store: ObjectStore) -> Owner | None:
    """Return the owner with the highest epoch; None if there is none."""
    for epoch in reversed(stored_numbers(store, OWNERS)):
        stored = _read_object(store, numbered_name(OWNERS, epoch), _OWNER)
        if stored is not None:  # otherwise its successor has removed it meanwhile
            return Owner.of_json(epoch, stored)
    return None


def read_lease(store: ObjectStore, owner: Owner) -> Lease | None:
    """Return the lease of an owner; None if there is none."""
    stored = _read_object(store, numbered_name(LEASES, owner.epoch), _LEASE)
    return None if stored is None else Lease.of_json(stored)


def check_owner(store: ObjectStore, epoch: int) -> None:
    """Check that ``epoch`` is the highest epoch in the checkpoint folder.

    Raises:
        CheckpointLockedError: there is a higher epoch.
        CheckpointError: the epoch does not exist any more.
    """
    highest = max(stored_numbers(store, OWNERS), default=0)
    if highest > epoch:
        raise _taken_over_error(store, epoch)
    if highest < epoch:
        raise CheckpointError(
            "the checkpoint was deleted, or replaced by another one, while this job ran on it",
            where={
                "checkpoint": store.location(""),
                "this driver": f"owner {epoch}",
                "found": f"owner {highest}" if highest else "no owner",
            },
            hint="if you have a copy of the checkpoint, replace the remaining files by it."
            " Without a"
            " copy the job starts anew: it reads its sources from the beginning, and writes all"
            " results again",
        )


def _read_object(store: ObjectStore, name: str, kind: ObjectFormat) -> Any | None:
    try:
        return get_json(store, name, kind)
    except CheckpointError as error:
        # Starting anew would not help: it acquires the checkpoint too.
        error.hint = "make sure that no driver runs on this checkpoint, then delete this object"
        raise


@contextmanager
def announced_commit(
    store: ObjectStore, signals: ObjectStore, epoch: int, machine: Machine
) -> Iterator[None]:
    """Publish within a ``with`` block, as the owner of an epoch.

    Raises:
        CheckpointLockedError: the epoch is not the highest any more.
        CheckpointError: the checkpoint was deleted or replaced.
    """
    name = numbered_name(COMMITTING, epoch)
    put_json(signals, name, _COMMIT, machine.current_process().to_json())
    try:
        check_owner(store, epoch)
        yield
    finally:
        signals.delete(name)


def _taken_over_error(store: ObjectStore, epoch: int) -> CheckpointLockedError:
    owner = latest_owner(store)
    return CheckpointLockedError(
        "another driver has taken over this checkpoint",
        where={
            "checkpoint": store.location(""),
            "this driver": f"owner {epoch}",
            "driver": "unknown" if owner is None else f"{owner.process}, owner {owner.epoch}",
        },
        hint="nothing is lost: that driver continues from the last committed micro-batch",
    )
