"""PostgreSQL: a sink that writes once, a lookup, and a source that reads one snapshot."""

from headrace.datastream.connectors.postgres.lookup import PostgresLookup
from headrace.datastream.connectors.postgres.sink import PostgresSink
from headrace.datastream.connectors.postgres.snapshot import PostgresSnapshotSource

__all__ = ["PostgresLookup", "PostgresSink", "PostgresSnapshotSource"]
