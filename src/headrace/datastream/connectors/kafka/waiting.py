"""For how long the driver goes by what brokers say, or waits for those that say nothing."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from headrace.datastream.connectors.kafka.client import Unreachable
from headrace.datastream.connectors.kafka.losses import unreachable
from headrace.datastream.connectors.kafka.split import Split
from headrace.errors import JobError

_log = logging.getLogger(__name__)

BELIEVED_MS = 10_000
"""A topic that vanished, or a log that became shorter, may be a broker that does not know yet. It
counts when it was seen for so long."""


@dataclass
class Doubts:
    """The splits of which brokers say what they may not know better yet, and since when."""

    _since_ms: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._since_ms)

    def believed(self, split: str, now_ms: int) -> bool:
        """Whether a split has been in doubt for long enough; it is from now on."""
        return now_ms - self._since_ms.setdefault(split, now_ms) >= BELIEVED_MS

    def keep(self, splits: Collection[str]) -> None:
        """Forget all but these."""
        self._since_ms = {name: at for name, at in self._since_ms.items() if name in splits}


@dataclass
class Silence:
    """Since when no broker answers."""

    _since_ms: int | None = None

    def goes_on(self, error: Unreachable, now_ms: int, timeout_ms: int) -> None:
        """No broker has answered now either.

        Raises:
            JobError: so it has been for too long.
        """
        if self._since_ms is None:
            self._since_ms = now_ms
            _log.warning("%s; the job waits", error.sentence)
        if now_ms - self._since_ms >= timeout_ms:
            raise unreachable(error, now_ms - self._since_ms) from error

    def is_over(self, now_ms: int) -> None:
        """Brokers have answered."""
        if self._since_ms is not None:
            silent_s = (now_ms - self._since_ms) // 1000
            _log.warning("Kafka's brokers answer again, after %d s", silent_s)
        self._since_ms = None


@dataclass
class Leaderless:
    """The splits that no broker serves, and since when. They hold event time back."""

    _since_ms: dict[str, int] = field(default_factory=dict)

    def are(self, splits: Iterable[str], now_ms: int, timeout_ms: int) -> None:
        """These, and no others, are waited for now.

        Raises:
            JobError: one has been waited for too long.
        """
        self._since_ms = {name: self._since_ms.get(name, now_ms) for name in splits}
        for name, since_ms in self._since_ms.items():
            if since_ms == now_ms:
                _log.warning("%s: no broker serves this partition; it is waited for", name)
            silent_ms = now_ms - since_ms
            if silent_ms >= timeout_ms:
                split = Split.of(name)
                raise JobError(
                    f"no Kafka broker has served a partition for {silent_ms / 1000:.0f} s",
                    where={"topic": split.topic, "partition": str(split.partition)},
                    hint="a broker may be down; set_unreachable_timeout lets the job wait longer",
                )
