"""An event loop whose clock jumps to the next timer: seconds of waiting take no time."""

from __future__ import annotations

import asyncio
import selectors
from typing import Any


class SkippingLoop(asyncio.SelectorEventLoop):
    """Begins at 0 s. ``run`` lets so many seconds pass."""

    def __init__(self) -> None:
        self.now_s = 0.0
        super().__init__(_Skipping(self))

    def time(self) -> float:
        return self.now_s

    def run(self, seconds: float) -> None:
        self.run_until_complete(asyncio.sleep(seconds))


class _Skipping(selectors.SelectSelector):
    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "nothing is left to wait for"
        self._loop.now_s += timeout
        return super().select(0)
