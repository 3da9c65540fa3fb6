"""Lists and maps in accumulators."""

from headrace.common._unsupported import unsupported

__all__ = [
    "DataView",
    "ListView",
    "MapView",
]

_REASON = "aggregate functions of users are not supported"
DataView = unsupported("headrace.table.data_view.DataView", _REASON)
ListView = unsupported("headrace.table.data_view.ListView", _REASON)
MapView = unsupported("headrace.table.data_view.MapView", _REASON)
