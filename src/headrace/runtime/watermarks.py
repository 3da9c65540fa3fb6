"""The watermark of a task with several inputs."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.common.watermark_strategy import MIN_WATERMARK

ChannelState = dict[str, tuple[int, bool]]
"""Channel to (watermark in ms, idle)."""


class ChannelWatermarks:
    """The least watermark over the active channels; it never falls.

    A channel is anything that has a watermark of its own: a split, or an operator upstream. While
    every channel is idle the greatest of their watermarks holds (as in Flink's input valve).
    ``state`` is owned by the tracker and may be stored between micro-batches.
    """

    __slots__ = ("current", "idle", "state")

    def __init__(self, state: ChannelState | None = None, current: int = MIN_WATERMARK) -> None:
        self.state: ChannelState = {} if state is None else state
        self.current = current
        self.idle = bool(self.state) and all(idle for _, idle in self.state.values())

    def update(self, channel: str, watermark: int, idle: bool = False) -> bool:
        """Take one mark; True when the combined watermark or the idleness changed."""
        known = self.state.get(channel)
        if known is not None:
            if watermark < known[0]:
                watermark = known[0]
            if known == (watermark, idle):
                return False
        self.state[channel] = (watermark, idle)
        return self._combine()

    def _combine(self) -> bool:
        states: Iterable[tuple[int, bool]] = self.state.values()
        active = [watermark for watermark, idle in states if not idle]
        combined = min(active) if active else max(watermark for watermark, _ in self.state.values())
        idle = not active
        changed = combined > self.current or idle != self.idle
        if combined > self.current:
            self.current = combined
        self.idle = idle
        return changed
