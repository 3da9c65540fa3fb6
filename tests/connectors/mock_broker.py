"""librdkafka's own broker, inside this process: for what needs the real client and no JVM."""

from __future__ import annotations

from typing import Any

from confluent_kafka import Producer


def mock_broker() -> tuple[Producer, str]:
    """A producer, with which the broker lives and ends, and the broker's address.

    Topics are made when they are first written to, with four partitions.
    """
    settings: dict[str, Any] = {
        "bootstrap.servers": "nowhere",
        "test.mock.num.brokers": 1,
        "log_level": 0,
    }
    producer = Producer(settings)
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    return producer, f"127.0.0.1:{broker.port}"
