"""Connectors by name."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module

from headrace.table._connectors.connector import Connector
from headrace.table._options import find_named

_CONNECTORS = {
    "filesystem": "headrace.table._connectors.filesystem.connector:FilesystemConnector",
    "datagen": "headrace.table._connectors.datagen:DatagenConnector",
    "print": "headrace.table._connectors.print_connector:PrintConnector",
    "kafka": "headrace.table._connectors.kafka.connector:KafkaConnector",
    "upsert-kafka": "headrace.table._connectors.kafka.connector:UpsertKafkaConnector",
    "spark": "headrace.table._connectors.spark.connector:SparkConnector",
    "blackhole": "headrace.table._connectors.blackhole:BlackholeConnector",
}


def find_connector(
    identifier: str | None, table: str = "", others: Iterable[str] = ()
) -> Connector:
    """Return the connector of a name. ``table``, ``others``: as ``find_named`` has them.

    Raises:
        SqlValidationError: there is none.
    """
    found = find_named("connector", identifier, _CONNECTORS, table, others)
    module, _, name = found.partition(":")
    made: Connector = getattr(import_module(module), name)()
    return made
