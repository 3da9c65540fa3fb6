"""One source after another: a backfill from files, and then the stream."""

from headrace.datastream.connectors._hybrid_source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
