"""The common methods of the builders of Kafka sources and sinks."""

from __future__ import annotations

from typing import Any, Self

from headrace.datastream.connectors._kafka.client.properties import HIDDEN, is_secret


class KafkaBuilder:
    """The base of the Kafka builders; secret properties are never shown."""

    def __init__(self) -> None:
        self._given: dict[str, Any] = {}
        self._properties: dict[str, object] = {}

    def set_bootstrap_servers(self, bootstrap_servers: str) -> Self:
        """Set the addresses of some brokers: ``host:port``, separated by commas."""
        return self._set(bootstrap_servers=bootstrap_servers)

    def set_property(self, key: str, value: object) -> Self:
        """Set a client property, by its name in librdkafka or in Java."""
        self._properties[key] = value
        return self

    def _set(self, **changes: Any) -> Self:
        self._given.update(changes)
        return self

    def __repr__(self) -> str:
        shown = {k: HIDDEN if is_secret(k) else v for k, v in self._properties.items()}
        return f"{type(self).__name__}({self._given}, properties={shown})"
