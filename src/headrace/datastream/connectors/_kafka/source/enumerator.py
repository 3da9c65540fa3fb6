"""Decides up to which offset each partition is read next."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from headrace.connector import (
    Budget,
    JsonValue,
    Pending,
    Progress,
    SplitEnumerator,
    SplitRange,
)
from headrace.datastream._outages import Outage
from headrace.datastream.connectors._kafka.client.consumer import (
    RETRY_PAUSE_S,
    Clients,
    Cluster,
    StaleMetadata,
    TopicPartition,
    Unreachable,
)
from headrace.datastream.connectors._kafka.source.group_offsets import GroupOffsets
from headrace.datastream.connectors._kafka.source.offset_policies import (
    Policy,
    handle_changed_topic,
    handle_missing_offsets,
    unreachable,
)
from headrace.datastream.connectors._kafka.source.offsets import (
    KafkaOffsetsInitializer,
    require_all_offsets,
)
from headrace.datastream.connectors._kafka.source.outages import (
    CONFIRMED_AFTER_MS,
    FutureStops,
    LeaderlessPartitions,
    UnconfirmedPartitions,
    broker_outage,
    until_answered,
)
from headrace.datastream.connectors._kafka.source.split import Position, Split, ranges_between
from headrace.datastream.connectors._kafka.source.split_budget import read_limit, share_budget
from headrace.datastream.connectors._kafka.source.subscription import Subscription

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

_UNCONFIRMED_INTERVAL_MS = 1_000


_Jumps = dict[str, int]
"""By split: where it is read from, if not from its position."""


@dataclass
class KafkaEnumerator(SplitEnumerator):
    """Every partition is a split; all are read in parallel.

    ``group``: offsets are committed for it. ``reads_group``: first positions come from its
    committed offsets. ``discovery_ms`` None: no partitions are added after the start. A budget
    limits records only: brokers do not report how many bytes lie between two offsets.
    """

    clients: Clients
    subscription: Subscription
    group: str | None = None
    reads_group: str | None = None
    starting: KafkaOffsetsInitializer = field(default_factory=KafkaOffsetsInitializer.earliest)
    stopping: KafkaOffsetsInitializer | None = None
    on_missing: Policy = "fail"
    on_changed: Policy = "fail"
    discovery_ms: int | None = CONFIRMED_AFTER_MS
    timeout_ms: int = 300_000
    _client: Cluster | None = None
    _known_splits: dict[str, Split] = field(default_factory=dict)
    _known_ends: dict[str, int] = field(default_factory=dict)
    _discovered_ms: int | None = None
    _started_empty: bool = False
    _added: dict[str, Position] = field(default_factory=dict)
    _finished: set[str] = field(default_factory=set)
    _vanishing: UnconfirmedPartitions = field(default_factory=UnconfirmedPartitions)
    _shorter: UnconfirmedPartitions = field(default_factory=UnconfirmedPartitions)
    _outage: Outage = field(init=False)
    _leaderless: LeaderlessPartitions = field(init=False)
    _now_ms: int = 0
    _future_stops: FutureStops = field(default_factory=FutureStops)
    _group_offsets: GroupOffsets | None = None

    def __post_init__(self) -> None:
        if (group := self.group) is not None:
            self._group_offsets = GroupOffsets(lambda: self.clients.group_commits(group), group)
        self._outage = broker_outage(self.timeout_ms, lambda: self._now_ms)
        self._leaderless = LeaderlessPartitions(self.timeout_ms, lambda: self._now_ms)

    def initial(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return the partitions that exist, each with its first and its stopping offset.

        Raises:
            JobError: a topic is not there, has no such offset, or no broker answers.
        """
        if self._started_empty:
            return {}  # new partitions are read from their beginning
        return self._answer_at_start(lambda: self._first_positions(now_ms))

    def _answer_at_start(self, ask: Callable[[], _T]) -> _T:
        """Return the brokers' answer at the start of a job.

        Stale metadata is requested again for a while; brokers that do not answer are waited for
        longer.

        Raises:
            JobError: a topic or its offset does not exist, no broker answers, authentication is
                refused, or no DNS knows the brokers, which is a mistake at the start.
        """
        waited_s = 0.0
        while True:
            try:
                return until_answered(
                    *(ask, self.clients, self.timeout_ms, self._reconnect),
                    fails=lambda error: error.is_setting,
                )
            except StaleMetadata as error:
                if waited_s >= error.confirmed_after_s:
                    raise error.to_job_error() from None
            self._reconnect()
            waited_s += RETRY_PAUSE_S

    def _reconnect(self) -> None:
        """Wait, and drop the client with its cached metadata."""
        self._close_client()
        self.clients.pause(RETRY_PAUSE_S)

    def _first_positions(self, now_ms: int) -> Mapping[str, JsonValue]:
        """Return the first positions, from one request of each kind.

        Raises:
            StaleMetadata: brokers may not know yet.
        """
        self._discover(now_ms)
        self.subscription.check_exist(self._known_splits)
        self._started_empty = not self._known_splits
        topic_partitions = [split.topic_partition for split in self._known_splits.values()]
        begins = self.starting.resolve(self._cluster, self.reads_group, topic_partitions)
        stops = self._resolve_stops(topic_partitions)
        return {
            name: Position(begins[split.topic_partition], stops.get(split.topic_partition)).json
            for name, split in self._known_splits.items()
        }

    def resume(self, positions: Mapping[str, JsonValue], now_ms: int) -> Mapping[str, JsonValue]:
        """Convert positions from a previous run to the current stopping offsets.

        If there are stopping offsets, partitions created in the meantime are added, as there is no
        discovery later.

        Raises:
            JobError: a partition has no such offset, or no broker answers.
        """
        stops = self._answer_at_start(lambda: self._resolve_new_stops(positions, now_ms))
        offsets = {name: Position.of(at).offset for name, at in positions.items()}
        return {name: Position(at, stops.get(name)).json for name, at in offsets.items()}

    def _resolve_new_stops(self, names: Iterable[str], now_ms: int) -> Mapping[str, int]:
        """Return the stopping offsets of those partitions that still belong to the same topic."""
        self._discover(now_ms)
        if self.stopping is None:
            return {}
        stops = self._resolve_stops(
            [split.topic_partition for split in self._known_splits.values()]
        )
        replaced = {Split.of(name).topic for name in names if name not in self._known_splits}
        new = {
            name: split.topic_partition
            for name, split in self._known_splits.items()
            if name not in names and split.topic not in replaced
        }
        first = require_all_offsets(self._cluster.earliest_offsets(new.values()), new.values())
        self._added = {name: Position(first[at], stops.get(at)) for name, at in new.items()}
        return {name: stops[split.topic_partition] for name, split in self._known_splits.items()}

    def _resolve_stops(
        self, topic_partitions: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, int]:
        if self.stopping is None:
            return {}
        return self.stopping.resolve(self._cluster, self.reads_group, topic_partitions, stops=True)

    def advance(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Share the budget evenly, so that the watermarks of all partitions rise together.

        While no broker answers, no new offsets are planned.

        Raises:
            JobError: the policies do not allow to continue, or brokers were silent for too long.
        """
        self._now_ms = now_ms
        if self._group_offsets is not None:
            self._group_offsets.serve()
        if not positions and self.discovery_ms is None and self._added.keys() <= self._finished:
            return Progress({}, ended=True)
        try:
            found = self._plan_progress(positions, budget, now_ms, paused)
        except Unreachable as error:
            if self._outage.record_failure(error.message) <= 0:
                raise unreachable(error, self._outage.waited_s) from error
            return Progress(dict(positions))
        self._outage.record_success()
        return found

    def _plan_progress(
        self,
        positions: Mapping[str, JsonValue],
        budget: Budget,
        now_ms: int,
        paused: frozenset[str],
    ) -> Progress:
        """Discover splits and read end offsets, then plan how far each split is read.

        Raises:
            Unreachable: no broker answers.
            JobError: the policies do not allow to continue.
        """
        discovers = (
            self._discovered_ms is None
            or now_ms - self._discovered_ms >= self._discovery_interval_ms
        )
        if discovers:
            self._discover(now_ms)
        known = {name: Position.of(at) for name, at in positions.items()}
        vanished = self._find_vanished(known, now_ms, paused)
        finished = {
            name: self._end_position_of_vanished(name, known.pop(name)) for name in vanished
        }
        started, passed = self._find_new_splits(known, finished)
        current = known | started
        readable = [name for name in current if name in self._known_splits and name not in paused]
        answered = self._request_ends(readable)
        silent = [name for name in readable if name not in answered]
        self._leaderless.update(silent)
        if discovers and silent:
            self._close_client()  # a new client requests the leaders again
        ends = self._drop_ends_of_new_topics(current, answered)
        self._known_ends.update(ends)
        self._future_stops.log_new(current, ends)
        jumps = passed | self._find_jumps(current, ends, discovers, now_ms)
        begins = {name: jumps.get(name, current[name].offset) for name in ends}
        limits = {name: read_limit(current[name], begins[name], end) for name, end in ends.items()}
        moved = current | {
            name: Position(at, current[name].stop, at) for name, at in passed.items()
        }
        for name, offset in share_budget(begins, limits, budget.max_records).items():
            stop = current[name].stop
            if offset > begins[name] or name in jumps:
                moved[name] = Position(offset, stop, jumps.get(name))
            if stop is not None and offset >= stop:
                finished[name] = moved.pop(name)
        self._finished.update(finished)
        return Progress(
            {name: at.json for name, at in moved.items()},
            {name: at.json for name, at in finished.items()},
            ended=self.discovery_ms is None and not moved,
            started={name: at.json for name, at in started.items()},
        )

    def ranges(
        self, start: Mapping[str, JsonValue], end: Mapping[str, JsonValue], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        """Return a range for each partition that is read, and one for the skipped offsets."""
        return ranges_between(start, end)

    def pending(self, positions: Mapping[str, JsonValue]) -> Pending:
        """Return the number of offsets before the last known end offsets or stop offsets.

        Some of these offsets have no record.
        """
        found = {name: Position.of(at) for name, at in positions.items()}
        if not found.keys() <= self._known_ends.keys():
            return Pending()
        ends = {
            name: read_limit(at, at.offset, self._known_ends[name]) for name, at in found.items()
        }
        return Pending(sum(max(ends[name] - at.offset, 0) for name, at in found.items()))

    def committed(self, positions: Mapping[str, JsonValue]) -> None:
        """Commit the offsets for the group. A failure is only logged: the job does not use them."""
        if self._group_offsets is not None:
            here = {split.topic_partition for split in self._known_splits.values()}
            offsets = {
                Split.of(name).topic_partition: Position.of(at).offset
                for name, at in positions.items()
                if name in self._known_splits or Split.of(name).topic_partition not in here
            }
            self._group_offsets.commit(offsets)

    def close(self) -> None:
        """Wait a few seconds for commits of the group's offsets, and close the clients."""
        if self._group_offsets is not None:
            self._group_offsets.close()
        self._close_client()

    def _close_client(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    @property
    def _cluster(self) -> Cluster:
        if self._client is None:
            self._client = self.clients.cluster()
        return self._client

    @property
    def _discovery_interval_ms(self) -> int:
        in_doubt = self._vanishing or self._shorter
        return _UNCONFIRMED_INTERVAL_MS if in_doubt else self.discovery_ms or CONFIRMED_AFTER_MS

    def _discover(self, now_ms: int) -> None:
        self._known_splits = self.subscription.find_splits(self._cluster)
        self._discovered_ms = now_ms

    def _request_ends(self, names: Sequence[str]) -> dict[str, int]:
        """Return the current end offsets of the splits that answer."""
        topic_partitions = {name: self._known_splits[name].topic_partition for name in names}
        found = self._cluster.latest_offsets(topic_partitions.values()) if topic_partitions else {}
        return {
            name: found[topic_partition]
            for name, topic_partition in topic_partitions.items()
            if topic_partition in found
        }

    def _drop_ends_of_new_topics(
        self, positions: Mapping[str, Position], ends: Mapping[str, int]
    ) -> Mapping[str, int]:
        """Return the end offsets without those of a new topic that has the name of a deleted one.

        Ids are requested after the ends, since an id is never used again. If no end has moved, none
        is requested.
        """
        if all(positions[name].offset == end for name, end in ends.items()):
            return ends
        found = self._cluster.describe_topics(
            sorted({self._known_splits[name].topic for name in ends})
        )
        ids = {topic: facts.id for topic, facts in found.items()}
        same = {
            name: end
            for name, end in ends.items()
            if ids.get(self._known_splits[name].topic) == self._known_splits[name].topic_id
        }
        if len(same) < len(ends):
            self._discovered_ms = None  # look at all topics next
        return same

    def _find_vanished(
        self, known: Mapping[str, Position], now_ms: int, paused: frozenset[str]
    ) -> list[str]:
        """Return the splits whose topic was deleted, or deleted and created again.

        Raises:
            JobError: there are some, and the policy is to fail.
        """
        missing = [name for name in known if name not in self._known_splits]
        self._vanishing.retain(missing)
        found = [n for n in missing if self._vanishing.is_confirmed(n, now_ms) and n not in paused]
        if not found:
            return []
        topics = {split.topic for split in self._known_splits.values()}
        for name in found:
            split = Split.of(name)
            what = "was deleted and created again" if split.topic in topics else "was deleted"
            if not self.subscription.includes(split):
                what = "is not among what the program reads any more"
            handle_changed_topic(
                self.on_changed, name, what, known[name].offset, self._known_ends.get(name)
            )
        self._vanishing.retain({*missing} - {*found})
        return found

    def _end_position_of_vanished(self, name: str, at: Position) -> Position:
        """Return the end position of a split that vanished: its unread offsets are skipped."""
        end = self._known_ends.get(name, 0)
        if at.stop is not None:
            end = min(end, at.stop)
        return Position(end, at.stop, end) if end > at.offset else at

    def _find_new_splits(
        self, known: Mapping[str, Position], finished: Mapping[str, Position]
    ) -> tuple[dict[str, Position], _Jumps]:
        """Return the new splits with their first positions, and where some of them are read from.

        Splits of a topic that was created again wait until the old topic's deletion is confirmed.
        """
        if self.discovery_ms is None:
            known_already = {*known, *finished, *self._finished}
            return {n: at for n, at in self._added.items() if n not in known_already}, {}
        waiting = {Split.of(name).topic for name in known if name not in self._known_splits}
        new = {
            name: split
            for name, split in self._known_splits.items()
            if name not in known and name not in self._finished and split.topic not in waiting
        }
        if not new:
            return {}, {}
        replaced = {Split.of(name).topic for name in (*finished, *self._finished)}
        topic_partitions = [split.topic_partition for split in new.values()]
        first = self._cluster.earliest_offsets(topic_partitions)
        last = self._cluster.latest_offsets(topic_partitions) if self.on_changed == "latest" else {}
        started = {
            name: Position(first[split.topic_partition])
            for name, split in new.items()
            if split.topic_partition in first
            and (self.on_changed != "latest" or split.topic_partition in last)
        }
        passed: _Jumps = {}
        for name, at in started.items():
            split = new[name]
            if self.on_changed == "latest" and split.topic in replaced:
                passed[name] = last[split.topic_partition]
                _log.warning(
                    "%s: a new topic in place of a deleted one; offsets %d to %d are skipped",
                    *(name, at.offset, passed[name]),
                )
        return started, passed

    def _find_jumps(
        self,
        positions: Mapping[str, Position],
        ends: Mapping[str, int],
        discovers: bool,
        now_ms: int,
    ) -> _Jumps:
        """Return the offsets at which to continue in splits whose next records are deleted.

        Splits that have reached their stop offset are left out.

        Raises:
            JobError: records are deleted, and the policy is to fail.
        """
        jumps: _Jumps = {}
        ends = {name: end for name, end in ends.items() if not positions[name].is_at_stop}
        short = [name for name, end in ends.items() if end < positions[name].offset]
        if short and not discovers:
            self._discovered_ms = None  # it may be another topic by now: ask for its id
        lost = [name for name in short if self._shorter.is_confirmed(name, now_ms)]
        self._shorter.retain([name for name in positions if name in short or name not in ends])
        first: Mapping[TopicPartition, int] = {}
        if discovers or lost:
            first = self._cluster.earliest_offsets(
                [self._known_splits[name].topic_partition for name in ends]
            )
        for name, end in ends.items():
            begin = first.get(self._known_splits[name].topic_partition, 0)
            if begin > positions[name].offset or name in lost:
                handle_missing_offsets(self.on_missing, name, positions[name].offset, begin, end)
                to, stop = end if self.on_missing == "latest" else begin, positions[name].stop
                jumps[name] = to if stop is None else min(to, stop)
        return jumps
