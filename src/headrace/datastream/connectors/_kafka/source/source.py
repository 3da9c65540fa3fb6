"""``KafkaSource`` and its builder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from headrace.common._extras import check_installed
from headrace.common.serialization import DeserializationSchema
from headrace.common.time import TimeAmount, milliseconds_of
from headrace.connector import JsonValue, Source, SplitEnumerator, SplitMetrics, SplitReader
from headrace.datastream.connectors._kafka.client.builder import KafkaBuilder
from headrace.datastream.connectors._kafka.client.consumer import Clients
from headrace.datastream.connectors._kafka.client.librdkafka import LibrdkafkaClients
from headrace.datastream.connectors._kafka.client.properties import Properties
from headrace.datastream.connectors._kafka.source.enumerator import KafkaEnumerator
from headrace.datastream.connectors._kafka.source.offset_policies import Policy
from headrace.datastream.connectors._kafka.source.offsets import (
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.datastream.connectors._kafka.source.reader import KafkaReader
from headrace.datastream.connectors._kafka.source.records import (
    KafkaRecordDeserializationSchema,
    ValueOnly,
)
from headrace.datastream.connectors._kafka.source.split import Position, Split
from headrace.datastream.connectors._kafka.source.subscription import Subscription
from headrace.errors import ConfigurationError, PlanError

DISCOVERY_INTERVAL_MS = 10_000
UNREACHABLE_TIMEOUT = 300_000
ISOLATION = ("read_committed", "read_uncommitted")
_DISCOVERY = "partition.discovery.interval.ms"
_WHAT = {"topics": "topics", "topic_pattern": "a topic pattern", "partitions": "partitions"}


@dataclass(frozen=True, kw_only=True)
class KafkaSource(Source):
    """Reads records of Kafka topics; each partition is a split, with its offset in the checkpoint.

    Set one of ``topics``, ``topic_pattern`` (a regular expression for complete names) and
    ``partitions``. An unbounded source looks for new topics and partitions every 10 s (the property
    ``partition.discovery.interval.ms``), and reads them from their beginning. With
    ``stopping_offsets`` it reads the partitions that exist at the start, each up to its offset. The
    input is then bounded, unless ``bounded`` is False. ``deserializer`` is a
    ``DeserializationSchema`` for values, or a ``KafkaRecordDeserializationSchema``.

    Only committed transactions are read, unless ``isolation.level`` is ``read_uncommitted``.
    ``on_missing_offsets``: what happens if records were deleted before they were read, or a
    partition lost its last records. ``on_changed_topic``: what happens if a topic was deleted, or
    deleted and created again. Both are ``fail`` (default), or ``earliest`` or ``latest`` to
    continue at the beginning or at the end of the partition. The job waits up to
    ``unreachable_timeout`` (default 5 minutes) for brokers that do not answer.
    """

    bootstrap_servers: str = ""
    topics: str | Iterable[str] = ()
    topic_pattern: str | None = None
    partitions: Iterable[KafkaTopicPartition] = ()
    deserializer: Any = None
    group_id: str | None = None
    starting_offsets: KafkaOffsetsInitializer = field(
        default_factory=KafkaOffsetsInitializer.earliest
    )
    stopping_offsets: KafkaOffsetsInitializer | None = None
    bounded: bool | None = None  # type: ignore[assignment]
    client_id_prefix: str | None = None
    properties: Mapping[str, object] | Properties = field(default_factory=Properties)
    error_tag: Any = None
    on_missing_offsets: Policy = "fail"
    on_changed_topic: Policy = "fail"
    unreachable_timeout: TimeAmount = UNREACHABLE_TIMEOUT
    clients: Clients | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        set_ = object.__setattr__
        given = self.properties
        properties = given if isinstance(given, Properties) else Properties.of(given)
        set_(self, "properties", properties)
        servers = self.bootstrap_servers or properties.get("bootstrap.servers") or ""
        set_(self, "bootstrap_servers", servers)
        set_(self, "group_id", self.group_id or properties.get("group.id"))
        topics = (self.topics,) if isinstance(self.topics, str) else tuple(self.topics)
        set_(self, "topics", tuple(dict.fromkeys(topics)))
        topic_partitions = sorted(
            {KafkaTopicPartition(*topic_partition) for topic_partition in self.partitions}
        )
        set_(self, "partitions", tuple(topic_partitions))
        stops = self.stopping_offsets is not None
        set_(self, "bounded", stops if self.bounded is None else self.bounded)
        if isinstance(self.deserializer, DeserializationSchema):
            set_(self, "deserializer", ValueOnly(self.deserializer))
        timeout = milliseconds_of(self.unreachable_timeout, "the unreachable timeout", at_least=1)
        set_(self, "unreachable_timeout", timeout)
        self._check_arguments()
        if self.clients is None:
            check_installed("confluent_kafka")
            clients = LibrdkafkaClients(servers, self.group_id, self.client_id_prefix, properties)
            set_(self, "clients", clients)

    def _check_arguments(self) -> None:
        """Raise PlanError for a wrong argument, or ConfigurationError for a wrong property."""
        if not self.bootstrap_servers:
            raise PlanError(
                "a Kafka source needs the address of a broker",
                hint="KafkaSource.builder().set_bootstrap_servers('localhost:9092')",
            )
        said = [bool(self.topics), self.topic_pattern is not None, bool(self.partitions)]
        if sum(said) != 1:
            raise PlanError(
                "a Kafka source reads topics, or topics that match a pattern, or partitions",
                hint="call one of set_topics, set_topic_pattern, set_partitions",
            )
        for topic in self.topics:
            if not isinstance(topic, str) or not topic:
                raise PlanError(
                    f"the name of a topic is a str that is not empty, not {topic!r:.100}"
                )
        assert isinstance(self.properties, Properties)
        level = self.properties.get("isolation.level") or ISOLATION[0]
        if level not in ISOLATION and "${" not in level:
            raise ConfigurationError(f"isolation.level is one of {ISOLATION}, not {level!r:.100}")
        if not isinstance(self.deserializer, KafkaRecordDeserializationSchema):
            raise PlanError(
                f"a Kafka source needs a deserialization schema, not {self.deserializer!r:.100}",
                hint="set_value_only_deserializer(SimpleStringSchema()), or set_deserializer(…)",
            )
        for policy in (self.on_missing_offsets, self.on_changed_topic):
            if policy not in get_args(Policy):
                raise PlanError(f"{policy!r} is no policy: fail, earliest or latest")
        for rule in (self.starting_offsets, self.stopping_offsets):
            if rule is not None and rule.needs_group and not self.group_id:
                raise PlanError(
                    "committed offsets belong to a group, and no group is set",
                    hint="set_group_id('…')",
                )
        if self.bounded and self.stopping_offsets is None:
            raise PlanError(
                "a bounded Kafka source needs to know where to stop",
                hint="stopping_offsets=KafkaOffsetsInitializer.latest()",
            )
        try:
            re.compile(self.topic_pattern or "")
        except re.error as error:
            raise PlanError(f"the topic pattern is no regular expression: {error}") from None

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Return a new builder."""
        return KafkaSourceBuilder()

    @property
    def kind(self) -> str:
        """``kafka``, which checkpoints store."""
        return "kafka"

    @property
    def locator(self) -> str:
        """The topics, the pattern or the partitions."""
        return self._make_subscription().text

    @property
    def stops_at(self) -> str:
        """The stop position, such as ``latest offsets``; empty if the source never stops."""
        return self.stopping_offsets.text if self.stopping_offsets is not None else ""

    @property
    def bad_record_tag(self) -> Any | None:
        """The tag for records that cannot be deserialized, or None."""
        return self.error_tag

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return a new enumerator, which writes no files."""
        assert self.clients is not None
        assert isinstance(self.unreachable_timeout, int)
        return KafkaEnumerator(
            clients=self.clients,
            subscription=self._make_subscription(),
            group=self.group_id if self._commits else None,
            reads_group=self.group_id,
            starting=self.starting_offsets,
            stopping=self.stopping_offsets,
            on_missing=self.on_missing_offsets,
            on_changed=self.on_changed_topic,
            discovery_ms=self._discovery_ms,
            timeout_ms=self.unreachable_timeout,
        )

    def reader(self) -> SplitReader:
        """Return a new reader, which connects at the first read."""
        assert self.clients is not None
        assert isinstance(self.unreachable_timeout, int)
        return KafkaReader(
            self.clients,
            self.deserializer,
            self.error_tag is not None,
            on_missing=self.on_missing_offsets,
            on_changed=self.on_changed_topic,
            timeout_ms=self.unreachable_timeout,
        )

    def split_metrics(
        self, splits: Mapping[str, tuple[JsonValue, int | None]]
    ) -> Sequence[SplitMetrics]:
        """Return the offsets and lags of partitions, under the names of Flink's Kafka source.

        ``currentOffset`` is the offset before the position: that of the last record, if the topic
        has no markers of transactions. ``committedOffset`` is what the group's next commit is.
        """
        reader, lags, found = ("KafkaSourceReader", None), [], []
        for split, (position, unread) in splits.items():
            topic, partition, _ = Split.of(split)
            offset = Position.of(position).offset
            gauges = {"currentOffset": offset - 1}
            if self.group_id is not None and self._commits:
                gauges["committedOffset"] = offset
            if unread is not None:
                gauges["recordsLag"] = unread
                lags.append(unread)
            groups = (reader, ("topic", topic), ("partition", str(partition)))
            found.append(SplitMetrics(groups, gauges))
        if lags:
            all_of_them = (reader, ("KafkaConsumer", None))
            found.append(SplitMetrics(all_of_them, {"records-lag-max": max(lags)}))
        return found

    def _make_subscription(self) -> Subscription:
        topic_partitions = tuple((topic, partition) for topic, partition in self.partitions)
        return Subscription(tuple(self.topics), self.topic_pattern, topic_partitions)

    @property
    def _commits(self) -> bool:
        assert isinstance(self.properties, Properties)
        if self.stopping_offsets is not None and self.stopping_offsets.needs_group:
            return False  # the committed offsets are the stops, and must not change
        return self.properties.get("commit.offsets.on.checkpoint") != "false"

    @property
    def _discovery_ms(self) -> int | None:
        """How often new partitions are looked for; None: never."""
        assert isinstance(self.properties, Properties)
        text = self.properties.get(_DISCOVERY)
        try:
            found = DISCOVERY_INTERVAL_MS if text is None else int(text)
        except ValueError:
            raise ConfigurationError(f"{_DISCOVERY} is no number: {text!r}") from None
        return found if found > 0 and self.stopping_offsets is None else None


class KafkaSourceBuilder(KafkaBuilder):
    """Builds a ``KafkaSource``."""

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Set the consumer group for which offsets are committed; tools then show the lag."""
        return self._set(group_id=group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Read the given topics; they must exist when the job starts."""
        return self._read("topics", topics)

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Read all topics whose complete name matches a regular expression, also new ones."""
        return self._read("topic_pattern", topic_pattern)

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Read only the given partitions."""
        return self._read("partitions", tuple(partitions))

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set where a job without a checkpoint starts (default ``earliest()``)."""
        return self._set(starting_offsets=starting_offsets_initializer)

    def set_unbounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set offsets at which the source stops; until then the job runs as a stream."""
        return self._set(stopping_offsets=stopping_offsets_initializer, bounded=False)

    def set_bounded(
        self, stopping_offsets_initializer: KafkaOffsetsInitializer
    ) -> KafkaSourceBuilder:
        """Set offsets at which the source stops; the source is bounded, so a batch can read it."""
        return self._set(stopping_offsets=stopping_offsets_initializer, bounded=True)

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema
    ) -> KafkaSourceBuilder:
        """Set the schema of values; keys and headers are not read."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise PlanError(f"{deserialization_schema!r:.100} is no DeserializationSchema")
        return self._set(deserializer=deserialization_schema)

    def set_deserializer(
        self, record_deserializer: KafkaRecordDeserializationSchema
    ) -> KafkaSourceBuilder:
        """Set a schema that receives value, key, headers, topic, offset and timestamp."""
        return self._set(deserializer=record_deserializer)

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        """Set the prefix of client ids, which brokers use in logs and quotas."""
        return self._set(client_id_prefix=prefix)

    def set_properties(self, props: Mapping[str, object]) -> KafkaSourceBuilder:
        """Set several client properties."""
        self._properties.update(props)
        return self

    def on_error(self, tag: Any) -> KafkaSourceBuilder:
        """Send records that cannot be deserialized to this ``OutputTag``, as ``BadKafkaRecord``s.

        With None (the default), the job fails at the first such record.
        """
        return self._set(error_tag=tag)

    def on_missing_offsets(self, policy: str) -> KafkaSourceBuilder:
        """Set what happens if offsets no longer exist.

        The policy is ``fail`` (default), ``earliest`` or ``latest``.
        """
        return self._set(on_missing_offsets=policy)

    def on_changed_topic(self, policy: str) -> KafkaSourceBuilder:
        """Set what happens if a topic was deleted or created again.

        The policy is ``fail`` (default), ``earliest`` or ``latest``.
        """
        return self._set(on_changed_topic=policy)

    def set_unreachable_timeout(self, timeout: TimeAmount) -> KafkaSourceBuilder:
        """Set how long the job waits for brokers that do not answer (default 5 minutes)."""
        return self._set(unreachable_timeout=timeout)

    def set_clients(self, clients: Clients | None) -> KafkaSourceBuilder:
        """Use another Kafka client instead of confluent-kafka, for tests."""
        return self._set(clients=clients)

    def build(self) -> KafkaSource:
        """Return the source.

        Raises:
            PlanError: brokers, topics or a schema are missing, or settings contradict each other.
            ConfigurationError: a property cannot be used.
            MissingExtraError: confluent-kafka is not installed.
        """
        return KafkaSource(**self._given, properties=self._properties)

    def _read(self, what: str, value: Any) -> KafkaSourceBuilder:
        for other in _WHAT:
            if other in self._given:
                raise PlanError(
                    f"{_WHAT[what]} cannot be set: {_WHAT[other]} are set already",
                    hint="read topics, a pattern or partitions; a union takes several sources",
                )
        return self._set(**{what: value})
