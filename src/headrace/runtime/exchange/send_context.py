"""What the ends of one chain share: who sends, when, and how many bytes wait."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from headrace.runtime.block import BlockBuffer
from headrace.runtime.overflow import Overflow, unweighed_bytes

SENDERS_PER_VERTEX = 1 << 20

BYTES_GATHERED = 16 << 20
"""About this much may wait in the buffers of a chain. More than that leaves after the call, and is
put aside in the middle of a call."""

_BYTES_UNWEIGHED = 64 << 10
_RECORDS_UNWEIGHED = 512
"""A buffer is weighed again after about this many bytes, if records stay as large as they were, or
after this many records: small ones at 1, 16, 256, 768 … records. It costs some microseconds."""


class SendContext:
    """What every endpoint of one task run shares: who sends, when, and in which order."""

    __slots__ = (
        "current_group",
        "group_count",
        "keyed_watermark",
        "now_ms",
        "object_reuse",
        "overflow",
        "relieve",
        "sender",
        "seq",
        "weight_bytes",
    )

    def __init__(self, object_reuse: bool, overflow: Overflow) -> None:
        self.object_reuse = object_reuse
        self.overflow = overflow
        self.weight_bytes = 0
        """About how many bytes wait in the buffers."""
        self.relieve: Callable[[], None] = _nothing
        """Puts aside what waits in the buffers of the whole chain."""
        self.sender = 0
        self.seq = itertools.count()
        self.now_ms = 0
        self.current_group = 0
        self.group_count = 1
        self.keyed_watermark: int | None = None

    def begin(
        self,
        sender: int,
        now_ms: int,
        current_group: int,
        group_count: int,
        watermark: int | None,
        appends: bool,
    ) -> None:
        """Start a task run. ``watermark`` is None in a source, else that of the keyed task.

        ``appends``: what the run before it gathered is kept, and leaves together with this run's.
        """
        self.sender = sender
        self.seq = itertools.count()
        self.now_ms = max(now_ms, self.now_ms) if appends else now_ms
        self.current_group = current_group
        self.group_count = group_count
        self.keyed_watermark = watermark
        if not appends:
            self.overflow.clear()
            self.weight_bytes = 0

    def weigh(self, buffer: BlockBuffer) -> None:
        """Estimate the bytes of a buffer that has reached its limit. Too many are put aside."""
        count, weight_bytes = len(buffer.values), unweighed_bytes(buffer)
        self.weight_bytes += weight_bytes
        more = _BYTES_UNWEIGHED * (count - buffer.estimated_count) // max(weight_bytes, 1)
        buffer.estimated_count = count
        buffer.estimate_at = count + max(1, min(more, count * 15, _RECORDS_UNWEIGHED))
        if self.weight_bytes >= BYTES_GATHERED:
            self.relieve()


def _nothing() -> None:
    """Nothing to relieve yet: the chain is being built."""
