"""Types of hints, at the path of PyFlink after 2.3."""

from headrace.table._types.hints import awaited as _unwrap_awaitable
from headrace.table._types.hints import type_of_hint as _from_python_type

__all__ = ["_from_python_type", "_unwrap_awaitable"]
