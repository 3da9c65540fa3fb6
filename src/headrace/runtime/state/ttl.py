"""State that expires: what a time-to-live means to a handle.

A value with a time-to-live is stored as ``(value, stamp)``, the stamp being the moment (ms) of
its creation, last write or last access. It has expired when the clock is at or past
``stamp + ttl``. In processing time the clock is the micro-batch's; in event time it is the
timestamp of the record, or timer, at hand, which is the same in every runner.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

CLEANUP = "__ttl__"
"""The namespace of the timers that remove what has expired."""

_CLEANUPS_PER_TTL = 8


@dataclass(frozen=True)
class Ttl:
    """The time-to-live of a state."""

    ttl_ms: int
    event_time: bool = False
    refresh_on_read: bool = False
    return_expired: bool = False

    @classmethod
    def of(cls, config: Any | None) -> Ttl | None:
        """Return the time-to-live of a ``StateTtlConfig``; None if it is disabled."""
        if config is None or not config.is_enabled():
            return None
        from headrace.common.time import milliseconds_of

        return cls(
            milliseconds_of(config.get_ttl()),
            config.get_ttl_time_characteristic().name == "EventTime",
            config.get_update_type().name == "OnReadAndWrite",
            config.get_state_visibility().name == "ReturnExpiredIfNotCleanedUp",
        )

    def is_expired(self, stamp: int, now_ms: int) -> bool:
        """Return whether a value with this stamp (ms) has expired."""
        return now_ms >= stamp + self.ttl_ms

    def cleanup_ms(self, now_ms: int) -> int:
        """Return the time (ms) of the next cleanup, rounded up so that few timers are needed."""
        step = max(self.ttl_ms // _CLEANUPS_PER_TTL, 1)
        return -(-(now_ms + self.ttl_ms) // step) * step
