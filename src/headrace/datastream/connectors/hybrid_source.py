"""``HybridSource``: one source after another, for example files and then a stream."""

from headrace.datastream.connectors._hybrid_source import HybridSource, HybridSourceBuilder

__all__ = ["HybridSource", "HybridSourceBuilder"]
