"""The fields of a join's results, for joins by field names."""

from __future__ import annotations

from typing import NamedTuple


class JoinedField(NamedTuple):
    """A field of the results: ``field`` of the record of one ``side`` (0: left, 1: right)."""

    name: str
    side: int
    field: str
