"""Which results may be emitted: in the order of their records, or as they come.

Used from the task's thread only. Watermarks stay between the records between which they came: a
watermark is passed on when all results before it were emitted, and before any result after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any


class Call:
    """A record that waits for its results.

    ``argument``: what the function is called with: the record, or its key in the cache. Once
    ``done``, it has ``results`` (as the function gave them), or an ``error``.
    """

    __slots__ = (
        "argument",
        "done",
        "error",
        "job",
        "results",
        "stretch",
        "timestamp",
        "value",
    )

    def __init__(self, value: Any, timestamp: int | None, argument: Any) -> None:
        self.value, self.timestamp, self.argument = value, timestamp, argument
        self.done = False
        self.results: Any = None
        self.error: BaseException | None = None
        self.job: Any = None
        """What works on it, on the event loop."""
        self.stretch: _Stretch | None = None


Emit = Callable[[Call], None]
Pass = Callable[[], None]
"""Passes a watermark on."""


class Waiting(ABC):
    """Records whose results were not emitted yet, and the watermarks between them."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self.count = 0
        """How many records wait."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether neither records nor watermarks wait."""

    @abstractmethod
    def add(self, call: Call) -> None:
        """A record waits from now on."""

    @abstractmethod
    def mark(self, pass_on: Pass) -> None:
        """A watermark came; it is passed on at once if nothing waits."""

    @abstractmethod
    def finished(self, call: Call) -> None:
        """A record has its results: they are emitted, and all that waited for them only."""

    @abstractmethod
    def calls(self) -> list[Call]:
        """The records that wait."""


class InOrder(Waiting):
    """Results in the order of their records."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._queue: deque[Call | Pass] = deque()

    @property
    def is_empty(self) -> bool:
        return not self._queue

    def add(self, call: Call) -> None:
        self.count += 1
        self._queue.append(call)

    def mark(self, pass_on: Pass) -> None:
        if self._queue:
            self._queue.append(pass_on)
        else:
            pass_on()

    def finished(self, call: Call) -> None:
        queue = self._queue
        while queue:
            first = queue[0]
            if not isinstance(first, Call):
                queue.popleft()
                first()
            elif first.done:
                queue.popleft()
                self.count -= 1
                self._emit(first)
            else:
                return

    def calls(self) -> list[Call]:
        return [each for each in self._queue if isinstance(each, Call)]


class _Stretch:
    """What came between two watermarks: ``open`` records wait, ``ready`` ones have results."""

    __slots__ = ("ended_by", "open", "ready")

    def __init__(self) -> None:
        self.open: set[Call] = set()
        self.ready: list[Call] = []
        self.ended_by: Pass | None = None


class AsTheyCome(Waiting):
    """Results in the order in which they come, but none before a watermark that it came after."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._stretches: deque[_Stretch] = deque([_Stretch()])

    @property
    def is_empty(self) -> bool:
        return not self.count and len(self._stretches) == 1

    def add(self, call: Call) -> None:
        self.count += 1
        stretch = call.stretch = self._stretches[-1]
        stretch.open.add(call)

    def mark(self, pass_on: Pass) -> None:
        if not self.count:
            pass_on()
            return
        self._stretches[-1].ended_by = pass_on
        self._stretches.append(_Stretch())

    def finished(self, call: Call) -> None:
        stretch, first = call.stretch, self._stretches[0]
        assert stretch is not None, "it was added"
        stretch.open.discard(call)
        if stretch is not first:
            stretch.ready.append(call)
            return
        self.count -= 1
        self._emit(call)
        while not first.open and first.ended_by is not None:
            self._stretches.popleft()
            first.ended_by()
            first = self._stretches[0]
            ready, first.ready = first.ready, []
            for each in ready:
                self.count -= 1
                self._emit(each)

    def calls(self) -> list[Call]:
        return [call for stretch in self._stretches for call in (*stretch.open, *stretch.ready)]
