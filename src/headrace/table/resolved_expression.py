"""Typed expressions."""

from headrace.common._unsupported import unsupported

__all__ = [
    "ResolvedExpression",
]

_REASON = "resolved expressions are not offered"
ResolvedExpression = unsupported("headrace.table.resolved_expression.ResolvedExpression", _REASON)
