"""Bytewax's own windows, for job wt.

Bytewax keeps a watermark for each key, by that key's records alone, and lets it go on with the
clock on the wall. Two readers are never at exactly the same event time, and a pause would make
records late: so there is one reader here, and the clock on the wall stands still. What Bytewax
gives out is then what the job asks for. No key is woken by that clock either: its windows close
with its next record, or at the end.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
from bytewax.operators.windowing import EventClock, TumblingWindower, fold_window

from bench import workload

Sums = tuple[int, int, int]
"""Key, count and sum."""
_START = datetime.fromtimestamp(workload.BASE_MS / 1000, UTC)
_ALIGNED = datetime.fromtimestamp(0, UTC)


def event_time(record: Sums) -> datetime:
    """The time of a record of key, value and milliseconds."""
    return datetime.fromtimestamp(record[2] / 1000, UTC)


def nothing() -> Sums:
    """The sums of no record."""
    return 0, 0, 0


def add(sums: Sums, record: Sums) -> Sums:
    """The sums with a record more."""
    return record[0], sums[1] + 1, sums[2] + record[1]


def merge(one: Sums, other: Sums) -> Sums:
    """The sums of two windows; tumbling ones are never merged, but the operator wants it."""
    return other[0], one[1] + other[1], one[2] + other[2]


def windows(records: Any) -> Any:
    """The sums of each key and window, of records by their keys."""
    clock = EventClock(
        event_time,
        wait_for_system_duration=timedelta(milliseconds=workload.DISORDER_MS),
        now_getter=lambda: _START,
        to_system_utc=lambda time: None,
    )
    windower = TumblingWindower(
        length=timedelta(milliseconds=workload.TUMBLING_MS), align_to=_ALIGNED
    )
    # Sums do not depend on an order, and to sort records first would only cost time.
    found = fold_window("windows", records, clock, windower, nothing, add, merge, ordered=False)
    return op.map_value("sums", found.down, lambda item: item[1])
