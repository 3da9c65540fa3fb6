"""The job's topics, and their Avro schemas.

Quantities and prices are text, so they are exact with any number of digits.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ALPHA, BETA, GAMMA = "alpha.fix", "beta.json", "gamma.avro"
FEED_TOPICS = (ALPHA, BETA, GAMMA)
PARTITIONS = 2

_MAYBE_TEXT = ["null", "string"]


@dataclass(frozen=True)
class OutputTopics:
    """Names of the topics to which one run writes; the suffix differs between runs."""

    suffix: str = ""

    @property
    def normalised_topic(self) -> str:
        """Name of the topic for normalised events, keyed by instrument."""
        return f"events.normalised{self.suffix}"

    @property
    def orders_topic(self) -> str:
        """Name of the topic for order documents, keyed by root order."""
        return f"orders{self.suffix}"

    @property
    def anomalies_topic(self) -> str:
        """Name of the topic for anomalies, keyed by event id if it is known."""
        return f"anomalies{self.suffix}"

    @property
    def topics(self) -> tuple[str, str, str]:
        """Names of all three topics."""
        return self.normalised_topic, self.orders_topic, self.anomalies_topic


def topic_settings(topic: str) -> dict[str, str]:
    """Return the Kafka settings with which a topic is created.

    Kafka deletes records by their timestamps. Those of the output topics are event times, possibly
    months ago, so nothing is deleted by age.
    """
    if topic.startswith("orders"):
        return {"cleanup.policy": "compact"}
    return {"retention.ms": "-1"}


def _record(name: str, *fields: tuple[str, Any]) -> dict[str, Any]:
    return {
        "type": "record",
        "name": name,
        "namespace": "headrace.trades",
        "fields": [_make_field(field, kind) for field, kind in fields],
    }


def _make_field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind} | (
        {"default": None} if isinstance(kind, Sequence) and kind[0] == "null" else {}
    )


def _make_optional_fields(*names: str) -> list[tuple[str, Any]]:
    return [(name, _MAYBE_TEXT) for name in names]


GAMMA_MESSAGE = json.dumps(
    _record(
        "GammaMessage",
        ("seq", "long"),
        ("time", "string"),
        ("type", "string"),
        *_make_optional_fields("order_id", "replaces", "parent_order_id", "exec_id"),
        ("isin", "string"),
        *_make_optional_fields("side", "quantity", "price", "account"),
    )
)

NORMALISED_EVENT = json.dumps(
    _record(
        "NormalisedEvent",
        ("event_id", "string"),
        ("system", "string"),
        ("kind", "string"),
        ("event_time_ms", "long"),
        *_make_optional_fields("order_id", "replaces", "parent_order_id", "exec_id"),
        ("instrument_id", "string"),
        ("currency", "string"),
        *_make_optional_fields("side", "quantity", "price", "account", "client", "desk"),
    )
)

_EXECUTION = _record(
    "Execution",
    ("exec_id", "string"),
    ("quantity", "string"),
    ("price", "string"),
    ("time_ms", "long"),
    ("busted", "boolean"),
)
_ORDER = _record(
    "Order",
    ("order_id", "string"),
    ("ids", {"type": "array", "items": "string"}),
    ("parent", _MAYBE_TEXT),
    ("side", "string"),
    ("quantity", "string"),
    ("price", "string"),
    ("cum_qty", "string"),
    ("avg_px", _MAYBE_TEXT),
    ("leaves_qty", "string"),
    ("executed_below", "string"),
    ("status", "string"),
    ("executions", {"type": "array", "items": _EXECUTION}),
)
ORDER_DOCUMENT = json.dumps(
    _record(
        "OrderDocument",
        ("root", "string"),
        ("version", "long"),
        ("as_of_ms", "long"),
        ("instrument_id", "string"),
        ("currency", "string"),
        ("client", _MAYBE_TEXT),
        ("orders", {"type": "array", "items": _ORDER}),
    )
)

ANOMALY = json.dumps(
    _record(
        "Anomaly",
        ("kind", "string"),
        *_make_optional_fields("event_id", "source"),
        ("position", ["null", "long"]),
        ("reason", "string"),
        ("raw", ["null", "bytes"]),
    )
)
