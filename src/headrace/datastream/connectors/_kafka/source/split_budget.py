"""Shares a budget of records among partitions."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.datastream.connectors._kafka.source.split import Position


def read_limit(at: Position, begin: int, end: int) -> int:
    """Return the offset up to which a split may be read now."""
    return max(begin, end if at.stop is None else min(end, at.stop))


def share_budget(
    begins: Mapping[str, int], limits: Mapping[str, int], records: int
) -> dict[str, int]:
    """Return the end offset of each split, so that all together have at most ``records`` offsets.

    Splits with the fewest unread offsets come first: the unused part of their share goes to the
    other splits. Every split with unread offsets gets at least one offset.
    """
    found: dict[str, int] = {}
    left = records
    order = sorted(limits, key=lambda name: limits[name] - begins[name])
    for index, name in enumerate(order):
        wanted = limits[name] - begins[name]
        taken = min(wanted, max(left // (len(order) - index), 1))
        found[name] = begins[name] + taken
        left = max(left - taken, 0)
    return found
