"""The watermark of a task with several inputs."""

from __future__ import annotations

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK

ChannelState = dict[str, tuple[int, bool]]
"""Channel to (watermark in ms, idle)."""


class ChannelWatermarks:
    """The least watermark over the active channels; it never falls.

    A channel is anything that has a watermark of its own: a split, or an operator upstream. While
    every channel is idle the greatest of their watermarks holds (as in Flink's input valve). A
    channel that has ended counts only once all have: the end of one, while the others are idle,
    is not the end of time.
    ``state`` is owned by the tracker and may be stored between micro-batches.
    """

    __slots__ = ("current", "idle", "state")

    def __init__(self, state: ChannelState | None = None, current: int = MIN_WATERMARK) -> None:
        self.restart({} if state is None else state, current)

    def restart(self, state: ChannelState, current: int) -> None:
        """Go on with these channels."""
        self.state = state
        self.current = current
        running = [idle for watermark, idle in state.values() if watermark < MAX_WATERMARK]
        self.idle = bool(running) and all(running)

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
        running = [state for state in self.state.values() if state[0] < MAX_WATERMARK]
        active = [watermark for watermark, idle in running if not idle]
        if active:
            combined = min(active)
        else:
            combined = max((watermark for watermark, _ in running), default=MAX_WATERMARK)
        idle = bool(running) and not active
        changed = combined > self.current or idle != self.idle
        if combined > self.current:
            self.current = combined
        self.idle = idle
        return changed
