"""Cassandra: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the Cassandra connector is not part of this release"

ConsistencyLevel = unsupported(f"{__name__}.ConsistencyLevel", _REASON)
MapperOptions = unsupported(f"{__name__}.MapperOptions", _REASON)
ClusterBuilder = unsupported(f"{__name__}.ClusterBuilder", _REASON)
CassandraCommitter = unsupported(f"{__name__}.CassandraCommitter", _REASON)
CassandraFailureHandler = unsupported(f"{__name__}.CassandraFailureHandler", _REASON)
CassandraSink = unsupported(f"{__name__}.CassandraSink", _REASON)
