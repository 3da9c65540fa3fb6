"""PyFlink's own helpers."""

from headrace.common._unsupported import unsupported

__all__ = [
    "arrow_to_pandas",
    "pandas_to_arrow",
    "pickled_bytes_to_python_converter",
    "to_expression_jarray",
    "tz_convert_from_internal",
    "tz_convert_to_internal",
]

_REASON = "it is between PyFlink and its JVM; use to_pandas and from_pandas"
pandas_to_arrow = unsupported("headrace.table.utils.pandas_to_arrow", _REASON)
arrow_to_pandas = unsupported("headrace.table.utils.arrow_to_pandas", _REASON)
tz_convert_from_internal = unsupported("headrace.table.utils.tz_convert_from_internal", _REASON)
tz_convert_to_internal = unsupported("headrace.table.utils.tz_convert_to_internal", _REASON)
to_expression_jarray = unsupported("headrace.table.utils.to_expression_jarray", _REASON)
pickled_bytes_to_python_converter = unsupported(
    "headrace.table.utils.pickled_bytes_to_python_converter", _REASON
)
