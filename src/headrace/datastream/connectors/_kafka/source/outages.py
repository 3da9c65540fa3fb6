"""How long brokers that do not answer are waited for, and how long their metadata may be stale."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.datastream._outages import Outage, OutageLog, retry_while_down
from headrace.datastream.connectors._kafka.client.consumer import Clients, Unreachable
from headrace.datastream.connectors._kafka.source.offset_policies import CHECK_BROKERS, unreachable
from headrace.datastream.connectors._kafka.source.split import Position, Split
from headrace.errors import JobError

_log = logging.getLogger(__name__)

T = TypeVar("T")

CONFIRMED_AFTER_MS = 10_000
"""A topic that vanished, or a log that became shorter, may be stale metadata of a broker. It is
accepted after this time."""


@dataclass
class UnconfirmedPartitions:
    """Splits for which brokers may report stale metadata, and since when."""

    _since_ms: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._since_ms)

    def is_confirmed(self, split: str, now_ms: int) -> bool:
        """Return whether a split has been in doubt for long enough.

        The first call starts the time.
        """
        return now_ms - self._since_ms.setdefault(split, now_ms) >= CONFIRMED_AFTER_MS

    def retain(self, splits: Collection[str]) -> None:
        """Remove all splits that are not in ``splits``."""
        self._since_ms = {name: at for name, at in self._since_ms.items() if name in splits}


def broker_outage(
    timeout_ms: int, clock_ms: Callable[[], int], log: OutageLog | None = None
) -> Outage:
    """Return an outage of Kafka's brokers, measured with the caller's clock."""
    return Outage(
        *(timeout_ms / 1000, "Kafka", lambda: clock_ms() / 1000, log or OutageLog()),
        check=CHECK_BROKERS,
    )


def until_answered(
    ask: Callable[[], T],
    clients: Clients,
    timeout_ms: int,
    reconnect: Callable[[], None],
    where: Mapping[str, str] | None = None,
    fails: Callable[[Unreachable], bool] = lambda error: False,
) -> T:
    """Return the brokers' answer; while none answers, ``ask`` is repeated.

    ``reconnect`` pauses and drops the client. ``fails``: whether an error is raised at once.

    Raises:
        JobError: no broker answered for ``timeout_ms``, or an error ``fails`` at once.
    """

    def is_outage(error: Exception) -> bool:
        return isinstance(error, Unreachable) and not fails(error)

    outage = broker_outage(timeout_ms, clients.clock_ms)
    try:
        return retry_while_down(ask, is_outage, outage, lambda pause_s: reconnect())
    except Unreachable as error:
        raise unreachable(error, outage.waited_s, where) from error


@dataclass
class LeaderlessPartitions:
    """The splits without a leader, each with its outage. They hold event time back."""

    timeout_ms: int
    clock_ms: Callable[[], int]
    _log: OutageLog = field(default_factory=OutageLog)
    _outages: dict[str, Outage] = field(default_factory=dict)

    def update(self, splits: Sequence[str]) -> None:
        """Set the splits that have no leader now.

        Raises:
            JobError: a split has had no leader for too long.
        """
        more = f" and {len(splits) - 5} others" if len(splits) > 5 else ""
        for name in self._outages.keys() - set(splits):
            outage = self._outages.pop(name)
            if splits:
                outage.stop_waiting()  # other splits still wait
            else:
                outage.record_success()
        for name in splits:
            if name not in self._outages:
                self._outages[name] = broker_outage(self.timeout_ms, self.clock_ms, self._log)
            outage = self._outages[name]
            if outage.record_failure(f"no broker serves {', '.join(splits[:5])}{more}") <= 0:
                raise no_leader(Split.of(name), outage.waited_s)


def no_leader(split: Split, waited_s: float) -> JobError:
    """Return the exception for a partition that no broker serves."""
    return JobError(
        f"no Kafka broker has served a partition for {waited_s:.0f} s",
        where={"topic": split.topic, "partition": str(split.partition)},
        hint="a broker may be down; set_unreachable_timeout lets the job wait longer",
    )


@dataclass
class FutureStops:
    """Logs, once for each split, that it stops at an offset that its log does not have yet."""

    _logged: set[str] = field(default_factory=set)

    def log_new(self, positions: Mapping[str, Position], ends: Mapping[str, int]) -> None:
        """Check the splits that were read to their end."""
        for name, end in ends.items():
            at = positions[name]
            if at.stop is None or not at.offset == end < at.stop or name in self._logged:
                continue
            self._logged.add(name)
            _log.warning(
                "%s: the job stops at offset %d, and the log ends at %d: it waits for more"
                " records, however long they take",
                *(name, at.stop, end),
            )
