"""Gives a job another parallelism: its state moves to other partitions between two attempts."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from headrace.errors import HeadraceError, JobError, UnsupportedError
from headrace.runners.spark.checkpoint.checkpoint import Checkpoint
from headrace.runners.spark.checkpoint.metadata import streaming_dataframes
from headrace.runners.stop import Rescale
from headrace.runtime.program import JobProgram


class Rescaler:
    """Rescales one job, when it is requested, or when its program has another parallelism.

    ``rescaled`` plans the job for another parallelism, and has it continue on the checkpoint; None
    for a job that keeps its parallelism.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        program: JobProgram,
        rescaled: Callable[[int], JobProgram] | None,
    ) -> None:
        self._checkpoint, self._rescaled = checkpoint, rescaled
        self._streaming = bool(streaming_dataframes(program))
        self._batch, self._name = program.batch, program.name
        self._parallelism = program.parallelism
        self._lock = threading.Lock()
        self._request: Rescale | None = None
        self._closed = False
        self._began = 0.0

    def rescale(self, parallelism: int) -> None:
        """Request another parallelism, and wait until the job runs with it.

        Raises:
            UnsupportedError: the job keeps its parallelism.
            JobError: the job has ended, or is being rescaled.
            CheckpointError: its state cannot move.
        """
        if self._streaming:
            raise UnsupportedError(
                "a job with a streaming DataFrame keeps its parallelism: the DataFrame's position"
                " is known to Spark only, in the checkpoint that it has",
                hint="read it with a source of Headrace, such as KafkaSource or FileSource",
            )
        if self._batch or self._rescaled is None:
            raise UnsupportedError("a batch keeps the parallelism that it began with")
        request = Rescale(parallelism)
        with self._lock:
            if self._closed:
                raise JobError(f"{self._name!r} has ended")
            if self._request is not None:
                raise JobError(
                    f"{self._name!r} is being rescaled, to {self._request.parallelism}",
                    hint="wait until this is done",
                )
            if parallelism == self._wanted:
                return
            self._request = request
        request.wait_until_over()

    def close(self) -> None:
        """Accept no request from now on; one that waits fails."""
        with self._lock:
            self._closed = True
            if self._request is not None:
                self._request.end(JobError(f"{self._name!r} ended before it was rescaled"))

    @property
    def is_due(self) -> bool:
        """Whether the attempt must end after its micro-batch, so that the job can be rescaled."""
        if self._rescaled is None or self._streaming or self._batch:
            return False
        return self._wanted != self._checkpoint.partitions

    @property
    def _wanted(self) -> int:
        request = self._request
        return self._parallelism if request is None else request.parallelism

    def before_attempt(self) -> JobProgram | None:
        """Rescale the job if that is due; return its new program, or None.

        A micro-batch that was planned and not committed is first repeated, in the old partitions:
        the next attempt does that, and ends.

        Raises:
            CheckpointError: it was not requested, and the state cannot move.
        """
        if not self.is_due or self._checkpoint.has_uncommitted_batch:
            return None
        assert self._rescaled is not None
        request, self._began = self._request, time.monotonic()
        try:
            program = self._rescaled(self._wanted)
        except HeadraceError as error:
            if request is None:
                raise
            self._request = None
            request.end(error)
            return None
        self._parallelism = program.parallelism
        return program

    def on_taken_over(self) -> None:
        """Answer the request: the state is in the new partitions."""
        request = self._request
        if request is not None and request.parallelism == self._checkpoint.partitions:
            print(
                f"headrace: {self._name!r} was rescaled to {request.parallelism} tasks in"
                f" {time.monotonic() - self._began:.1f} s",
                file=sys.stderr,
            )
            self._request = None
            request.end(None)
