"""Makes confluent-kafka's producers, and reads the markers of transactions."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from headrace.common._extras import confluent_kafka
from headrace.datastream.connectors._kafka.client.consumer import is_internal_topic
from headrace.datastream.connectors._kafka.client.library import make_client, text_of
from headrace.datastream.connectors._kafka.client.properties import Properties, resolve_references
from headrace.errors import ConfigurationError

DEFAULTS = {
    "enable.idempotence": "true",  # as in Java: retries keep the order, and duplicate nothing
    "partitioner": "murmur2_random",  # Java's: librdkafka's own brings a key to another partition
    "compression.type": "lz4",
}

# Serializers and metrics of Java's producer, and what the sink decides.
_OF_JAVA = re.compile(
    r"(key|value)\.serializer(\..*)?|max\.block\.ms|partitioner\..+|transactional\.id"
    r"|enable\.metrics\.push|.*\.deserializer|group\.id"
)
_RENAMED = {"max.request.size": "message.max.bytes"}


_log = logging.getLogger(__name__)


class Producers(Protocol):
    """Makes producers. It can be pickled, and its ``repr`` shows no secret.

    A producer has the methods of confluent-kafka's, and raises its ``KafkaException``.
    """

    def producer(
        self,
        settings: Mapping[str, str],
        on_delivery: Callable[[Any, Any], None],
        on_error: Callable[[Any], None],
    ) -> Any:
        """Return a new producer; the user's properties override ``settings``."""

    def marker(self, group: str, timeout_s: float) -> int:
        """Return the greatest offset that a group has committed, of any topic; -1 if it has none.

        While a transaction is committing, no result is available: the caller must retry.
        """

    def last_marker(self, beginning: str, timeout_s: float) -> int:
        """Return the greatest offset of all groups named ``beginning`` and a number.

        Return -1 if there is no such offset.

        Open transactions are ignored.
        """

    def group_metadata(self, group: str) -> Any:
        """Return the group, as ``send_offsets_to_transaction`` needs it."""

    def topic_settings(self, topic: str, timeout_s: float) -> Mapping[str, str]:
        """Return the settings of a topic by name.

        The result is empty if they may not be read, or no broker answers.
        """

    def setting(self, key: str, default: int) -> int:
        """Return a number from the properties, or ``default``."""


@dataclass(frozen=True)
class LibrdkafkaProducers:
    """Makes producers with the same properties."""

    servers: str
    properties: Properties

    def producer(
        self,
        settings: Mapping[str, str],
        on_delivery: Callable[[Any, Any], None],
        on_error: Callable[[Any], None],
    ) -> Any:
        """Return a producer that reports failed deliveries only."""
        return make_client(
            confluent_kafka().Producer,
            {
                **DEFAULTS,
                **settings,
                **self._client_settings(),
                # Never another one: it would not be fenced.
                **{key: settings[key] for key in ("transactional.id",) if key in settings},
                "delivery.report.only.error": True,
                "on_delivery": on_delivery,
                "error_cb": on_error,
            },
        )

    def marker(self, group: str, timeout_s: float) -> int:
        """Return a group's greatest offset in all topics, once no open transaction can change it.

        It uses a consumer with ``read_committed``, which waits for open transactions.
        """
        return self._highest_offset(group, timeout_s, "read_committed")

    def last_marker(self, beginning: str, timeout_s: float) -> int:
        """List all brokers' groups, then read the offsets of those with this prefix.

        Open transactions are ignored. An ``AdminClient`` is used for the list only: one that asks a
        group's coordinator may end the process (see ``group_consumer``).
        """
        with make_client(confluent_kafka().admin.AdminClient, self._admin_settings()) as admin:
            listed = admin.list_consumer_groups(request_timeout=timeout_s).result()
        for error in listed.errors:
            raise error
        own = re.compile(re.escape(beginning) + "[0-9]+")
        names = [each.group_id for each in listed.valid if own.fullmatch(each.group_id)]
        found = [self._highest_offset(name, timeout_s, "read_uncommitted") for name in names]
        return max(found, default=-1)

    def _highest_offset(self, group: str, timeout_s: float, level: str) -> int:
        """Read the highest offset that a group has committed, of all topics; -1 if it has none."""
        kafka = confluent_kafka()
        own = {**self._admin_settings(), "group.id": group, "isolation.level": level}
        consumer = make_client(kafka.Consumer, own)
        try:
            names = consumer.list_topics(timeout=timeout_s).topics
            asked = [
                kafka.TopicPartition(name, 0)
                for name in sorted(names)
                if not is_internal_topic(name)
            ]
            found = consumer.committed(asked, timeout=timeout_s) if asked else []
        finally:
            consumer.close()
        return _highest_offset(found)

    def group_metadata(self, group: str) -> Any:
        """Return the metadata of a consumer that is not in the group, so without a generation."""
        consumer = make_client(
            confluent_kafka().Consumer, {**self._admin_settings(), "group.id": group}
        )
        try:
            return consumer.consumer_group_metadata()
        finally:
            consumer.close()

    def topic_settings(self, topic: str, timeout_s: float) -> Mapping[str, str]:
        """Return the effective settings of a topic, whether set or inherited."""
        kafka = confluent_kafka()
        asked = kafka.admin.ConfigResource(kafka.admin.ConfigResource.Type.TOPIC, topic)
        with make_client(kafka.admin.AdminClient, self._admin_settings()) as admin:
            (answer,) = admin.describe_configs([asked], request_timeout=timeout_s).values()
            try:
                return {name: entry.value for name, entry in answer.result().items()}
            except kafka.KafkaException as error:
                _log.info("the settings of the topic %r are not known: %s", topic, text_of(error))
                return {}

    def setting(self, key: str, default: int) -> int:
        """Return a number from the properties, or ``default``.

        Raises:
            ConfigurationError: the property is not a number.
        """
        text = self._client_properties().get(key)
        try:
            return default if text is None else int(text)
        except ValueError:
            raise ConfigurationError(f"{key} is no number: {text!r}") from None

    def _client_properties(self) -> dict[str, str]:
        return for_producer(self.properties)

    def _client_settings(self) -> dict[str, str]:
        own = self._client_properties()
        servers = resolve_references("bootstrap.servers", self.servers)
        return {**own, "bootstrap.servers": servers, **_client_id(self.properties)}

    def _admin_settings(self) -> dict[str, str]:
        return {key: value for key, value in self._client_settings().items() if _COMMON.match(key)}


def _highest_offset(found: Iterable[Any]) -> int:
    """Return the greatest offset of a result; -1: none.

    Raises:
        KafkaException: an offset is unknown, unless the topic may not be read.
    """
    found = [*found]
    for topic_partition in found:
        if (
            topic_partition.error is not None
            and "AUTHORIZATION" not in topic_partition.error.name()
        ):
            raise confluent_kafka().KafkaException(topic_partition.error)
    return max(
        (topic_partition.offset for topic_partition in found if topic_partition.error is None),
        default=-1,
    )


_COMMON = re.compile(
    r"(bootstrap|client|security|sasl|ssl|enable\.ssl|enable\.sasl|broker|socket|reconnect)\."
    r"|log_level|debug"
)


def _client_id(properties: Properties) -> dict[str, str]:
    return {"client.id": resolve_references("client.id", properties.get("client.id") or "headrace")}


def for_producer(properties: Properties) -> dict[str, str]:
    """Return the properties for librdkafka's producer, with references resolved.

    Raises:
        ConfigurationError: a value that only Java can read, or a reference that does not exist.
    """
    kept = [(key, value) for key, value in properties.given if not _OF_JAVA.fullmatch(key)]
    named = Properties(tuple((_RENAMED.get(key, key), value) for key, value in kept))
    found = named.for_consumer()
    memory = found.pop("buffer.memory", None)  # Java's, in bytes
    if memory is not None and memory.isdigit():
        found.setdefault("queue.buffering.max.kbytes", str(max(int(memory) // 1024, 1)))
    return found
