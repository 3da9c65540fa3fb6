"""The partitions to read: topics by name, topics by pattern, or partitions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headrace.datastream.connectors._kafka.client.consumer import (
    Cluster,
    TopicPartition,
    UnknownTopicOrPartition,
)
from headrace.datastream.connectors._kafka.source.split import Split


@dataclass(frozen=True)
class Subscription:
    """Exactly one of the three fields is set."""

    topics: tuple[str, ...] = ()
    pattern: str | None = None
    partitions: tuple[TopicPartition, ...] = ()

    @property
    def text(self) -> str:
        """The subscription, for messages."""
        if self.pattern is not None:
            return f"topics that match {self.pattern!r}"
        return ", ".join(self.topics) or ", ".join(f"{t}-{p}" for t, p in self.partitions)

    def find_splits(self, cluster: Cluster) -> dict[str, Split]:
        """Return the splits that exist, by name, sorted."""
        found = cluster.describe_topics(self._matching_topics(cluster))
        splits = [
            Split(name, partition, topic.id)
            for name, topic in sorted(found.items())
            for partition in range(topic.partitions)
            if not self.partitions or (name, partition) in self.partitions
        ]
        return {split.name: split for split in splits}

    def check_exist(self, splits: Mapping[str, Split]) -> None:
        """Check that all topics and partitions that the user named exist.

        Raises:
            UnknownTopicOrPartition: a topic or partition does not exist.
        """
        topic_partitions = {split.topic_partition for split in splits.values()}
        topics = {split.topic for split in splits.values()}
        for topic in self.topics:
            if topic not in topics:
                raise UnknownTopicOrPartition(
                    f"there is no topic {topic!r} to read",
                    hint="create it first; a topic pattern also finds later topics",
                )
        for topic, partition in self.partitions:
            if (topic, partition) not in topic_partitions:
                raise UnknownTopicOrPartition(
                    f"there is no partition {partition} of topic {topic!r} to read",
                    hint="topics have partitions 0 to n - 1",
                )

    def includes(self, split: Split) -> bool:
        """Return whether a split belongs to the subscription, if its topic exists."""
        if self.pattern is not None:
            return re.fullmatch(self.pattern, split.topic) is not None
        return split.topic in self.topics or split.topic_partition in self.partitions

    def _matching_topics(self, cluster: Cluster) -> list[str]:
        if self.pattern is not None:
            return [n for n in cluster.topic_names() if re.fullmatch(self.pattern, n)]
        return [*self.topics] or sorted({topic for topic, _ in self.partitions})
