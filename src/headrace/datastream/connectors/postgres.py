"""PostgreSQL: a sink that writes exactly once, a lookup, and a source that reads a snapshot."""

from headrace.datastream.connectors._postgres.lookup import PostgresLookup
from headrace.datastream.connectors._postgres.sink import PostgresSink
from headrace.datastream.connectors._postgres.snapshot import PostgresSnapshotSource

__all__ = ["PostgresLookup", "PostgresSink", "PostgresSnapshotSource"]
