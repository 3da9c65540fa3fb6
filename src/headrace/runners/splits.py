"""The splits of an offset, for observers."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.connector import Pending
from headrace.runners.observers import SplitsBySource, SplitStatus
from headrace.runtime.coordination.coordinator import MAX_SHOWN_SPLITS
from headrace.runtime.coordination.offset import Offset


def splits_of(offset: Offset, pending: Mapping[str, Mapping[str, Pending]]) -> SplitsBySource:
    """Return the splits at an offset; ``pending``: what is unread, by source id and split.

    Sources with more than ``MAX_SHOWN_SPLITS`` are left out.
    """
    return {
        source_id: {
            split: SplitStatus(position, *left.get(split, Pending()), split in progress.idle)
            for split, position in progress.positions.items()
        }
        for source_id, progress in offset.sources.items()
        if len(progress.positions) <= MAX_SHOWN_SPLITS
        for left in (pending.get(source_id, {}),)
    }
