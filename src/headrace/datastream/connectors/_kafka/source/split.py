"""A partition as a split: its name and its positions.

A split is named ``topic-partition@id``. The id is the topic's: a topic that was deleted and created
again has another id. So it has other splits, and positions of the old topic do not apply to it.

A position is ``[offset, stop]``: the next offset, and where the split ends, or None. An end
position may be ``[offset, stop, begin]``: the micro-batch reads from ``begin`` instead of from the
split's position. The records between them are gone, or a policy skips them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from headrace.connector import JsonValue, SplitRange
from headrace.datastream.connectors._kafka.client.consumer import TopicPartition


class Split(NamedTuple):
    """A partition of one topic, which is identified by its id, too."""

    topic: str
    partition: int
    topic_id: str

    @property
    def name(self) -> str:
        """The split's name in positions."""
        name = f"{self.topic}-{self.partition}"
        return f"{name}@{self.topic_id}" if self.topic_id else name

    @property
    def topic_partition(self) -> TopicPartition:
        """The topic and the partition that the split reads."""
        return self.topic, self.partition

    @staticmethod
    def of(name: str) -> Split:
        """Return the split with a name."""
        topic_and_partition, _, topic_id = name.partition("@")
        topic, _, partition = topic_and_partition.rpartition("-")
        return Split(topic, int(partition), topic_id)


class SkippedRange(NamedTuple):
    """Stands for a split in a range of skipped offsets."""

    split: Split
    offsets: int


class Position(NamedTuple):
    """How far a split is read, as the engine's log stores it."""

    offset: int
    stop: int | None = None
    begin: int | None = None

    @staticmethod
    def of(value: JsonValue) -> Position:
        """Return the position from its JSON form."""
        return Position(*value)

    @property
    def is_at_stop(self) -> bool:
        """Whether nothing is left to read before the stop."""
        return self.stop is not None and self.offset >= self.stop

    @property
    def json(self) -> JsonValue:
        """A list of two numbers, or of three if offsets are skipped."""
        both: list[int | None] = [self.offset, self.stop]
        return both if self.begin is None else [*both, self.begin]


def ranges_between(
    start: Mapping[str, JsonValue], end: Mapping[str, JsonValue]
) -> Sequence[SplitRange]:
    """Return a range for each partition that is read, and one for the skipped offsets."""
    work: list[SplitRange] = []
    for name in sorted(end):
        first, last = Position.of(start[name]), Position.of(end[name])
        begin = first.offset if last.begin is None or last == first else last.begin
        if begin > first.offset:
            left_out = SkippedRange(Split.of(name), begin - first.offset)
            work.append(SplitRange(name, first.offset, begin, left_out))
        if begin < last.offset:
            count = last.offset - begin
            work.append(SplitRange(name, begin, last.offset, Split.of(name), count))
    return work
