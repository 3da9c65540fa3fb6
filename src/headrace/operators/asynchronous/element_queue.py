"""Queues of calls and watermarks, which decide when results are emitted (as in Flink).

Used by the task's thread only. A watermark keeps its position: it is emitted after the results of
all records before it, and before any result of a record after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any


class Call:
    """A record whose results are not there yet.

    ``argument``: what the function is called with: the record, or its cache key. Once ``done`` is
    set, ``results`` (as the function returned them) or ``error`` is set.
    """

    __slots__ = (
        "argument",
        "done",
        "error",
        "results",
        "segment",
        "timestamp",
        "value",
        "work",
    )

    def __init__(self, value: Any, timestamp: int | None, argument: Any) -> None:
        self.value, self.timestamp, self.argument = value, timestamp, argument
        self.done = False
        self.results: Any = None
        self.error: BaseException | None = None
        self.work: Any = None
        """The asyncio task, or lookup, that computes the results."""
        self.segment: _Segment | None = None


Emit = Callable[[Call], None]
EmitWatermark = Callable[[], None]
"""Emits a watermark."""


class StreamElementQueue(ABC):
    """Calls whose results were not emitted, and the watermarks between them."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self.count = 0
        """The number of calls in the queue."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the queue has neither calls nor watermarks."""

    @abstractmethod
    def add(self, call: Call) -> None:
        """Add a call."""

    @abstractmethod
    def put_watermark(self, emit_watermark: EmitWatermark) -> None:
        """Add a watermark; it is emitted at once if the queue is empty."""

    @abstractmethod
    def complete(self, call: Call) -> None:
        """Emit the results of a call that is done, and all elements that only waited for it."""

    @abstractmethod
    def calls(self) -> list[Call]:
        """Return the calls in the queue."""


class OrderedQueue(StreamElementQueue):
    """Results are emitted in the order of their records."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._queue: deque[Call | EmitWatermark] = deque()

    @property
    def is_empty(self) -> bool:
        return not self._queue

    def add(self, call: Call) -> None:
        self.count += 1
        self._queue.append(call)

    def put_watermark(self, emit_watermark: EmitWatermark) -> None:
        if self._queue:
            self._queue.append(emit_watermark)
        else:
            emit_watermark()

    def complete(self, call: Call) -> None:
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


class _Segment:
    """The calls between two watermarks: ``pending`` ones wait for results, others are ``ready``."""

    __slots__ = ("pending", "ready", "watermark")

    def __init__(self) -> None:
        self.pending: set[Call] = set()
        self.ready: list[Call] = []
        self.watermark: EmitWatermark | None = None


class UnorderedQueue(StreamElementQueue):
    """Results are emitted as they complete, but never across a watermark."""

    def __init__(self, emit: Emit) -> None:
        super().__init__(emit)
        self._segments: deque[_Segment] = deque([_Segment()])

    @property
    def is_empty(self) -> bool:
        return not self.count and len(self._segments) == 1

    def add(self, call: Call) -> None:
        self.count += 1
        segment = call.segment = self._segments[-1]
        segment.pending.add(call)

    def put_watermark(self, emit_watermark: EmitWatermark) -> None:
        if not self.count:
            emit_watermark()
            return
        self._segments[-1].watermark = emit_watermark
        self._segments.append(_Segment())

    def complete(self, call: Call) -> None:
        segment, first = call.segment, self._segments[0]
        assert segment is not None, "it was added"
        segment.pending.discard(call)
        if segment is not first:
            segment.ready.append(call)
            return
        self.count -= 1
        self._emit(call)
        while not first.pending and first.watermark is not None:
            self._segments.popleft()
            first.watermark()
            first = self._segments[0]
            ready, first.ready = first.ready, []
            for each in ready:
                self.count -= 1
                self._emit(each)

    def calls(self) -> list[Call]:
        return [call for segment in self._segments for call in (*segment.pending, *segment.ready)]
