"""The interface to a Kafka client that the source uses; tests replace the client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from headrace.errors import JobError

TopicPartition = tuple[str, int]
"""Topic and partition."""


RETRY_PAUSE_S = 0.2
"""The pause before stale metadata is requested again."""


_INTERNAL_TOPICS = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
)


def is_internal_topic(topic: str) -> bool:
    """Return whether a topic is internal to Kafka.

    A user's topic may begin with underscores, too.
    """
    return topic in _INTERNAL_TOPICS


class Unreachable(Exception):
    """No broker answers for now. The text is the last error that the client reported.

    ``refused``: brokers answer, but refuse the authentication or the encryption of the connection.
    ``unknown_host``: no bootstrap server can be resolved by DNS.
    """

    def __init__(self, heard: str, *, refused: bool = False, unknown_host: bool = False) -> None:
        super().__init__(heard)
        self.refused, self.unknown_host = refused, unknown_host

    @property
    def is_setting(self) -> bool:
        """Whether a wrong setting is the likely cause, if no broker has ever answered."""
        return self.refused or self.unknown_host

    @property
    def message(self) -> str:
        """The error message for users."""
        return f"{'Kafka refuses the login' if self.refused else 'no Kafka broker answers'}: {self}"


class OffsetGone(Exception):
    """The offset is not in the partition: it is before the first record or after the end.

    ``topic_gone``: the topic itself does not exist.
    """

    def __init__(self, reason: str, *, topic_gone: bool = False) -> None:
        super().__init__(reason)
        self.topic_gone = topic_gone


class StaleMetadata(JobError):
    """Metadata may be stale just after a topic was created, deleted or moved.

    It becomes a ``JobError`` if it lasts for ``confirmed_after_s`` (seconds).
    """

    confirmed_after_s = 10.0

    def to_job_error(self) -> JobError:
        """Return the exception for the user."""
        return JobError(self.message, where=self.where, hint=self.hint)


class UnknownTopicOrPartition(StaleMetadata):
    """A topic or partition does not exist. The most likely cause is a wrong name."""

    confirmed_after_s = 2.0


class Topic(NamedTuple):
    """A topic: its id (empty if the brokers have none) and its number of partitions."""

    id: str
    partitions: int


class Fetched(NamedTuple):
    """Messages of one partition in order, and how far its log was read.

    ``reached``: no message before this offset is still to come; None: unknown.
    """

    messages: Sequence[Any]
    reached: int | None = None


class Cluster(Protocol):
    """Answers questions about topics and offsets.

    Every method raises ``Unreachable`` if no broker answers, and ``JobError`` if brokers refuse
    (authentication, authorization). A partition that cannot answer now is missing in the result.
    """

    def topic_names(self) -> Sequence[str]:
        """Return the names of all topics except Kafka's internal ones."""

    def describe_topics(self, topics: Sequence[str]) -> Mapping[str, Topic]:
        """Return the topics of ``names`` that exist."""

    def earliest_offsets(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the first offset that is still stored, of each partition."""

    def latest_offsets(
        self, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the offset after the last record that may be read, of each partition."""

    def offsets_at_time(
        self, topic_partitions: Iterable[TopicPartition], timestamp_ms: int
    ) -> dict[TopicPartition, int]:
        """Return the first offset with this timestamp or a later one; without one, no entry."""

    def committed_offsets(
        self, group: str, topic_partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, int]:
        """Return the offsets that a group has committed."""

    def close(self) -> None:
        """Release the connections."""


class GroupCommits(Protocol):
    """Commits offsets for one group."""

    def commit(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Begin to commit, without waiting."""

    def results(self) -> Sequence[str | None]:
        """Return the results of the commits answered since the last call: an error, or None."""

    def close(self) -> None:
        """Wait a few seconds for pending commits, and release the connections."""


class PartitionConsumer(Protocol):
    """Fetches the messages of one partition, and prefetches the next ones.

    A message has the methods of confluent-kafka's: ``offset``, ``key``, ``value``, ``timestamp``,
    ``headers``.
    """

    def seek(self, offset: int) -> None:
        """Continue at an offset; prefetched messages are dropped."""

    def fetch(self, max_messages: int, wait_s: float) -> Fetched:
        """Return up to ``max_messages`` messages; waits for the first one only.

        Raises:
            OffsetGone: the partition does not have the offset.
            JobError: the brokers refuse.
        """

    def last_error(self) -> str:
        """Return the last error of the connections, or an empty text."""

    def close(self) -> None:
        """Release the connections."""


class Clients(Protocol):
    """Makes clients. It can be pickled, and its ``repr`` shows no secret."""

    def cluster(self) -> Cluster:
        """Return a new client for a ``Cluster``'s questions."""

    def log(self, topic: str, partition: int) -> PartitionConsumer:
        """Return a new client for one partition; it must be given an offset to begin at."""

    def group_commits(self, group: str) -> GroupCommits:
        """Return a new client that commits for a group."""

    def pause(self, seconds: float) -> None:
        """Wait before a new client asks the same again."""

    def clock_ms(self) -> int:
        """Return a monotonic time: only differences matter."""
