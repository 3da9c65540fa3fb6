"""A Kafka source, driven by hand: what each micro-batch reads, at a time that the test gives."""

from __future__ import annotations

from typing import Any

from headrace.connector import Budget, Progress, SplitRange
from headrace.datastream.connectors._kafka.source.outages import CONFIRMED_AFTER_MS
from headrace.datastream.connectors.kafka import KafkaSource
from headrace.testing._contracts import NO_LIMIT, START_MS


class Walk:
    """A source that is read step by step, without the engine. ``skipped``: what it left out."""

    def __init__(self, of: KafkaSource) -> None:
        self.source = of
        self.enumerator = of.enumerator("")
        self.reader = of.reader()
        self.positions: dict[str, Any] = {}
        self.now_ms = START_MS
        self.ended = False
        self.finished: list[str] = []
        self.skipped = 0

    def begin(self) -> Walk:
        self.positions = dict(self.enumerator.initial(self.now_ms))
        return self

    def step(self, budget: Budget = NO_LIMIT, *, after_ms: int = CONFIRMED_AFTER_MS) -> list[Any]:
        self.now_ms += after_ms
        start = self.positions
        progress: Progress = self.enumerator.advance(start, budget, self.now_ms, frozenset())
        finished = dict(progress.finished) if progress.finished else {}
        begins = {**start, **progress.started}
        ends = {**progress.positions, **finished}
        ranges = self.enumerator.ranges(begins, ends, frozenset(finished))
        found = [v for r in ranges for v in self.read(r)]
        self.positions = dict(progress.positions)
        self.finished += finished
        self.ended = progress.ended
        self.enumerator.committed(ends)
        return found

    def plan(self) -> list[SplitRange]:
        """The ranges of a next micro-batch that is planned only."""
        end = self.enumerator.advance(self.positions, NO_LIMIT, self.now_ms, frozenset())
        ends = {**end.positions, **dict(end.finished)}
        return [*self.enumerator.ranges(self.positions, ends, frozenset(end.finished))]

    def read(self, planned: SplitRange) -> list[Any]:
        """The values of a range."""
        chunks = [*self.reader.read(planned)]
        self.skipped += sum(chunk.skipped for chunk in chunks)
        return [value for chunk in chunks for value in chunk.values]

    def close(self) -> None:
        """Close all clients."""
        self.enumerator.close()
        self.reader.close()
