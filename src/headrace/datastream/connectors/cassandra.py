"""Cassandra: there is no such connector; each name says so when it is used."""

from headrace.common._unsupported import unsupported

__all__ = [
    "CassandraCommitter",
    "CassandraFailureHandler",
    "CassandraSink",
    "ClusterBuilder",
    "ConsistencyLevel",
    "MapperOptions",
]

_REASON = "there is no Cassandra connector"

ConsistencyLevel = unsupported(f"{__name__}.ConsistencyLevel", _REASON)
MapperOptions = unsupported(f"{__name__}.MapperOptions", _REASON)
ClusterBuilder = unsupported(f"{__name__}.ClusterBuilder", _REASON)
CassandraCommitter = unsupported(f"{__name__}.CassandraCommitter", _REASON)
CassandraFailureHandler = unsupported(f"{__name__}.CassandraFailureHandler", _REASON)
CassandraSink = unsupported(f"{__name__}.CassandraSink", _REASON)
