"""A Python function, or an object with ``invoke``, as a sink."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.connector import (
    Committer,
    CommitterContext,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    WriterContext,
)
from headrace.errors import PlanError


@dataclass(frozen=True)
class FunctionSink(Sink):
    """Records to Python code, at least once: a task that is run again calls it again.

    ``target`` is

    - a function, called once per task and micro-batch with the list of its records; or
    - an object with ``invoke(value)``, called for every record. Where it has them,
      ``open(context)`` is called before its first record in a worker process, ``flush()`` at the
      end of each micro-batch, and ``close()`` when the process ends by itself (Spark ends its
      workers without a word). It must be picklable before it is opened.
    """

    target: Any

    GUARANTEE = DeliveryGuarantee.AT_LEAST_ONCE

    @property
    def kind(self) -> str:
        """What the sink is."""
        return "function"

    def __post_init__(self) -> None:
        if not callable(self.target) and not hasattr(self.target, "invoke"):
            raise PlanError(
                f"{self.target!r} is neither a function nor an object with invoke(value)"
            )

    def writer(self, context: WriterContext) -> SinkWriter:
        """A new writer."""
        if hasattr(self.target, "invoke"):
            self._open_once(context)
            return _InvokeWriter(self.target)
        return _CallWriter(self.target)

    def committer(self, context: CommitterContext) -> Committer:
        """A committer with nothing to do: what was written is visible."""
        return _NothingToCommit()

    def _open_once(self, context: WriterContext) -> None:
        # The runner keeps one sink object per worker process: so this is once per process.
        if "_opened" not in self.__dict__:
            if hasattr(self.target, "open"):
                self.target.open(context)
            if hasattr(self.target, "close"):
                atexit.register(self.target.close)
            object.__setattr__(self, "_opened", True)

    def __getstate__(self) -> dict[str, Any]:
        return {"target": self.target}


class _CallWriter(SinkWriter):
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


class _InvokeWriter(SinkWriter):
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
        """Nothing is left to do."""
