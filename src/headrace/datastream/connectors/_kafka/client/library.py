"""Creates confluent-kafka's clients, and reads their errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headrace.datastream.connectors._kafka.client.log import ClientLog
from headrace.errors import ConfigurationError

UNKNOWN = ("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID")
"""The names of the errors for a topic or partition that does not exist, or that a broker does not
know yet."""


def make_client(make: Callable[[dict[str, Any]], Any], properties: Mapping[str, Any]) -> Any:
    """Return a client that logs through Python's ``logging``.

    Raises:
        ConfigurationError: librdkafka refuses a property.
    """
    from confluent_kafka import KafkaException

    try:
        return make({**properties, "logger": ClientLog()})
    except KafkaException as error:
        raise ConfigurationError(
            f"Kafka's client refuses its properties: {text_of(error)}",
            hint="they are librdkafka's: see its CONFIGURATION.md",
        ) from None


def text_of(error: Any) -> str:
    """Return librdkafka's text for an error, or for an exception that contains one."""
    inner = error.args[0] if error.args else error
    return str(inner.str()) if hasattr(inner, "str") else str(inner)
