"""Creates confluent-kafka's clients, and reads their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.datastream.connectors._kafka.client.log import ClientLog
from headrace.errors import ConfigurationError

UNKNOWN = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID")
"""The names of the errors for a topic or partition that does not exist, or that a broker does not
know yet."""

_RECONNECT, _RECONNECT_MAX = "reconnect.backoff.ms", "reconnect.backoff.max.ms"
_RECONNECT_MS = 22
"""A new client connects to a bootstrap server, and then to the brokers that this one names.
librdkafka waits for half of this time between the two, at least for 11 ms."""

_RECONNECT_MAX_MS = 1000
"""Java's; after a while librdkafka would look for a broker every ten seconds."""


def make_client(make: Callable[[dict[str, Any]], Any], properties: Mapping[str, Any]) -> Any:
    """Return a client that logs through Python's ``logging``.

    Raises:
        ConfigurationError: librdkafka refuses a property.
    """
    from confluent_kafka import KafkaException

    try:
        return make({**_connecting(properties), **properties, "logger": ClientLog()})
    except KafkaException as error:
        raise ConfigurationError(
            f"Kafka's client refuses its properties: {text_of(error)}",
            hint="they are librdkafka's: see its CONFIGURATION.md",
        ) from None


def _connecting(properties: Mapping[str, Any]) -> dict[str, str]:
    """Return how fast a client connects, as far as its properties do not say.

    librdkafka refuses a maximum below the shortest pause, so what is given moves the other one.
    """
    shortest, longest = properties.get(_RECONNECT), properties.get(_RECONNECT_MAX)
    found = {}
    if shortest is None:
        found[_RECONNECT] = f"{min(_RECONNECT_MS, _milliseconds(longest, _RECONNECT_MS))}"
    if longest is None:
        found[_RECONNECT_MAX] = f"{max(_RECONNECT_MAX_MS, _milliseconds(shortest, 0))}"
    return found


def _milliseconds(text: Any, default: int) -> int:
    """Return a property's number; ``default`` for none, and for what librdkafka refuses anyway."""
    return int(text) if str(text).strip().isdecimal() else default


def text_of(error: Any) -> str:
    """Return librdkafka's text for an error, or for an exception that contains one."""
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(inner)
