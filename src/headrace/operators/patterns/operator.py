"""The operator that finds the matches of a pattern among the events of each key.

In event time, events wait in a buffer until the watermark has passed them. Then those of a key are
taken in order of time, and the matches of the key are read and stored once. A key has a timer for
its first waiting event, and one for the end of its first partial match. It has nothing if it has
neither.

Time passes in steps, from one end of a partial match to the next. So what is found, when, and in
which order does not depend on how often watermarks come: a restart, another parallelism or a batch
changes nothing. Flink takes one step for each watermark; the results are equal to its own if a
watermark comes with each millisecond.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cmp_to_key
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar
from zlib import crc32

from headrace.common._output_tag import OutputTag
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
from headrace.operators.patterns.before_exchange import RelevantEventsSpec
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.matcher import Event, Matcher, Matches, PartialMatch
from headrace.operators.patterns.over_columns import Answers, ColumnConditions
from headrace.operators.patterns.shortcut import Select, conditions_to_ask, selection
from headrace.operators.patterns.skips import NO_SKIP, Skip
from headrace.operators.patterns.stages import Stage, describe
from headrace.operators.patterns.stored import (
    EMPTY,
    VERSION,
    Shapes,
    Stored,
    count_stored,
    from_stored,
    to_stored,
)
from headrace.operators.patterns.waiting import MATCHES, WAKE, Events, WaitingEvents, moment_of
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    Combiner,
    NodeProgram,
    Operator,
    OperatorSpec,
    Outputs,
    Traits,
)
from headrace.runtime.state.backend import Entry, Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, TIMES, VALUE, type_data_of
from headrace.runtime.user_function import UserFunction

if TYPE_CHECKING:
    from headrace.operators.patterns.over_columns import AnswerArray
    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.keys import ColumnKeys

EVENTS = RESERVED_NAMES + "pattern.events"
"""The state with the events of partial matches (see ``stored.py``)."""

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
    them. ``record_type``: the declared type of the events. ``gets_relevant``: senders leave out
    events that cannot change anything. ``over_columns``: the conditions over columns, which are
    in the stages by their numbers.
    """

    function: UserFunction
    stages: tuple[Stage, ...]
    skip: Skip = NO_SKIP
    is_event_time: bool = True
    comparator: UserFunction | None = None
    late: str | None = None
    limit: Limit = DEFAULT_LIMIT
    record_type: TypeInformation | None = None
    gets_relevant: bool = False
    over_columns: ColumnConditions | None = None
    label = "Pattern"

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Of either time: the events that wait in state have timers of one."""
        return "pattern" if self.is_event_time else "pattern-in-processing-time"

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Has timers of event time, or of processing time."""
        takes_columns = self.over_columns is not None
        traits = replace(_TRAITS, takes_columns=takes_columns, gives_rows=takes_columns)
        if self.is_event_time:
            return replace(traits, event_timers=True, event_time=True, watermarks_in_batch=True)
        return replace(traits, processing_timers=True)

    @property
    def pattern(self) -> tuple[tuple[str, str], ...]:  # type: ignore[override]
        """The stages, as partial matches depend on them."""
        return describe(self.stages)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        own = (self.function,) if self.comparator is None else (self.function, self.comparator)
        return (*own, *(function for stage in self.stages for function in stage.functions))

    def copied(self) -> Self:
        copied = super().copied()
        stages = tuple(stage.with_conditions(lambda each: each.copied()) for stage in self.stages)
        vars(copied)["stages"] = stages
        return copied

    @property
    def number_shows(self) -> bool:
        """Whether it can be seen how many partial matches there are."""
        return self.skip.is_skip or hasattr(self.function.target, "process_timed_out_match")

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return a filter of relevant events; None if each event may change something."""
        automaton = compile_stages(self.stages)
        conditions = conditions_to_ask(self.stages, automaton, self.number_shows)
        if conditions is None:
            return None
        may_be_late = self.is_event_time and not by_time
        spec = RelevantEventsSpec(conditions, may_be_late, self.over_columns)
        return Combiner(spec, replace(self, gets_relevant=True), sends_partials=False)

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


class KeyContent(Protocol):
    """What a key has of one pattern, or of several."""

    @property
    def moment_ms(self) -> int | None:
        """When the time of the first partial match is over; None: never."""

    @property
    def are_changed(self) -> bool:
        """Whether it differs from what is stored."""


M = TypeVar("M", bound=KeyContent)
"""The matches of a key."""


class MatchingOperator(StatefulOperator, Generic[M]):
    """Buffers the events of each key, and gives its matches, which subclasses find and store."""

    _select: Select | None = None
    """Selects the events that may change something; None: each event may."""

    _answers: Answers | None = None
    """Evaluates conditions over columns; None: there are none."""

    def __init__(self, spec: PatternSpec) -> None:
        self._spec = spec
        self._most_at_once = 2 * spec.limit.count
        """With more partial matches the limit holds while an event is matched: one event may make
        a thousand of each. With fewer it holds after the skip strategy, which drops some.
        """

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        spec = self._spec
        declared = type_data_of(spec.record_type)
        assert context.states is not None, "a pattern is keyed"
        WaitingEvents.declare(context.states, declared)
        context.states.declare(EVENTS, TIMES, declared)
        context.states.declare(MATCHES, VALUE)
        is_event_time, delay_ms = spec.is_event_time, 0 if spec.is_event_time else 1
        self._waiting = WaitingEvents(key_context, is_event_time, delay_ms)

    def bind(self, outputs: Outputs) -> Push:
        spec, metrics = self._spec, self.context.get_metrics_group()
        self._emit, self._to_side = emitter(outputs), side_output_sender(outputs)
        self._late_push = None if spec.late is None else outputs.side(spec.late)
        self._late_counter = metrics.counter("numLateRecordsDropped")
        self._dropped_counter = metrics.counter("numPartialMatchesDropped")
        target = spec.function.target
        self._process_match = target.process_match
        self._process_timed_out = getattr(target, "process_timed_out_match", None)
        self._context = context = self._make_context()
        context.output = self._output  # type: ignore[method-assign]
        self._order = None
        if spec.comparator is not None:
            self._order = cmp_to_key(_comparing(spec.comparator.as_callable()))
        return self.reject_record

    def _make_context(self) -> MatchContext:
        return MatchContext(self.key_context)

    def _output(self, tag: OutputTag, value: Any) -> None:
        self._to_side((tag, value), self._context._timestamp if self._spec.is_event_time else None)

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        answers = None if self._answers is None else self._answers.of_records(values)
        self._process(keys, values, timestamps, answers)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        assert self._answers is not None, "columns are for conditions over columns"
        answers, timestamps = self._answers.of_columns(columns), columns.timestamps
        times = None if timestamps is None else [*timestamps]
        self._process([*keys], columns.rows(), times, answers)

    def _process(
        self,
        keys: list[Any],
        values: list[Any],
        timestamps: Sequence[int | None] | None,
        answers: AnswerArray | None,
    ) -> None:
        now_ms, is_event_time = self.key_context.now_ms, self._spec.is_event_time
        times: Any = [now_ms] * len(values)
        if is_event_time:
            times = timestamps or [None] * len(values)
            if None in times:
                raise _missing_timestamp(self.node.name, values[times.index(None)])
        events = Events(keys, values, times, answers)
        if is_event_time and min(times, default=MAX_WATERMARK) <= self.key_context.watermark:
            events = self._without_late(events)
        events = self._relevant(events)
        # Events of one processing time that have an order are sorted when it is over.
        if is_event_time or self._order is not None:
            self._waiting.add(events)
        else:
            self._match_now(events, now_ms)

    def _without_late(self, events: Events) -> Events:
        """Return the events that are not late; count the others, or give them aside."""
        watermark, push = self.key_context.watermark, self._late_push
        kept: list[int] = []
        for place, (value, timestamp) in enumerate(zip(events.values, events.times, strict=True)):
            if timestamp > watermark:
                kept.append(place)
            elif push is None:
                self._late_counter.inc()
            else:
                push(value, timestamp)
        return events.at(kept)

    def _relevant(self, events: Events) -> Events:
        """Return the events that may change something.

        A condition that fails here may not be needed: it fails where it is.
        """
        if self._select is None:
            return events
        try:
            places = self._select(events.values, events.answers)
        except Exception:
            return events
        return events.at(places)

    def _match_now(self, events: Events, now_ms: int) -> None:
        """Match events in processing time; the matches of a key are read and stored once."""
        backend = self.key_context.backend
        node = self.node  # noqa: F841  # with key and value for the notes of a condition's error
        loaded: dict[Any, tuple[Entry, int | None, M]] = {}
        rows = zip(events.keys, events.values, strict=True)
        for (key, value), answers in zip(rows, events.each_answers(), strict=True):
            found = loaded.get(key)
            if found is None:
                entry = backend.enter(key)
                found = loaded[key] = entry, moment_of(entry), self._load(entry)
            self.key_context.enter(key)
            self._pass_time(found[2], now_ms)
            self._take(found[2], value, now_ms, answers)
        for key, (entry, moment_ms, matches) in loaded.items():
            if matches.are_changed:
                new_ms = self._save(entry, matches)
                self._set_timers(key, (moment_ms,), (new_ms,))
                backend.changed(key)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Take the events of a key that have waited for this time."""
        node, key, backend = self.node, timer.key, self.key_context.backend  # noqa: F841
        entry = backend.enter(key)
        wake_ms, moment_ms = entry.get(WAKE), moment_of(entry)
        if timer.time_ms not in (wake_ms, moment_ms):
            return  # what it was for has been dropped
        until_ms = self.key_context.watermark if is_event_time else self.key_context.now_ms
        if timer.time_ms > until_ms:
            until_ms = MAX_WATERMARK  # a batch has ended
        matches = self._load(entry)
        self.key_context.enter(key)
        if wake_ms is not None and wake_ms <= until_ms:
            passed_ms: int | None = None
            for timestamp, value, answers in self._ordered(self._waiting.take(entry, until_ms)):
                # No time passes between events of one time, as in Flink.
                if timestamp != passed_ms and matches.moment_ms is not None:
                    self._pass_time(matches, timestamp)
                passed_ms = timestamp
                self._take(matches, value, timestamp, answers)
        if matches.moment_ms is not None:
            self._pass_time(matches, until_ms)
        new_ms = self._save(entry, matches)
        before = [each for each in (wake_ms, moment_ms) if each != timer.time_ms]
        self._set_timers(key, before, (entry.get(WAKE), new_ms))
        backend.changed(key)

    def _ordered(self, events: list[tuple[int, Any, int]]) -> list[tuple[int, Any, int]]:
        """Return events in order of time, and those of one time in the order of the comparator."""
        order = self._order
        if order is None or len(events) < 2:
            return events
        return sorted(events, key=lambda event: (event[0], order(event[1])))

    @abstractmethod
    def _take(self, matches: M, value: Any, timestamp: int, answers: int | None) -> None:
        """Match an event; time has passed until its timestamp.

        ``answers``: those of conditions over columns.
        """

    @abstractmethod
    def _pass_time(self, matches: M, now_ms: int) -> None:
        """Let time pass, step by step."""

    def _match(self, matcher: Matcher, matches: Matches, event: Event) -> None:
        """Match an event, with one pattern."""
        node, key, value = self.node, self.key_context.key, event.value  # noqa: F841
        timestamp = event.timestamp  # for the notes of an error, as are those above
        matcher.context.now_ms = self.key_context.now_ms
        for match in matcher.process(matches, event, self._thin, self._most_at_once):
            self._found(match, timestamp)
        if matches.begun > self._spec.limit.count:
            for match in matcher.drop(matches, self._excess(matches.partial)):
                self._found(match, timestamp)

    def _advance(self, matcher: Matcher, matches: Matches, moment_ms: int) -> None:
        """Let time pass until the next moment of the matches of one pattern."""
        found, over = matcher.advance(matches, moment_ms)
        for match in found:
            self._found(match, moment_ms)
        if self._process_timed_out is not None:
            for match in over:
                self._timed_out(match, moment_ms)

    def _found(self, match: PartialMatch, timestamp: int) -> None:
        node, key = self.node, self.key_context.key  # noqa: F841  # for the notes of an error
        self._context._timestamp = timestamp
        value = None if match.last is None else match.last.event.value  # noqa: F841
        results = self._process_match(match.events(), self._context)
        if results is not None:
            if type(results) not in EXPECTED_RESULT_TYPES:
                check_results(results)
            self._emit(results, timestamp if self._spec.is_event_time else None)

    def _timed_out(self, match: PartialMatch, timestamp: int) -> None:
        node, key = self.node, self.key_context.key  # noqa: F841  # for the notes of an error
        assert self._process_timed_out is not None
        self._context._timestamp = timestamp
        value = None if match.last is None else match.last.event.value  # noqa: F841
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

    def _thin(self, partial: list[PartialMatch]) -> list[PartialMatch]:
        """Return the partial matches that the policy leaves, while others are still made."""
        dropped = {id(each) for each in self._excess(partial)}
        return [each for each in partial if id(each) not in dropped]

    def _excess(self, partial: Iterable[PartialMatch]) -> list[PartialMatch]:
        """Return the partial matches that are dropped, and count them.

        Raises:
            JobError: the policy is to fail.
        """
        limit = self._spec.limit
        begun = [each for each in partial if each.start is not None]
        excess = len(begun) - limit.count
        if excess <= 0:
            return []
        if limit.overflow is Overflow.FAIL:
            raise JobError(
                f"{self.node.name}: a key has {len(begun):,} partial matches, more than the limit"
                f" of {limit.count:,}",
                where={"key": repr(self.key_context.user_key())[:120], **self.failure_details()},
                hint="shorten within(), use a skip strategy, or next() or followed_by() in place of"
                " followed_by_any(); or set limit_partial_matches()",
            )
        begun.sort(key=lambda each: each.order)
        self._dropped_counter.inc(excess)
        return begun[:excess] if limit.overflow is Overflow.DROP_OLDEST else begun[-excess:]

    # The state of a key.

    @abstractmethod
    def _load(self, entry: Entry) -> M:
        """Return the matches of a key."""

    @abstractmethod
    def _save(self, entry: Entry, matches: M) -> int | None:
        """Store the matches of a key; return when (ms) the time of the first one is over."""

    def _set_timers(
        self, key: Any, before: Sequence[int | None], now: Sequence[int | None]
    ) -> None:
        """Let a key's timers be those of ``now`` (ms) instead of those of ``before``."""
        backend = self.key_context.backend
        timers = backend.event_timers if self._spec.is_event_time else backend.processing_timers
        for moment_ms in before:
            if moment_ms is not None and moment_ms not in now:
                timers.delete(Timer(moment_ms, key))
        for moment_ms in now:
            if moment_ms is not None and moment_ms not in before:
                timers.register(Timer(moment_ms, key))


class PatternOperator(MatchingOperator[Matches]):
    """Runs the automaton of a pattern for each key."""

    def __init__(self, spec: PatternSpec) -> None:
        super().__init__(spec)
        automaton = compile_stages(spec.stages)
        self._answers = None if spec.over_columns is None else Answers(spec.over_columns)
        self._matcher = Matcher(automaton, spec.skip, self._answers)
        if not spec.gets_relevant:
            asked = conditions_to_ask(spec.stages, automaton, spec.number_shows)
            self._select = None if asked is None else selection(asked, self._matcher.context)
        self._version = crc32(repr(spec.pattern).encode())
        self._shapes: Shapes = {}

    def _take(self, matches: Matches, value: Any, timestamp: int, answers: int | None) -> None:
        if self._answers is not None and answers is not None:
            self._matcher.context.answers = self._answers.known(answers)
        event = Event(value, timestamp, matches.next_number)
        matches.next_number += 1
        self._match(self._matcher, matches, event)

    def _pass_time(self, matches: Matches, now_ms: int) -> None:
        while True:
            moment_ms = matches.moment_ms
            if moment_ms is None or moment_ms > now_ms:
                return
            self._advance(self._matcher, matches, moment_ms)

    def _load(self, entry: Entry) -> Matches:
        stored: Stored | None = entry.get(MATCHES)
        if stored is None:
            return self._matcher.begin()
        if stored[VERSION] != self._version:
            # The start of the job has refused this, unless partial matches are to be dropped.
            self._dropped_counter.inc(count_stored(stored))
            matches = self._matcher.begin()
            matches.are_changed = True
            return matches
        return from_stored(stored, entry.get(EVENTS, EMPTY), self._matcher)

    def _save(self, entry: Entry, matches: Matches) -> int | None:
        if not matches.are_changed:
            return moment_of(entry)
        if matches.is_empty:
            entry.pop(MATCHES, None)
            entry.pop(EVENTS, None)
            return None
        entry[MATCHES], entry[EVENTS] = to_stored(matches, self._version, self._shapes)
        return matches.moment_ms


def _comparing(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return a comparator that refuses what is no number; True and False would order nothing."""

    def compared(first: Any, second: Any) -> Any:
        found = compare(first, second)
        if found is None or found is True or found is False:
            raise TypeMismatchError(
                f"the comparator returned {found} for two events of one time",
                where={"first": repr(first)[:120], "second": repr(second)[:120]},
                hint="return a negative number, 0 or a positive one, as a.price - b.price is",
            )
        return found

    return compared


def _missing_timestamp(name: str, value: Any) -> MissingWatermarksError:
    return MissingWatermarksError(
        f"{name} orders events by event time, but an event has no timestamp",
        where={"event": repr(value)[:120]},
        hint="the source sets no timestamps: add to the watermark strategy"
        " .with_timestamp_assigner(lambda event: <ms>); or use in_processing_time()",
    )
