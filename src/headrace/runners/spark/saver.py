"""Takes savepoints of a running job, and answers what other processes ask of its driver."""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Protocol

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.common._storage.locations import is_url, uses_urls
from headrace.errors import (
    CheckpointError,
    HeadraceError,
    JobError,
    StorageError,
)
from headrace.runners.clock import wall_clock_ms
from headrace.runners.observers import SaveFailed, SavepointTaken
from headrace.runners.savepoint_folders import new_savepoint_folder
from headrace.runners.sinks import committers_of
from headrace.runners.spark.checkpoint import progress
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.checkpoint.damage import causes_of, java_reason
from headrace.runners.spark.checkpoint.layout import PINS, folder_name
from headrace.runners.spark.checkpoint.pins import Pin, make_pin, read_pin
from headrace.runners.spark.checkpoint.requests import (
    Answer,
    Request,
    RequestKind,
    RequestStatus,
    open_requests,
    put_answer,
)
from headrace.runners.spark.failures import failure_in
from headrace.runners.spark.query.driver_plan import PinSignal
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runners.spark.savepoints import check_can_be_saved, export_savepoint
from headrace.runners.spark.startup.storage import use_storage
from headrace.runners.stop import Stop
from headrace.runtime.program import JobProgram

_PIN_POLL_SECONDS = 0.01
_LOCAL_POLL_SECONDS = 0.5
_REMOTE_POLL_SECONDS = 2.0
_ATTEMPTS = 3
_KEPT_BATCHES = 100
"""So many versions of the state are kept by Spark (spark.sql.streaming.minBatchesToRetain)."""


class Saver:
    """Takes savepoints of a job, one at a time.

    ``program_of`` returns the program of a generation of the checkpoint, and how workers know it;
    ``has_ended``, whether the job has ended. ``savepoint_dir``: the folder of savepoints for those
    without a folder of their own. ``taken`` is called for each complete savepoint, and ``failed``
    for each savepoint or restore point that failed.
    """

    def __init__(
        self,
        spark: SparkSession,
        program: JobProgram,
        checkpoint: Checkpoint,
        pins: PinSignal,
        program_of: Callable[[int], tuple[JobProgram, ProgramRef]],
        has_ended: Callable[[], bool],
        savepoint_dir: str | None,
        taken: Callable[[SavepointTaken], None],
        failed: Callable[[SaveFailed], None],
    ) -> None:
        self._spark, self._program, self._checkpoint = spark, program, checkpoint
        self._pins, self._program_of, self._has_ended = pins, program_of, has_ended
        self._savepoint_dir, self._taken, self._failed = savepoint_dir, taken, failed
        self._lock = threading.Lock()
        self._pin_lock = threading.Lock()

    @property
    def job_name(self) -> str:
        """The name of the job."""
        return self._program.name

    def target(self, folder: str | None) -> str:
        """Return the folder of a new savepoint, below ``folder`` or the configured one.

        Raises:
            ConfigurationError: there is neither.
            UnsupportedError: the job has no savepoints.
        """
        check_can_be_saved(self._program, self._checkpoint.folder)
        job_folder = folder_name(self._program.name)
        return new_savepoint_folder(folder or self._savepoint_dir, job_folder)

    def take(self, target: str) -> SavepointTaken:
        """Write a savepoint of the running job to a folder of ``target``; return what it is.

        On remote storage, Spark may remove the version of the state before all tasks have opened
        it; then another micro-batch is tried.

        Raises:
            JobError: the job has ended meanwhile.
            CheckpointError: the micro-batch cannot be read, or the savepoint cannot be written.
            OSError: the storage fails.
        """
        with self._lock, self.reporting_failure(target):
            attempt, pause_ms = 1, 0
            while True:
                pin = self.pin(f"{PINS}/{_new_name()}")
                pause_ms += pin.pause_ms
                try:
                    return self._export(pin, target, pause_ms)
                except StorageError:
                    if attempt == _ATTEMPTS or not self._may_be_gone(pin):
                        raise
                attempt += 1

    def take_stopped(self, target: str) -> None:
        """Write a savepoint of the job after its last micro-batch.

        Raises: as ``take``.
        """
        with self._lock, self.reporting_failure(target):
            generation = self._checkpoint.generation.number
            end = progress.log_of(self._checkpoint.spark).end
            pin = None
            if end is not None:
                pin = make_pin(
                    self._checkpoint.folder,
                    f"{PINS}/{_new_name()}",
                    generation,
                    end["epoch"],
                    committers_of(self._program),
                )
            if pin is None:
                raise CheckpointError(
                    f"{self._program.name!r} has not completed its micro-batch",
                    where={"checkpoint": self._checkpoint.directory},
                    hint="start it again: it continues from its checkpoint",
                )
            self._export(pin, target, 0)

    @contextmanager
    def reporting_failure(self, folder: str | None) -> Iterator[None]:
        """Report an exception of the ``with`` block, unless the job has ended meanwhile.

        ``folder``: that of the savepoint; None: a restore point.
        """
        started_ms = wall_clock_ms()
        try:
            yield
        except Exception as error:
            if type(error) is not JobError:  # raised if the job has ended
                self._failed(SaveFailed(error, folder, started_ms, wall_clock_ms()))
            raise

    def _may_be_gone(self, pin: Pin) -> bool:
        """Return whether Spark may have removed the version of the state that a pin names."""
        committed = progress.log_of(self._checkpoint.spark).committed
        return is_url(pin.state_folder) and committed - pin.batch >= _KEPT_BATCHES // 2

    def _export(self, pin: Pin, target: str, pause_ms: int) -> SavepointTaken:
        """Write a savepoint of a pin, for which the job has waited so long."""
        began, started_ms = time.monotonic(), wall_clock_ms()
        program, ref = self._program_of(pin.metadata.generation.number)
        if uses_urls([target]):
            ref = replace(ref, storage=use_storage(self._spark))
        try:
            manifest = export_savepoint(self._spark, ref, program, pin, target)
        except (PySparkException, Py4JError) as error:
            raise _export_error(error, target) from error
        finally:
            pin.remove()
        seconds = time.monotonic() - began
        last_batch, size = manifest.batch_id - 1, manifest.size_bytes
        waited = f"; the job waited {pause_ms:,} ms for it" if pause_ms else ""
        print(
            f"headrace: savepoint of {self._program.name!r} after micro-batch"
            f" {last_batch}: {target} ({size / 1e6:,.1f} MB in {seconds:.1f} s{waited})",
            file=sys.stderr,
        )
        taken = SavepointTaken(target, last_batch, started_ms, seconds * 1000, size, pause_ms)
        self._taken(taken)
        return taken

    def pin(self, name: str) -> Pin:
        """Have the last micro-batch pinned, between two micro-batches.

        ``name``: the pin's folder below the checkpoint.

        Raises:
            JobError: the job has ended meanwhile.
            CheckpointError: the pin could not be made; the job goes on.
        """
        with self._pin_lock:
            self._pins.request(name)
            try:
                while (error := self._pins.answer_to(name)) is None:
                    if self._has_ended():
                        raise JobError(
                            f"{self._program.name!r} ended before its files were kept",
                            hint="to end a job with a savepoint, use `headrace stop --savepoint`",
                        )
                    time.sleep(_PIN_POLL_SECONDS)
            finally:
                self._pins.withdraw()
        pin = None if error else read_pin(self._checkpoint.folder, name)
        if pin is None:
            raise CheckpointError(
                f"the files of the micro-batch could not be kept: {error or 'they are gone'}",
                where={"checkpoint": self._checkpoint.directory},
                hint="the job goes on; try again",
            )
        return pin


def _export_error(error: BaseException, target: str) -> BaseException:
    """Return the error for a failed job of Spark's: the user's own exception, if it has one."""
    failure = failure_in(str(error))
    if failure is not None:
        return failure
    causes = causes_of(error)
    reason = java_reason(causes) if causes else f"{type(error).__name__}: {error}"
    return StorageError(
        f"the savepoint was not written: {reason}",
        where={"savepoint": target},
        hint="the job is not affected; see Spark's log for the reason",
    )


def _new_name() -> str:
    return uuid.uuid4().hex[:12]


class Savable(Protocol):
    """A job that requests are for."""

    def savepoint_target(self, folder: str | None) -> str:
        """Return the folder of a new savepoint."""

    def save(self, target: str) -> SavepointTaken:
        """Write a savepoint to a folder while the job runs."""

    def request_stop(self, stop: Stop) -> None:
        """Stop the job, without waiting for its end; JobError if it has ended, or stops already."""

    def rescale(self, parallelism: int) -> None:
        """Give the job another parallelism, and wait until it runs with it."""


class RequestWatch:
    """Looks for requests of other processes beside a job's checkpoint, in a thread."""

    def __init__(self, job: Savable, checkpoint: Checkpoint) -> None:
        self._job, self._store = job, checkpoint.folder.signals
        remote = is_url(checkpoint.directory)
        self._poll_seconds = _REMOTE_POLL_SECONDS if remote else _LOCAL_POLL_SECONDS
        self._ended = threading.Event()
        self._stopping: list[tuple[Request, Stop]] = []
        self._refuse_earlier()
        self._thread = threading.Thread(target=self._run, name="headrace-requests", daemon=True)
        self._thread.start()

    def _refuse_earlier(self) -> None:
        for request in open_requests(self._store):
            self._answer(request, RequestStatus.FAILED, error="the job was not running")

    def _run(self) -> None:
        while not self._ended.wait(self._poll_seconds):
            try:
                for request in [*open_requests(self._store)]:
                    self._handle(request)
            except (HeadraceError, OSError) as error:
                # The storage is gone for a moment: the next look finds the requests again.
                print(f"headrace: requests cannot be read: {error}", file=sys.stderr)

    def _handle(self, request: Request) -> None:
        try:
            target = None
            if request.kind in (RequestKind.SAVEPOINT, RequestKind.STOP_WITH_SAVEPOINT):
                target = self._job.savepoint_target(request.target)
            self._answer(request, RequestStatus.RUNNING)
            if request.kind is RequestKind.SAVEPOINT:
                assert target is not None
                taken = self._job.save(target)
                self._answer(request, RequestStatus.DONE, target, pause_ms=taken.pause_ms)
            elif request.kind is RequestKind.RESCALE:
                assert request.parallelism is not None
                self._job.rescale(request.parallelism)
                self._answer(request, RequestStatus.DONE)
            else:
                stop = Stop(target, request.drain)
                self._stopping.append((request, stop))  # the job accepts one at most
                self._job.request_stop(stop)
        except Exception as error:
            self._answer(request, RequestStatus.FAILED, error=f"{type(error).__name__}: {error}")

    def _answer(
        self,
        request: Request,
        status: RequestStatus,
        savepoint: str | None = None,
        error: str | None = None,
        pause_ms: int | None = None,
    ) -> None:
        put_answer(self._store, request.id, Answer(status, savepoint, error, pause_ms))

    def close(self, accepted: Stop | None, stop_error: BaseException | None) -> None:
        """Answer a stop, as the job has ended; end the thread.

        ``accepted``: the stop that the job has accepted; ``stop_error``: the error with which it
        has ended.
        """
        self._ended.set()
        request = next((asked for asked, stop in self._stopping if stop is accepted), None)
        if request is None or accepted is None:
            return
        try:
            if stop_error is None:
                self._answer(request, RequestStatus.DONE, accepted.target)
            else:
                text = f"{type(stop_error).__name__}: {stop_error}"
                self._answer(request, RequestStatus.FAILED, error=text)
        except (HeadraceError, OSError) as error:
            # Who has asked sees that the job has ended.
            print(f"headrace: a request was not answered: {error}", file=sys.stderr)
