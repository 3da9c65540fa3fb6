"""Constants at PyFlink's path."""

from __future__ import annotations

__all__ = [
    "DEFAULT_OUTPUT_TAG",
    "MAX_LONG_VALUE",
    "MIN_LONG_VALUE",
]

MAX_LONG_VALUE = (1 << 63) - 1
"""The greatest signed int of 64 bits."""

MIN_LONG_VALUE = -(1 << 63)
"""The least signed int of 64 bits."""

DEFAULT_OUTPUT_TAG = ""
"""The id of an operator's main output."""
