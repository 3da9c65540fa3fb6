"""What the ends of one chain share: who sends, when, and how many bytes wait."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from headrace.runtime.block import BlockBuffer
from headrace.runtime.overflow import Overflow, estimate_new_bytes

SENDERS_PER_VERTEX = 1 << 20

MAX_BUFFERED_BYTES = 16 << 20
"""About this much may wait in the buffers of a chain. More than that leaves after the call, and is
put aside in the middle of a call."""

_ESTIMATE_EVERY_BYTES = 64 << 10
_ESTIMATE_EVERY_RECORDS = 512
"""A buffer is weighed again after about this many bytes, if records stay as large as they were, or
after this many records: small ones at 1, 16, 256, 768 … records. It costs some microseconds."""


class SendContext:
    """The data that all exchange writers of a task run share: sender, time and sequence number."""

    __slots__ = (
        "buffered_bytes",
        "current_group",
        "group_count",
        "keyed_watermark",
        "now_ms",
        "object_reuse",
        "overflow",
        "sender",
        "seq",
        "spill_buffers",
    )

    def __init__(self, object_reuse: bool, overflow: Overflow) -> None:
        self.object_reuse = object_reuse
        self.overflow = overflow
        self.buffered_bytes = 0
        """About how many bytes wait in the buffers."""
        self.spill_buffers: Callable[[], None] = _do_nothing
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
        keep_buffers: bool,
    ) -> None:
        """Start a task run; ``watermark``: that of the keyed task, None in a source.

        ``keep_buffers``: what the run before it gathered is kept, and leaves together with this
        run's.
        """
        self.sender = sender
        self.seq = itertools.count()
        self.now_ms = max(now_ms, self.now_ms) if keep_buffers else now_ms
        self.current_group = current_group
        self.group_count = group_count
        self.keyed_watermark = watermark
        if not keep_buffers:
            self.overflow.clear()
            self.buffered_bytes = 0

    def estimate_size(self, buffer: BlockBuffer) -> None:
        """Add the estimated size of new records in a buffer; if the sum is too large, spill all.

        Called when the buffer has ``estimate_at`` records; sets the next ``estimate_at``.
        """
        count, size_bytes = len(buffer.values), estimate_new_bytes(buffer)
        self.buffered_bytes += size_bytes
        more = _ESTIMATE_EVERY_BYTES * (count - buffer.estimated_count) // max(size_bytes, 1)
        buffer.estimated_count = count
        buffer.estimate_at = count + max(1, min(more, count * 15, _ESTIMATE_EVERY_RECORDS))
        if self.buffered_bytes >= MAX_BUFFERED_BYTES:
            self.spill_buffers()


def _do_nothing() -> None:
    """Do nothing: the placeholder for ``spill`` while the chain is built."""
