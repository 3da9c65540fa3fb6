"""PyFlink's own wire format."""

from headrace.common._unsupported import unsupported

__all__ = [
    "ArrowSerializer",
]

_REASON = "it is between PyFlink and its JVM; use to_pandas and from_pandas"
ArrowSerializer = unsupported("headrace.table.serializers.ArrowSerializer", _REASON)
