"""The offsets at which reading a partition starts and stops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from headrace.datastream.connectors._kafka.client.consumer import (
    Cluster,
    StaleMetadata,
    TopicPartition,
)
from headrace.errors import JobError, PlanError


class KafkaTopicPartition(NamedTuple):
    """A topic and the number of a partition."""

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """Which offset to use if the requested offset does not exist."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2
    """Use no other offset: the job fails."""


class _Kind(Enum):
    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """A rule that determines an offset for each partition; made by the static methods.

    The rules are used for starting offsets and for stopping offsets.
    """

    kind: _Kind
    reset: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE
    timestamp_ms: int = 0
    given: tuple[tuple[KafkaTopicPartition, int], ...] = ()

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Use the offset of the first record that the partition still has."""
        return KafkaOffsetsInitializer(_Kind.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Use the end of the partition when the job starts."""
        return KafkaOffsetsInitializer(_Kind.LATEST)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Use the group's committed offsets; if there is none, the strategy decides."""
        return KafkaOffsetsInitializer(_Kind.COMMITTED, offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Use the offset of the first record with this Kafka timestamp (ms) or a later one.

        If there is no such record, use the end of the partition.
        """
        if not _is_integer(timestamp):
            raise PlanError(
                f"the timestamp of an offset is a whole number of milliseconds, not {timestamp!r}",
                hint="int(moment.timestamp() * 1000), say",
            )
        if timestamp < 0:
            raise PlanError(f"the timestamp of an offset is negative: {timestamp}")
        return KafkaOffsetsInitializer(_Kind.TIMESTAMP, timestamp_ms=timestamp)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Use the given offsets; if an offset does not exist, the strategy decides.

        A partition without a given offset uses the group's committed offset; if there is none, the
        strategy decides.
        """
        for topic_partition, offset in offsets.items():
            if not isinstance(topic_partition, tuple) or len(topic_partition) != len(
                KafkaTopicPartition._fields
            ):
                raise PlanError(
                    f"offsets are given by partition, not by {topic_partition!r:.100}",
                    hint='{KafkaTopicPartition("clicks", 0): 1000}',
                )
            if not _is_integer(offset):
                raise PlanError(
                    f"the offset of {topic_partition} is no whole number: {offset!r:.100}"
                )
            if offset < 0:
                raise PlanError(f"the offset of {topic_partition} is negative: {offset}")
        given = tuple(
            (KafkaTopicPartition(*topic_partition), at) for topic_partition, at in offsets.items()
        )
        return KafkaOffsetsInitializer(_Kind.OFFSETS, offset_reset_strategy, given=given)

    @property
    def text(self) -> str:
        """The rule in words; equal rules have equal texts in every interpreter."""
        if self.kind is _Kind.TIMESTAMP:
            return f"timestamp {self.timestamp_ms}"
        named = [
            f"{topic_partition.topic}-{topic_partition.partition}={at}"
            for topic_partition, at in sorted(self.given)
        ]
        return " ".join([self.kind.value, *named])

    @property
    def needs_group(self) -> bool:
        """True if the rule reads the committed offsets of a group."""
        return self.kind is _Kind.COMMITTED

    def resolve(
        self,
        cluster: Cluster,
        group: str | None,
        topic_partitions: Iterable[TopicPartition],
        *,
        stops: bool = False,
    ) -> dict[TopicPartition, int]:
        """Return the offset of each partition.

        ``stops``: the offsets are stopping offsets, and may be beyond the end of the partition.

        Raises:
            JobError: a partition has no such offset, and the strategy is NONE.
            StaleMetadata: the broker of a partition does not answer.
        """
        wanted = [*topic_partitions]
        if self.kind is _Kind.EARLIEST:
            return require_all_offsets(cluster.earliest_offsets(wanted), wanted)
        if self.kind is _Kind.LATEST:
            return require_all_offsets(cluster.latest_offsets(wanted), wanted)
        if self.kind is _Kind.TIMESTAMP:
            found = cluster.offsets_at_time(wanted, self.timestamp_ms)
            later = [topic_partition for topic_partition in wanted if topic_partition not in found]
            return found | require_all_offsets(cluster.latest_offsets(later), later)
        given = dict(self.given) if self.kind is _Kind.OFFSETS else {}
        found = {
            topic_partition: given[_as_kafka_topic_partition(topic_partition)]
            for topic_partition in wanted
            if _as_kafka_topic_partition(topic_partition) in given
        }
        rest = [topic_partition for topic_partition in wanted if topic_partition not in found]
        if group and rest:
            found |= cluster.committed_offsets(group, rest)
        if stops:
            return found | self._reset_by_strategy(cluster, [p for p in rest if p not in found])
        first = require_all_offsets(cluster.earliest_offsets(found), found)
        last = require_all_offsets(cluster.latest_offsets(found), found)
        fitting = {
            topic_partition: at
            for topic_partition, at in found.items()
            if first[topic_partition] <= at <= last[topic_partition]
        }
        return fitting | self._reset_by_strategy(cluster, [p for p in wanted if p not in fitting])

    def _reset_by_strategy(
        self, cluster: Cluster, topic_partitions: list[TopicPartition]
    ) -> dict[TopicPartition, int]:
        if not topic_partitions:
            return {}
        if self.reset is KafkaOffsetResetStrategy.EARLIEST:
            return require_all_offsets(cluster.earliest_offsets(topic_partitions), topic_partitions)
        if self.reset is KafkaOffsetResetStrategy.LATEST:
            return require_all_offsets(cluster.latest_offsets(topic_partitions), topic_partitions)
        topic, partition = topic_partitions[0]
        asked = dict(self.given).get(KafkaTopicPartition(topic, partition))
        message = "a partition does not have the offset that is given for it"
        if asked is None:
            given = "committed" if self.kind is _Kind.COMMITTED else "given"
            message = f"a partition has no {given} offset"
        raise JobError(
            message,
            where={
                "topic": topic,
                "partition": str(partition),
                **({} if asked is None else {"offset": str(asked)}),
            },
            hint="give the initializer a KafkaOffsetResetStrategy: EARLIEST or LATEST",
        )


def _is_integer(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _as_kafka_topic_partition(topic_partition: TopicPartition) -> KafkaTopicPartition:
    return KafkaTopicPartition(*topic_partition)


def require_all_offsets(
    offsets: Mapping[TopicPartition, int], topic_partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, int]:
    """Check that brokers returned the offset of every partition, and return the offsets.

    Raises:
        StaleMetadata: the offset of a partition is missing.
    """
    for topic, partition in topic_partitions:
        if (topic, partition) not in offsets:
            raise StaleMetadata(
                "Kafka does not say which offsets a partition has: it may have no leader",
                where={"topic": topic, "partition": str(partition)},
                hint="start the job again when all partitions have a leader",
            )
    return {topic_partition: offsets[topic_partition] for topic_partition in topic_partitions}
