"""Queues for output that a task produces during a call; it is sent when the call has ended.

A user's function may emit any number of records in one call, but output cannot be sent during the
call. So full buffers are moved to a queue, in the order in which they will be sent. Sizes are
measured in bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

from headrace.common.types import Row
from headrace.runtime.block import BlockBuffer, Envelope, isolate_for_receiver

_FIXED_BYTES = 48
_SAMPLES = 4
_DEPTH = 4


class Overflow(Protocol):
    """A queue for output that cannot be sent before the end of a call; first in, first out."""

    def put(self, envelope: Envelope) -> None:
        """Store an envelope; later changes of its records have no effect."""

    def drain(self) -> Iterator[Envelope]:
        """Remove and yield all envelopes."""

    def clear(self) -> None:
        """Remove all envelopes."""

    def __bool__(self) -> bool:
        """Return whether the queue has envelopes."""


class MemoryOverflow:
    """An ``Overflow`` in memory, for receivers in the same process."""

    def __init__(self) -> None:
        self._envelopes: deque[Envelope] = deque()

    def put(self, envelope: Envelope) -> None:
        """Store an envelope; later changes of its records have no effect."""
        self._envelopes.append(envelope._replace(payload=isolate_for_receiver(envelope.payload)))

    def drain(self) -> Iterator[Envelope]:
        """Remove and yield all envelopes."""
        while self._envelopes:
            yield self._envelopes.popleft()

    def clear(self) -> None:
        """Remove all envelopes."""
        self._envelopes.clear()

    def __bool__(self) -> bool:
        return bool(self._envelopes)


def estimate_new_bytes(buffer: BlockBuffer) -> int:
    """Estimate the bytes of the records that were added since the last call for this buffer.

    The sample is deterministic, so that a repeated micro-batch is cut into the same blocks.
    """
    values, start = buffer.values, buffer.estimated_count
    count = len(values) - start
    sample = values[start :: count // 2 + 1]
    return sum(map(estimate_bytes, sample)) * count // len(sample) if sample else 0


def estimate_bytes(value: Any, depth: int = _DEPTH) -> int:
    """Estimate the bytes that a value takes in memory, from a sample of a container's items."""
    kind = type(value)
    if kind is str or kind is bytes or kind is bytearray:
        return len(value) + _FIXED_BYTES
    if kind is int or kind is float or value is None or depth == 0:
        return _FIXED_BYTES // 2
    if kind is Row:
        value, kind = value._values, list
    elif hasattr(value, "nbytes"):
        return int(value.nbytes) + _FIXED_BYTES
    elif hasattr(value, "__dict__"):
        value, kind = vars(value), dict
    if kind is tuple or kind is list:
        found = value if len(value) <= 2 * _SAMPLES else value[:: len(value) // _SAMPLES]
    elif kind is dict:
        found = [*value.values()][:: max(len(value) // (2 * _SAMPLES), 1)]
    else:
        return _FIXED_BYTES
    inner = sum(estimate_bytes(item, depth - 1) for item in found)
    return _FIXED_BYTES + inner * len(value) // len(found) if found else _FIXED_BYTES
