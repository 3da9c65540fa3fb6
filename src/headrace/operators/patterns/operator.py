"""The operator that finds the matches of a pattern among the events of each key.

In event time, events wait in a buffer until the watermark has passed them. Then those of a key are
taken in order of time, and the matches of the key are read and stored once. A timer for each key
says when it must be looked at: when its first waiting event can be taken, or when the time of its
first partial match is over.

Time passes in steps, from one end of a partial match to the next. So what is found, when, and in
which order does not depend on how often watermarks come: a restart, another parallelism or a batch
changes nothing. Flink takes one step for each watermark; the results are equal to its own if a
watermark comes with each millisecond.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cmp_to_key
from typing import Any, Self

from headrace.common._output_tag import OutputTag
from headrace.common._types.data import type_data
from headrace.common.typeinfo import TypeInformation
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK
from headrace.errors import JobError, MissingWatermarksError, TypeMismatchError
from headrace.operators.emission import (
    EXPECTED_RESULT_TYPES,
    check_results,
    emitter,
    side_output_sender,
)
from headrace.operators.keyed import StatefulOperator
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.matcher import Event, Matcher, Matches, PartialMatch
from headrace.operators.patterns.skips import NO_SKIP, Skip
from headrace.operators.patterns.stages import Stage
from headrace.operators.patterns.stored import EMPTY, from_stored, to_stored
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import NodeProgram, Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.backend import Entry, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, TIMES, VALUE, type_data_of
from headrace.runtime.state.time_buffer import TimeBuffer
from headrace.runtime.user_function import UserFunction

WAITING = RESERVED_NAMES + "pattern.waiting"
"""The state with the events that the watermark has not passed."""

EVENTS, MATCHES = RESERVED_NAMES + "pattern.events", RESERVED_NAMES + "pattern.matches"
"""The states with the events of partial matches, and with those (see ``stored.py``)."""

WAKE = RESERVED_NAMES + "pattern.wake"
"""The state with the time (ms) of the key's timer."""

_TRAITS = Traits(keyed=True, state=True, side_outputs=True, retains_emitted=True)


class Overflow(Enum):
    """What happens when a key has too many partial matches."""

    FAIL = "fail"
    """The job fails, with the key and the number."""

    DROP_OLDEST = "drop oldest"
    """The partial matches that began first are dropped, and counted."""

    DROP_NEWEST = "drop newest"
    """The partial matches that began last are dropped, and counted."""


@dataclass(frozen=True)
class Limit:
    """How many partial matches a key may have, and what happens to more."""

    count: int = 10_000
    overflow: Overflow = Overflow.FAIL


DEFAULT_LIMIT = Limit()


@dataclass(frozen=True)
class PatternSpec(OperatorSpec):
    """``function.target`` has ``process_match(match, ctx)``, perhaps ``process_timed_out_match``.

    ``comparator``: orders events of one time. ``late``: the side output of late events; None counts
    them. ``record_type``: the declared type of the events.
    """

    function: UserFunction
    stages: tuple[Stage, ...]
    skip: Skip = NO_SKIP
    is_event_time: bool = True
    comparator: UserFunction | None = None
    late: str | None = None
    limit: Limit = DEFAULT_LIMIT
    record_type: TypeInformation | None = None
    kind = "pattern"
    label = "Pattern"

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Has timers of event time, or of processing time."""
        if self.is_event_time:
            return replace(_TRAITS, event_timers=True, event_time=True, watermarks_in_batch=True)
        return replace(_TRAITS, processing_timers=True)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        own = (self.function,) if self.comparator is None else (self.function, self.comparator)
        return (*own, *(function for stage in self.stages for function in stage.functions))

    def copied(self) -> Self:
        copied = super().copied()
        stages = tuple(stage.with_conditions(lambda each: each.copied()) for stage in self.stages)
        vars(copied)["stages"] = stages
        return copied

    def build(self) -> Operator:
        return PatternOperator(self)


class MatchContext:
    """The context of ``process_match`` and ``process_timed_out_match``."""

    def __init__(self, key_context: KeyContext) -> None:
        self._key_context = key_context
        self._timestamp: int | None = None

    def timestamp(self) -> int:
        """Return the time (ms) of the match, or at which the time of a partial match was over."""
        return MIN_WATERMARK if self._timestamp is None else self._timestamp

    def current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self._key_context.now_ms

    def output(self, tag: OutputTag, value: Any) -> None:
        """Emit a value to a side output."""
        raise NotImplementedError


class PatternOperator(StatefulOperator):
    """Runs the automaton of a pattern for each key."""

    def __init__(self, spec: PatternSpec) -> None:
        self._spec = spec
        self._matcher = Matcher(compile_stages(spec.stages), spec.skip)

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        declared = type_data_of(self._spec.record_type)
        assert context.states is not None, "a pattern is keyed"
        context.states.declare(WAITING, TIMES, declared)
        context.states.declare(EVENTS, TIMES, declared)
        context.states.declare(MATCHES, VALUE)
        context.states.declare(WAKE, VALUE, type_data("LONG"))

    def bind(self, outputs: Outputs) -> Push:
        spec, metrics = self._spec, self.context.get_metrics_group()
        self._emit, self._to_side = emitter(outputs), side_output_sender(outputs)
        self._late_push = None if spec.late is None else outputs.side(spec.late)
        self._late_counter = metrics.counter("numLateRecordsDropped")
        self._dropped_counter = metrics.counter("numPartialMatchesDropped")
        target = spec.function.target
        self._process_match = target.process_match
        self._process_timed_out = getattr(target, "process_timed_out_match", None)
        self._context = context = MatchContext(self.key_context)
        context.output = self._output  # type: ignore[method-assign]
        self._order = None
        if spec.comparator is not None:
            self._order = cmp_to_key(spec.comparator.as_callable())
        return self.reject_record

    def _output(self, tag: OutputTag, value: Any) -> None:
        self._to_side((tag, value), self._context._timestamp if self._spec.is_event_time else None)

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        if self._spec.is_event_time:
            self._buffer(keys, values, timestamps or [None] * len(values))
        elif self._order is not None:
            # Events of one processing time are sorted when it is over.
            self._buffer(keys, values, [self.key_context.now_ms] * len(values))
        else:
            self._match_now(keys, values)

    def _buffer(self, keys: list[Any], values: list[Any], timestamps: Sequence[int | None]) -> None:
        """Keep events until the watermark, or the clock, has passed them."""
        is_event_time = self._spec.is_event_time
        watermark = self.key_context.watermark if is_event_time else MIN_WATERMARK
        delay_ms = 0 if is_event_time else 1
        enter, changed = self.key_context.backend.enter, self.key_context.backend.changed
        for key, value, timestamp in zip(keys, values, timestamps, strict=True):
            if timestamp is None:
                raise _missing_timestamp(self.node.name, value)
            if timestamp <= watermark:
                if self._late_push is None:
                    self._late_counter.inc()
                else:
                    self._late_push(value, timestamp)
                continue
            entry = enter(key)
            buffer = entry.get(WAITING)
            if buffer is None:
                entry[WAITING] = TimeBuffer([timestamp], [value])
            else:
                buffer.add(timestamp, value)
            wake_ms = entry.get(WAKE)
            if wake_ms is None or timestamp + delay_ms < wake_ms:
                self._set_wake(key, entry, timestamp + delay_ms)
            changed(key)

    def _match_now(self, keys: list[Any], values: list[Any]) -> None:
        """Match events in processing time; the matches of a key are read and stored once."""
        now_ms, backend = self.key_context.now_ms, self.key_context.backend
        node = self.node  # noqa: F841  # with key and value for the notes of a condition's error
        loaded: dict[Any, tuple[Entry, Matches]] = {}
        for key, value in zip(keys, values, strict=True):
            found = loaded.get(key)
            if found is None:
                entry = backend.enter(key)
                found = loaded[key] = entry, self._load(entry)
            self.key_context.enter(key)
            self._pass_time(found[1], now_ms)
            self._take(found[1], value, now_ms)
        for key, (entry, matches) in loaded.items():
            self._save(key, entry, matches)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Match the events of a key that have waited for this time."""
        key, backend = timer.key, self.key_context.backend
        node = self.node  # noqa: F841  # with key and value for the notes of a condition's error
        entry = backend.enter(key)
        if entry.get(WAKE) != timer.time_ms:
            return  # an earlier timer has taken its place
        del entry[WAKE]
        until_ms = self.key_context.watermark if is_event_time else self.key_context.now_ms
        matches = self._load(entry)
        self.key_context.enter(key)
        waiting = entry.get(WAITING)
        if waiting is not None:
            last_ms = until_ms if is_event_time else until_ms - 1
            times, values = waiting.take_through(last_ms)
            if not waiting:
                del entry[WAITING]
            for timestamp, value in self._ordered(times, values):
                self._pass_time(matches, timestamp)
                self._take(matches, value, timestamp)
        self._pass_time(matches, until_ms)
        self._save(key, entry, matches)

    def _ordered(self, times: list[int], values: list[Any]) -> Iterator[tuple[int, Any]]:
        """Yield events in order of time, and those of one time in the order of the comparator."""
        order = self._order
        if order is None:
            yield from zip(times, values, strict=True)
            return
        yield from sorted(
            zip(times, values, strict=True), key=lambda pair: (pair[0], order(pair[1]))
        )

    def _take(self, matches: Matches, value: Any, timestamp: int) -> None:
        self._matcher.context.now_ms = self.key_context.now_ms
        event = Event(value, timestamp, matches.next_number)
        matches.next_number += 1
        for match in self._matcher.process(matches, event):
            self._found(match, timestamp)
        if len(matches.partial) > self._spec.limit.count:
            self._overflow(matches)

    def _pass_time(self, matches: Matches, now_ms: int) -> None:
        """Let time pass, step by step."""
        while True:
            moment_ms = self._matcher.next_moment(matches)
            if moment_ms is None or moment_ms > now_ms:
                return
            found, over = self._matcher.advance(matches, moment_ms)
            for match in found:
                self._found(match, moment_ms)
            if self._process_timed_out is not None:
                for match in over:
                    self._timed_out(match, moment_ms)

    def _found(self, match: PartialMatch, timestamp: int) -> None:
        node, key = self.node, self.key_context.key  # noqa: F841  # for the notes of an error
        self._context._timestamp = timestamp
        results = self._process_match(match.events(), self._context)
        if results is not None:
            if type(results) not in EXPECTED_RESULT_TYPES:
                check_results(results)
            self._emit(results, timestamp if self._spec.is_event_time else None)

    def _timed_out(self, match: PartialMatch, timestamp: int) -> None:
        node, key = self.node, self.key_context.key  # noqa: F841  # for the notes of an error
        assert self._process_timed_out is not None
        self._context._timestamp = timestamp
        results = self._process_timed_out(match.events(), self._context)
        for result in results or ():
            if not (isinstance(result, tuple) and len(result) == 2) or not isinstance(
                result[0], OutputTag
            ):
                raise TypeMismatchError(
                    "process_timed_out_match() emits to side outputs only, and yielded"
                    f" {result!r:.100}",
                    hint="yield tag, value",
                )
            self._to_side(result, timestamp if self._spec.is_event_time else None)

    def _overflow(self, matches: Matches) -> None:
        """Apply the policy to a key with too many partial matches."""
        limit = self._spec.limit
        count = len(matches.partial)
        if limit.overflow is Overflow.FAIL:
            raise JobError(
                f"{self.node.name}: a key has {count:,} partial matches, more than the limit of"
                f" {limit.count:,}",
                where={"key": repr(self.key_context.user_key())[:120]},
                hint="shorten within(), use a skip strategy, or next() or followed_by() in place of"
                " followed_by_any(); or set limit_partial_matches()",
            )
        begun = sorted(
            (each for each in matches.partial if each.start is not None),
            key=lambda each: each.order,
        )
        excess = count - limit.count
        dropped = begun[:excess] if limit.overflow is Overflow.DROP_OLDEST else begun[-excess:]
        gone = {id(each) for each in dropped}
        matches.partial.remove_if(lambda each: id(each) in gone)
        self._dropped_counter.inc(len(dropped))

    # The state of a key.

    def _load(self, entry: Entry) -> Matches:
        stored = entry.get(MATCHES)
        if stored is None:
            return self._matcher.begin()
        return from_stored(stored, entry.get(EVENTS, EMPTY), self._matcher)

    def _save(self, key: Any, entry: Entry, matches: Matches) -> None:
        if matches.is_empty:
            entry.pop(MATCHES, None)
            entry.pop(EVENTS, None)
        else:
            entry[MATCHES], entry[EVENTS] = to_stored(matches)
        wake_ms = self._matcher.next_moment(matches)
        waiting = entry.get(WAITING)
        if waiting is not None:
            first_ms = waiting.first_ms + (0 if self._spec.is_event_time else 1)
            wake_ms = first_ms if wake_ms is None else min(wake_ms, first_ms)
        if wake_ms is None or wake_ms > MAX_WATERMARK:
            entry.pop(WAKE, None)
        elif wake_ms != entry.get(WAKE):
            self._set_wake(key, entry, wake_ms)
        self.key_context.backend.changed(key)

    def _set_wake(self, key: Any, entry: Entry, wake_ms: int) -> None:
        entry[WAKE] = wake_ms
        backend = self.key_context.backend
        timers = backend.event_timers if self._spec.is_event_time else backend.processing_timers
        timers.register(Timer(wake_ms, key))


def _missing_timestamp(name: str, value: Any) -> MissingWatermarksError:
    return MissingWatermarksError(
        f"{name} orders events by event time, but an event has no timestamp",
        where={"event": repr(value)[:120]},
        hint="the source sets no timestamps: add to the watermark strategy"
        " .with_timestamp_assigner(lambda event: <ms>); or use in_processing_time()",
    )
