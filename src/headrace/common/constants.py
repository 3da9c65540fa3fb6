"""Numbers that PyFlink's programs know by name."""

from __future__ import annotations

__all__ = [
    "DEFAULT_OUTPUT_TAG",
    "MAX_LONG_VALUE",
    "MIN_LONG_VALUE",
]

MAX_LONG_VALUE = (1 << 63) - 1
"""The greatest number of 64 bits with a sign."""

MIN_LONG_VALUE = -(1 << 63)
"""The least number of 64 bits with a sign."""

DEFAULT_OUTPUT_TAG = ""
"""The name of an operator's main output."""
