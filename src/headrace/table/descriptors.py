"""Older descriptions of tables."""

from headrace.common._unsupported import unsupported

__all__ = [
    "Descriptor",
    "Rowtime",
    "Schema",
]

_REASON = "use Schema and TableDescriptor of headrace.table"
Descriptor = unsupported("headrace.table.descriptors.Descriptor", _REASON)
Rowtime = unsupported("headrace.table.descriptors.Rowtime", _REASON)
Schema = unsupported("headrace.table.descriptors.Schema", _REASON)
