"""Decimals that Arrow reads from texts."""

from __future__ import annotations

from typing import Any

from headrace.sql.types import DecimalType


def fits_precision(column: Any, kind: DecimalType) -> bool:
    """Return whether no value has more digits than the type: Arrow does not look at ``1e9``."""
    import pyarrow.compute as pc

    bounds = pc.min_max(column).as_py()
    if bounds["min"] is None:
        return True
    limit = 10 ** (kind.precision - kind.scale)
    return bool(-limit < bounds["min"] and bounds["max"] < limit)
