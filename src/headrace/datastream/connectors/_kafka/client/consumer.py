"""What the source asks of a Kafka client, so that a test can put another one in its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from headrace.errors import JobError

TopicPartition = tuple[str, int]
"""Topic and partition."""


AGAIN_S = 0.2
"""The pause before brokers are asked again for what they may not know yet."""


_OWN_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)


def is_own(topic: str) -> bool:
    """Whether a topic is Kafka's own; a user's may begin with underscores, too."""
    return topic in _OWN_TOPICS


class Unreachable(Exception):
    """No broker answers; later it may. The text says what the client heard last.

    ``refused``: brokers answer, and refuse the login or the connection's encryption.
    ``unknown_host``: no DNS knows the names of the bootstrap servers.
    """

    def __init__(self, heard: str, *, refused: bool = False, unknown_host: bool = False) -> None:
        super().__init__(heard)
        self.refused, self.unknown_host = refused, unknown_host

    @property
    def is_setting(self) -> bool:
        """Whether a wrong setting is the likely reason, if no broker has ever answered."""
        return self.refused or self.unknown_host

    @property
    def sentence(self) -> str:
        """What is wrong, for people."""
        return f"{'Kafka refuses the login' if self.refused else 'no Kafka broker answers'}: {self}"


class OffsetGone(Exception):
    """The offset is not in the partition: before the first record that is kept, or after the end.

    ``topic_gone``: the topic itself is not there.
    """

    def __init__(self, reason: str, *, topic_gone: bool = False) -> None:
        super().__init__(reason)
        self.topic_gone = topic_gone


class StaleMetadata(JobError):
    """Metadata may be stale just after a topic was created, deleted or moved.

    It becomes a ``JobError`` where they say so for ``believed_s`` (seconds).
    """

    believed_s = 10.0

    def final(self) -> JobError:
        """The same, as the user gets it."""
        return JobError(self.message, where=self.where, hint=self.hint)


class UnknownTopicOrPartition(StaleMetadata):
    """A topic or a partition that was named is not there. Most often the name is wrong."""

    believed_s = 2.0


class Topic(NamedTuple):
    """A topic: its id (empty where brokers have none) and how many partitions it has."""

    id: str
    partitions: int


class Fetched(NamedTuple):
    """Messages of one partition in order, and how far the log was seen to be read.

    ``reached`` is an offset before which no message is left to come, or None.
    """

    messages: Sequence[Any]
    reached: int | None = None


class Cluster(Protocol):
    """Answers questions about topics and offsets.

    Every method raises ``Unreachable`` if no broker answers, and ``JobError`` if the brokers refuse
    (authentication, authorization). A partition that cannot answer now is left out of an answer.
    """

    def names(self) -> Sequence[str]:
        """The names of all topics but Kafka's own."""

    def describe(self, topics: Sequence[str]) -> Mapping[str, Topic]:
        """Those of these topics that exist."""

    def earliest(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The first offset that is kept."""

    def latest(self, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the last record that may be read."""

    def at_time(
        self, places: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        """The first offset with this timestamp or a later one, of partitions that have one."""

    def committed(self, group: str, places: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
        """What a group has committed, of partitions where it has."""

    def close(self) -> None:
        """Release the connections."""


class GroupCommits(Protocol):
    """Commits offsets for one group."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Begin to commit, without waiting."""

    def outcomes(self) -> Sequence[str | None]:
        """How the commits went that were answered since the last call: what was wrong, or None."""

    def close(self) -> None:
        """Wait a few seconds for commits under way, and release the connections."""


class PartitionConsumer(Protocol):
    """Fetches the messages of one partition, ahead of those who ask.

    A message has the methods of confluent-kafka's: ``offset``, ``key``, ``value``, ``timestamp``,
    ``headers``.
    """

    def seek(self, offset: int) -> None:
        """Go on at an offset; what was fetched ahead is dropped."""

    def fetch(self, most: int, wait_s: float) -> Fetched:
        """At most so many messages; waits for the first one only.

        Raises:
            OffsetGone: the partition does not have the offset.
            JobError: the brokers refuse.
        """

    def heard(self) -> str:
        """What is wrong with the connections, if the client knows; else an empty text."""

    def close(self) -> None:
        """Release the connections."""


class Clients(Protocol):
    """Makes clients. It can be pickled, and shows no secret in its ``repr``."""

    def cluster(self) -> Cluster:
        """A new client for questions."""

    def log(self, topic: str, partition: int) -> PartitionConsumer:
        """A new client for one partition; it must be given an offset to begin at."""

    def group_commits(self, group: str) -> GroupCommits:
        """A new client that commits for a group."""

    def pause(self, seconds: float) -> None:
        """Wait, before a new client is asked the same."""

    def clock_ms(self) -> int:
        """The time, of which only differences count."""
