"""Databases: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the JDBC connector is not part of this release"

JdbcSink = unsupported(f"{__name__}.JdbcSink", _REASON)
JdbcConnectionOptions = unsupported(f"{__name__}.JdbcConnectionOptions", _REASON)
JdbcExecutionOptions = unsupported(f"{__name__}.JdbcExecutionOptions", _REASON)
