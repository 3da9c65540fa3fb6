"""What a join by names makes of a pair."""

from __future__ import annotations

from typing import NamedTuple


class JoinedField(NamedTuple):
    """A field of the results: its name, and from which side (0 or 1) and field its values are."""

    name: str
    side: int
    field: str
