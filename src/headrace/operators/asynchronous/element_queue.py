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
        """What works on it, on the event loop."""
        self.segment: _Segment | None = None


Emit = Callable[[Call], None]
EmitWatermark = Callable[[], None]
"""Passes a watermark on."""


class StreamElementQueue(ABC):
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
    def put_watermark(self, emit_watermark: EmitWatermark) -> None:
        """A watermark came; it is passed on at once if nothing waits."""

    @abstractmethod
    def complete(self, call: Call) -> None:
        """A record has its results: they are emitted, and all that waited for them only."""

    @abstractmethod
    def calls(self) -> list[Call]:
        """The records that wait."""


class OrderedQueue(StreamElementQueue):
    """Results in the order of their records."""

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
    """What came between two watermarks: ``pending`` records wait, ``ready`` ones have results."""

    __slots__ = ("pending", "ready", "watermark")

    def __init__(self) -> None:
        self.pending: set[Call] = set()
        self.ready: list[Call] = []
        self.watermark: EmitWatermark | None = None


class UnorderedQueue(StreamElementQueue):
    """Results in the order in which they come, but none before a watermark that it came after."""

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
