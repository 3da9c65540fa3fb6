"""For how long the driver goes by what brokers say, or waits for those that say nothing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.datastream._outages import SAY_AGAIN_S
from headrace.datastream.connectors._kafka.client.consumer import Clients, Unreachable
from headrace.datastream.connectors._kafka.source.offset_policies import CHECK_BROKERS, unreachable
from headrace.datastream.connectors._kafka.source.split import Position, Split
from headrace.errors import JobError

_log = logging.getLogger(__name__)

T = TypeVar("T")

BELIEVED_MS = 10_000
"""A topic that vanished, or a log that became shorter, may be a broker that does not know yet. It
counts when it was seen for so long."""


@dataclass
class UnconfirmedPartitions:
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
class BrokerOutage:
    """Since when no broker answers. ``where``: what is asked for, for the error."""

    where: Mapping[str, str] = field(default_factory=dict)
    _since_ms: int | None = None
    _said_ms: int = 0

    def goes_on(self, error: Unreachable, now_ms: int, timeout_ms: int) -> None:
        """No broker has answered now either.

        Raises:
            JobError: so it has been for too long.
        """
        if self._since_ms is None:
            self._since_ms = self._said_ms = now_ms
            _log.warning(
                "%s; the job waits for up to %d s. %s",
                *(error.sentence, timeout_ms // 1000, CHECK_BROKERS.capitalize()),
            )
        silent_ms = now_ms - self._since_ms
        if silent_ms >= timeout_ms:
            raise unreachable(error, silent_ms, self.where) from error
        if now_ms - self._said_ms >= SAY_AGAIN_S * 1000:
            self._said_ms = now_ms
            _log.warning(
                "%s; the job has waited for %d s of %d s",
                *(error.sentence, silent_ms // 1000, timeout_ms // 1000),
            )

    def is_over(self, now_ms: int) -> None:
        """Brokers have answered."""
        if self._since_ms is not None:
            silent_s = (now_ms - self._since_ms) // 1000
            _log.warning("Kafka's brokers answer again, after %d s", silent_s)
        self._since_ms = None


def until_answered(
    ask: Callable[[], T],
    clients: Clients,
    timeout_ms: int,
    ask_anew: Callable[[], None],
    where: Mapping[str, str] | None = None,
    fails: Callable[[Unreachable], bool] = lambda error: False,
) -> T:
    """What brokers answer, who are waited for. ``ask_anew`` pauses, and forgets the client.

    Raises:
        JobError: they did not answer for too long, or in a way that ``fails`` at once.
    """
    silence = BrokerOutage(where or {})
    while True:
        try:
            found = ask()
        except Unreachable as error:
            if fails(error):
                raise unreachable(error, 0, where) from error
            silence.goes_on(error, clients.clock_ms(), timeout_ms)
        else:
            silence.is_over(clients.clock_ms())
            return found
        ask_anew()


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


@dataclass
class FutureStops:
    """Says once of each split that it stops at an offset that its log does not have yet."""

    _said: set[str] = field(default_factory=set)

    def say(self, positions: Mapping[str, Position], ends: Mapping[str, int]) -> None:
        """Look at the splits that have read all there is."""
        for name, end in ends.items():
            at = positions[name]
            if at.stop is None or not at.offset == end < at.stop or name in self._said:
                continue
            self._said.add(name)
            _log.warning(
                "%s: the job stops at offset %d, and the log ends at %d: it waits for more"
                " records, however long they take",
                *(name, at.stop, end),
            )
