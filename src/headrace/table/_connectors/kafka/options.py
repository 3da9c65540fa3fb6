"""The options of tables in Kafka, and what they mean for sources and sinks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from headrace.common._options.values import ValueKind
from headrace.connector import DeliveryGuarantee
from headrace.datastream.connectors._kafka.source.offset_policies import Policy
from headrace.datastream.connectors._kafka.source.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.errors import SqlValidationError
from headrace.table._options import TableOption

PROPERTIES = "properties."

TOPIC = TableOption("topic", ValueKind.LIST)
PATTERN = TableOption("topic-pattern")
FORMAT = TableOption("format")
KEY_FORMAT = TableOption("key.format")
VALUE_FORMAT = TableOption("value.format")
KEY_FIELDS = TableOption("key.fields", ValueKind.LIST, [])
KEY_PREFIX = TableOption("key.fields-prefix", default="")
VALUE_FIELDS = TableOption(
    "value.fields-include", ValueKind.CHOICE, "ALL", choices=("ALL", "EXCEPT_KEY")
)
STARTUP = TableOption(
    "scan.startup.mode",
    ValueKind.CHOICE,
    "group-offsets",
    choices=("earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)
STARTUP_OFFSETS = TableOption("scan.startup.specific-offsets")
STARTUP_TIME = TableOption("scan.startup.timestamp-millis", ValueKind.LONG)
BOUNDED = TableOption(
    "scan.bounded.mode",
    ValueKind.CHOICE,
    "unbounded",
    choices=("unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"),
)
BOUNDED_OFFSETS = TableOption("scan.bounded.specific-offsets")
BOUNDED_TIME = TableOption("scan.bounded.timestamp-millis", ValueKind.LONG)
DISCOVERY = TableOption("scan.topic-partition-discovery.interval", ValueKind.DURATION, 300_000)
SCAN_PARALLELISM = TableOption("scan.parallelism", ValueKind.INT)
PARTITIONER = TableOption("sink.partitioner", default="default")
GUARANTEE = TableOption(
    "sink.delivery-guarantee",
    ValueKind.CHOICE,
    "at-least-once",
    choices=("exactly-once", "at-least-once", "none"),
)
ID_PREFIX = TableOption("sink.transactional-id-prefix", default="")
SINK_PARALLELISM = TableOption("sink.parallelism", ValueKind.INT)
FLUSH_ROWS = TableOption("sink.buffer-flush.max-rows", ValueKind.INT, 0)
FLUSH_INTERVAL = TableOption("sink.buffer-flush.interval", ValueKind.DURATION, 0)

_BOTH = (TOPIC, PATTERN, KEY_FORMAT, VALUE_FORMAT, KEY_PREFIX, VALUE_FIELDS)
_BOUNDS = (BOUNDED, BOUNDED_OFFSETS, BOUNDED_TIME, DISCOVERY, SCAN_PARALLELISM)
_SINK = (GUARANTEE, ID_PREFIX, SINK_PARALLELISM)

KAFKA_OPTIONS = (
    *_BOTH,
    *_BOUNDS,
    *_SINK,
    FORMAT,
    KEY_FIELDS,
    STARTUP,
    STARTUP_OFFSETS,
    STARTUP_TIME,
    PARTITIONER,
)
UPSERT_OPTIONS = (*_BOTH, *_BOUNDS, *_SINK, FLUSH_ROWS, FLUSH_INTERVAL)

_RESETS: dict[object, KafkaOffsetResetStrategy] = {
    None: KafkaOffsetResetStrategy.NONE,
    "none": KafkaOffsetResetStrategy.NONE,
    "earliest": KafkaOffsetResetStrategy.EARLIEST,
    "latest": KafkaOffsetResetStrategy.LATEST,
}


def properties_of(given: Mapping[str, str]) -> dict[str, object]:
    """Return the client properties among options."""
    return {
        key.removeprefix(PROPERTIES): value
        for key, value in given.items()
        if key.startswith(PROPERTIES)
    }


def guarantee_of(table: str, options: Mapping[str, Any]) -> DeliveryGuarantee:
    """Return the delivery guarantee.

    Raises:
        SqlValidationError: exactly once has no prefix for its transactions.
    """
    found = DeliveryGuarantee(options[GUARANTEE.key])
    if found is DeliveryGuarantee.EXACTLY_ONCE and not options[ID_PREFIX.key]:
        raise SqlValidationError(
            f"table {table!r}: sink.transactional-id-prefix must be specified when using"
            " sink.delivery-guarantee 'exactly-once'"
        )
    return found


def missing_offsets_policy(table: str, reset: object) -> Policy:
    """Return what happens to records that are gone, by ``auto.offset.reset``.

    Raises:
        SqlValidationError: the property has another value than Kafka's.
    """
    if reset not in _RESETS:
        raise SqlValidationError(
            f"table {table!r}: properties.auto.offset.reset is {reset!r}, but must be"
            " earliest, latest or none"
        )
    return "earliest" if reset == "earliest" else "latest" if reset == "latest" else "fail"


def starting_offsets(
    table: str,
    options: Mapping[str, Any],
    topics: tuple[str, ...],
    properties: Mapping[str, object],
    reset: object,
) -> KafkaOffsetsInitializer:
    """Return where reading begins; ``reset``: ``auto.offset.reset``, one of Kafka's values."""
    mode = options[STARTUP.key]
    if mode == "earliest-offset":
        return KafkaOffsetsInitializer.earliest()
    if mode == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if mode == "group-offsets":
        _check_group(table, STARTUP, properties)
        return KafkaOffsetsInitializer.committed_offsets(_RESETS[reset])
    return _given_offsets(table, options, mode, topics, STARTUP, STARTUP_TIME, STARTUP_OFFSETS)


def stopping_offsets(
    table: str,
    options: Mapping[str, Any],
    topics: tuple[str, ...],
    properties: Mapping[str, object],
) -> KafkaOffsetsInitializer | None:
    """Return where reading ends; None: it does not."""
    mode = options[BOUNDED.key]
    if mode == "unbounded":
        return None
    if mode == "latest-offset":
        return KafkaOffsetsInitializer.latest()
    if mode == "group-offsets":
        _check_group(table, BOUNDED, properties)
        return KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST)
    return _given_offsets(table, options, mode, topics, BOUNDED, BOUNDED_TIME, BOUNDED_OFFSETS)


def _check_group(table: str, of_mode: TableOption, properties: Mapping[str, object]) -> None:
    if not properties.get("group.id"):
        others = ", ".join(each for each in of_mode.choices if each != "group-offsets")
        raise SqlValidationError(
            f"table {table!r}: {of_mode.key!r} is 'group-offsets', and no group is set",
            where={"modes without a group": others},
            hint=f"set 'properties.group.id', or another {of_mode.key!r}",
        )


def _given_offsets(
    table: str,
    options: Mapping[str, Any],
    mode: str,
    topics: tuple[str, ...],
    of_mode: TableOption,
    of_time: TableOption,
    of_offsets: TableOption,
) -> KafkaOffsetsInitializer:
    needed = of_time if mode == "timestamp" else of_offsets
    found = options[needed.key]
    if found is None:
        raise SqlValidationError(
            f"table {table!r}: '{needed.key}' is required in '{mode}' mode ('{of_mode.key}')"
        )
    if mode == "timestamp":
        return KafkaOffsetsInitializer.timestamp(found)
    if len(topics) != 1:
        raise SqlValidationError(f"table {table!r}: specific offsets need a single topic")
    return KafkaOffsetsInitializer.offsets(
        {
            KafkaTopicPartition(topics[0], partition): offset
            for partition, offset in _parse_offsets(table, of_offsets.key, found).items()
        }
    )


def _parse_offsets(table: str, key: str, text: str) -> dict[int, int]:
    found = {}
    for part in text.rstrip(";").split(";"):
        pair = re.fullmatch(r"\s*partition\s*:\s*(\d+)\s*,\s*offset\s*:\s*(\d+)\s*", part)
        if pair is None:
            raise SqlValidationError(
                f"table {table!r}: {key!r} is {text!r}, but must be like"
                " 'partition:0,offset:42;partition:1,offset:300'"
            )
        found[int(pair[1])] = int(pair[2])
    return found
