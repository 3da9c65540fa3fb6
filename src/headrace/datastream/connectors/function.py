"""A sink that calls a Python function, or an object with ``invoke``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
    close_value,
)
from headrace.errors import PlanError

__all__ = [
    "FunctionSink",
]


@dataclass(frozen=True)
class FunctionSink(Sink):
    """Passes records to Python code, at least once: a repeated task calls it again.

    ``target`` is

    - a function, called once per task and micro-batch with the list of its records; or
    - an object with ``invoke(value)``, called for each record. Optional methods:
      ``open(context)`` is called before its first record in a worker process, ``flush()`` at the
      end of each micro-batch, and ``close()`` when the job's run ends in that process (Spark may
      end workers without calling it). It must be picklable before it is opened.
    """

    target: Any

    GUARANTEE = DeliveryGuarantee.AT_LEAST_ONCE

    @property
    def accepts(self) -> ChangelogMode | None:
        """None: rows of any kind are accepted; the target receives the row kind."""
        return None

    @property
    def kind(self) -> str:
        return "function"

    def __post_init__(self) -> None:
        if not callable(self.target) and not hasattr(self.target, "invoke"):
            raise PlanError(
                f"{self.target!r} is neither a function nor an object with invoke(value)"
            )

    def writer(self, context: WriterContext) -> SinkWriter:
        if hasattr(self.target, "invoke"):
            context.shared("target", lambda: _Opened(self.target, context))
            return _ObjectSinkWriter(self.target)
        return _FunctionSinkWriter(self.target)

    def committer(self, context: CommitterContext) -> Committer:
        """Return a committer that does nothing: the target has already received the records."""
        return _NothingToCommit()


class _Opened:
    """A target between its ``open`` and its ``close``; a run has one in each process."""

    def __init__(self, target: Any, context: WriterContext) -> None:
        self._target = target
        if hasattr(target, "open"):
            target.open(context)

    def close(self) -> None:
        """Close the target."""
        close_value(self._target)


class _FunctionSinkWriter(SinkWriter):
    """Buffers the records of a micro-batch; ``prepare_commit`` calls the function with them."""

    def __init__(self, function: Callable[[list[Any]], None]) -> None:
        self._function = function
        self._values: list[Any] = []

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        self._values += values

    def prepare_commit(self) -> None:
        if self._values:
            values, self._values = self._values, []
            self._function(values)

    def abort(self) -> None:
        self._values = []


class _ObjectSinkWriter(SinkWriter):
    """Calls ``invoke`` for each record, and ``flush`` at the end of the micro-batch."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def write(self, values: Sequence[Any], timestamps: Sequence[int | None]) -> None:
        invoke = self._target.invoke
        for value in values:
            invoke(value)

    def prepare_commit(self) -> None:
        flush = getattr(self._target, "flush", None)
        if flush is not None:
            flush()


class _NothingToCommit(Committer):
    def commit(self, batch_id: int, committables: Sequence[Any]) -> None:
        """Do nothing: the target already has the records."""
