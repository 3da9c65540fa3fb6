"""The checkpoint of a run, as the driver uses it (``layout.py`` has its files)."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType

from headrace.common._storage.locations import remove_folder_of_spark
from headrace.common._storage.remote import RemoteFiles
from headrace.errors import CheckpointError
from headrace.runners.processes import Machine, this_machine
from headrace.runners.spark.checkpoint import owners, progress
from headrace.runners.spark.checkpoint.generations import Generation
from headrace.runners.spark.checkpoint.layout import JOB, PROBES, RESTORED, CheckpointFolder
from headrace.runners.spark.checkpoint.metadata import CheckpointMetadata
from headrace.runners.spark.checkpoint.owners import Ownership
from headrace.runners.spark.checkpoint.pins import remove_pins
from headrace.runners.spark.checkpoint.published import mark_published
from headrace.runners.spark.checkpoint.restart_log import record_restart
from headrace.runners.spark.checkpoint.resuming import (
    ReadStates,
    has_uncommitted_batch,
    metadata_for,
    print_notice,
    with_checkpoint_subtasks,
    write_if_changed,
)
from headrace.runners.spark.checkpoint.retained import complete_restore
from headrace.runtime.program import JobProgram


class Checkpoint:
    """A checkpoint that this driver owns from ``open`` to ``close``."""

    def __init__(
        self,
        folder: CheckpointFolder,
        ownership: Ownership,
        metadata: CheckpointMetadata,
        program: JobProgram,
        existed: bool = False,
        configured_parallelism: int | None = None,
    ) -> None:
        self._folder, self._ownership, self._metadata = (
            folder,
            ownership,
            metadata,
        )
        self.program = program
        """The program that resumes, with the numbers of instances and the identity that the
        checkpoint has."""
        self.existed = existed
        """Whether an earlier run made it, so that sinks may have its results."""
        self._configured_parallelism = configured_parallelism
        self._note_configured(program.parallelism)
        self._sources = frozenset(source.id for source in program.sources)
        self._closed = False

    @classmethod
    def open(
        cls,
        base: str | None,
        program: JobProgram,
        fresh: bool,
        ignore_unclaimed: bool = False,
        machine: Machine | None = None,
        read_states: ReadStates | None = None,
        configured_parallelism: int | None = None,
        waits: bool = False,
    ) -> Checkpoint:
        """Acquire the job's checkpoint; a temporary one if no checkpoint folder is configured.

        ``read_states`` is called if the program has lost an operator, to name its states.
        ``configured_parallelism``: that of the job's configuration, if it has one; the program may
        have another one. ``waits``: until no other driver uses the checkpoint.

        Raises:
            CheckpointLockedError: another driver uses the checkpoint, and ``waits`` is False.
            CheckpointError: the program cannot continue from the checkpoint (``check_program``), or
                the checkpoint is damaged.
            ConfigurationError: a new checkpoint's path has characters that Spark cannot read.
        """
        folder = CheckpointFolder.of_job(base, program.name)
        ownership = Ownership(
            folder.store,
            folder.signals,
            machine or this_machine(),
            print_notice,
        )
        try:
            if isinstance(folder.files, RemoteFiles):
                if folder.store.get(JOB) is None:
                    folder.check_name()
                check_put_if_absent(folder)
            ownership.acquire(program.run_id, waits)
            if not folder.temporary:
                folder.store.tidy()
                remove_pins(folder)
                ownership.keep_renewing()
            if fresh:
                folder.clear()
            complete_restore(folder)
            existed = folder.store.get(JOB) is not None
            program, metadata = _resumed(folder, program, ignore_unclaimed, read_states)
            _remove_old_generations(folder, metadata.generation)
            progress.remove_unplanned(folder.spark(metadata.generation.number))
        except BaseException:
            ownership.release()
            folder.remove()
            raise
        return cls(folder, ownership, metadata, program, existed, configured_parallelism)

    @property
    def directory(self) -> str:
        """The path of the checkpoint's folder."""
        return self._folder.directory

    @property
    def temporary(self) -> bool:
        """Whether it is removed at the end of the run."""
        return self._folder.temporary

    @property
    def folder(self) -> CheckpointFolder:
        """The checkpoint's folder."""
        return self._folder

    @property
    def spark(self) -> str:
        """The path of Spark's own checkpoint."""
        return self._folder.spark(self.generation.number)

    @property
    def generation(self) -> Generation:
        """The current generation of Spark's checkpoint, and the state that it must take over."""
        return self._metadata.generation

    @property
    def restored_from(self) -> str:
        """The folder of the savepoint that the job began from; empty for none."""
        return self._metadata.restored_from

    @property
    def resumed(self) -> bool:
        """Whether an earlier run has planned micro-batches here."""
        return self.generation.origin is not None or progress.has_planned(self.spark)

    @property
    def started_sources(self) -> frozenset[str]:
        """The ids of the sources that a planned micro-batch reads."""
        origin = self.generation.origin
        before = frozenset(origin.start["sources"]) if origin is not None else frozenset()
        return before | progress.sources_of(self.spark)

    @property
    def finished(self) -> bool:
        """Whether an earlier run has read all of the program's sources to their end."""
        origin = self.generation.origin
        if origin is not None and origin.planned is None and not progress.has_planned(self.spark):
            if origin.number == RESTORED:
                return progress.have_been_read(origin.start, self._sources)
            return progress.is_finished(self._folder.spark(origin.number), self._sources)
        return progress.is_finished(self.spark, self._sources)

    @property
    def suspended(self) -> bool:
        """Whether a source has only stopped: sinks keep their pending data for the next run."""
        return progress.is_suspended(self.spark)

    def settle_generation(self) -> None:
        """Remove the older generation, if the current generation has taken over its state."""
        if self.generation.origin is None:
            return
        before = self._metadata
        generation = before.generation.without_origin_if(progress.has_committed(self.spark))
        self._metadata = write_if_changed(
            before, replace(before, generation=generation), self._folder.store
        )
        _remove_old_generations(self._folder, generation)

    @property
    def partitions(self) -> int:
        """The number of shuffle partitions of the current generation."""
        return self._metadata.partitions

    def continue_with(self, program: JobProgram) -> None:
        """Have the job continue here with another plan of its program, between two attempts.

        Raises:
            CheckpointError: the program cannot continue from the checkpoint.
        """
        self.program, self._metadata = _resumed(self._folder, program, False, None)
        self._note_configured(program.parallelism)

    def _note_configured(self, parallelism: int) -> None:
        """Store the configured parallelism, once the partitions are those of the program."""
        if self.partitions == parallelism:
            now = replace(self._metadata, configured_parallelism=self._configured_parallelism)
            self._metadata = write_if_changed(self._metadata, now, self._folder.store)

    @property
    def dataframes(self) -> list[str]:
        """The ids of the streaming DataFrames, in the order of Spark's query."""
        return self._metadata.dataframes or []

    @property
    def scope(self) -> str:
        """The part of sink ids that is unique to this checkpoint."""
        return self._metadata.scope

    def change_scope(self, scope: str) -> None:
        """Give all sinks new ids; data written under the old ids is not changed."""
        self._metadata = write_if_changed(
            self._metadata, replace(self._metadata, scope=scope), self._folder.store
        )

    @property
    def last_batches(self) -> tuple[int, int]:
        """The numbers of the last completed and of the last planned micro-batch; -1 for none."""
        return self.generation.last_batches(progress.log_of(self.spark))

    @property
    def has_uncommitted_batch(self) -> bool:
        """Whether a micro-batch was planned and not completed; not while a query runs."""
        return has_uncommitted_batch(self._folder, self._metadata)

    @property
    def owner(self) -> int:
        """The owner epoch of this driver."""
        return self._ownership.epoch

    def transfer_to_run(self, run_id: str) -> None:
        """Acquire the checkpoint for another run of this driver: earlier runs cannot commit.

        Raises:
            CheckpointLockedError: another driver has taken over.
        """
        self._ownership.acquire_next(run_id)

    def mark_published(self) -> None:
        """Record that sinks may publish from now on, which fixes the job's shape.

        Raises:
            CheckpointLockedError: another driver has taken over.
        """
        owners.check_owner(self._folder.store, self.owner)
        mark_published(self._folder)

    def record_restart(self, of_driver: bool, reason: str) -> None:
        """Keep why the job is started again; ``of_driver``: in a new process."""
        if not self.temporary:
            host = this_machine().current_process().host
            record_restart(self._folder.store, of_driver, reason, host)

    def record_jvm(self, jvm_pid: int | None) -> None:
        """Record the process in which Spark runs on the checkpoint."""
        self._ownership.record_jvm(jvm_pid)

    def discard(self) -> None:
        """Remove all that the checkpoint has, but not that this driver owns it."""
        self._folder.clear()

    def close(self) -> None:
        """Release the checkpoint; a temporary one is removed."""
        if self._closed:
            return
        self._closed = True
        try:
            self._ownership.release()
        finally:
            self._folder.remove()

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _resumed(
    folder: CheckpointFolder,
    program: JobProgram,
    ignore_unclaimed: bool,
    read_states: ReadStates | None,
) -> tuple[JobProgram, CheckpointMetadata]:
    """Return the program as it continues in a folder, and the folder's new metadata."""
    program = replace(program, partitions=program.parallelism)
    program = with_checkpoint_subtasks(folder, program)
    metadata = metadata_for(folder, program, ignore_unclaimed, read_states)
    return program.as_successor_of(metadata.identity), metadata


@contextmanager
def commit_of(folder: CheckpointFolder, owner: int, batch: int) -> Iterator[None]:
    """Publish a micro-batch within a ``with`` block, usually in a process beside the driver.

    Raises:
        CheckpointLockedError: another driver has taken over.
    """
    store = folder.store
    with owners.announced_commit(store, folder.signals, owner, this_machine()):
        if batch == 0:
            mark_published(folder)
        yield


def check_put_if_absent(folder: CheckpointFolder) -> None:
    """Check that a store stores an object only where there is none: two drivers rely on it.

    Raises:
        CheckpointError: the store ignores the condition.
    """
    name = f"{PROBES}/{uuid.uuid4().hex}"
    if not folder.store.put_if_absent(name, b"1") or folder.store.put_if_absent(name, b"2"):
        raise CheckpointError(
            "the storage ignores the condition that an object must not exist yet, so two drivers"
            " could run on one checkpoint",
            where={"checkpoint": folder.directory},
            hint="use a storage with conditional writes (If-None-Match), as Amazon S3 has, or HDFS",
        )
    folder.store.delete(name)


def _remove_old_generations(folder: CheckpointFolder, generation: Generation) -> None:
    """Remove the generations that are no longer needed."""
    for number in folder.generations():
        if number not in generation.needed:
            remove_folder_of_spark(folder.spark(number))


def started_jvm_pid() -> int | None:
    """Return the process id of the driver's JVM, if this process started it."""
    from pyspark import SparkContext

    gateway = SparkContext._gateway
    process = getattr(gateway, "proc", None)
    return None if process is None else int(process.pid)
