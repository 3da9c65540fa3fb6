"""The operator that finds matches of patterns that change while the job runs.

Patterns come as data on a broadcast input. The broadcast state has, for each pattern, from which
time which data hold (``history.py``). In event time a change holds from its own timestamp on: an
event is matched with the patterns of its timestamp, so results do not depend on which of the two
was read first. A change without a timestamp, and any change in processing time, holds at once.

A key has the matches of each pattern, under the number of the change that made the pattern hold.
Those of a pattern that has ended are dropped when the key is looked at next, and counted.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.errors import CheckpointError, HeadraceError
from headrace.operators.patterns.automaton import Automaton
from headrace.operators.patterns.history import (
    REMOVED,
    ActivePattern,
    Timeline,
    with_change,
    without_past,
)
from headrace.operators.patterns.key_matches import KeyMatches
from headrace.operators.patterns.matcher import Event, Matcher, Matches
from headrace.operators.patterns.operator import (
    EVENTS,
    MatchContext,
    MatchingOperator,
    PatternSpec,
)
from headrace.operators.patterns.skips import Skip
from headrace.operators.patterns.stages import Stage
from headrace.operators.patterns.stored import (
    EMPTY,
    SHAPE,
    VERSION,
    Shapes,
    Stored,
    count_stored,
    to_events,
    to_stored_together,
    with_events,
)
from headrace.operators.patterns.waiting import MATCHES, moment_of
from headrace.runtime.context import TaskContext
from headrace.runtime.loops import Push
from headrace.runtime.operator import (
    Combiner,
    NodeProgram,
    Operator,
    Outputs,
    ProcessBlock,
    Traits,
)
from headrace.runtime.state.backend import Entry
from headrace.runtime.state.broadcast_state import BroadcastStateMap
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE, StateKind, type_data_of
from headrace.runtime.user_function import UserFunction

PATTERNS = RESERVED_NAMES + "pattern.histories"
"""The broadcast state with the history of each pattern, by its id (see ``history.py``)."""

CHANGES = RESERVED_NAMES + "pattern.changes"
"""The broadcast state with the last number of a change."""

_HISTORY = Types.LIST(Types.TUPLE([Types.LONG(), Types.LONG(), Types.STRING()]))
_OF_ALL = ""
"""The only key of ``CHANGES``."""

_PATTERNS_KIND = StateKind(VALUE, type_data_of(Types.MAP(Types.STRING(), _HISTORY)))
_CHANGES_KIND = StateKind(VALUE, type_data_of(Types.MAP(Types.STRING(), Types.LONG())))

_KEPT_UNUSED = 64
"""So many compiled patterns that do not hold are kept: groups of a task change back and forth."""


class PatternReader(Protocol):
    """Makes patterns of data, with conditions by name."""

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user's functions in conditions."""

    def copied(self) -> PatternReader:
        """Return a copy with its own user functions, for one task."""

    def read(self, given: Any) -> tuple[str, dict[str, Any] | None]:
        """Return the id and the data of a record; None: the pattern is taken away.

        Raises:
            MalformedPatternError: the record is not of that form.
        """

    def to_text(self, data: dict[str, Any]) -> str:
        """Return data as JSON; equal data give equal text."""

    def from_text(self, text: str) -> dict[str, Any]:
        """Return data of their JSON."""

    def warnings(self, data: dict[str, Any]) -> list[str]:
        """Return what of a valid pattern is probably not meant."""

    def compile(self, data: dict[str, Any]) -> tuple[Automaton, Skip]:
        """Return the automaton of a pattern and its skip strategy.

        Raises:
            MalformedPatternError: the pattern is not valid.
        """


@dataclass(frozen=True)
class DynamicPatternsSpec(PatternSpec):
    """As ``PatternSpec``, with patterns from the second input, which is broadcast.

    ``invalid``: the side output of data that are no pattern, each with the reason; None counts them
    only.
    """

    stages: tuple[Stage, ...] = ()
    reader: PatternReader | None = None
    invalid: str | None = None
    label = "Dynamic-Patterns"

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Of either time, and not that of a pattern of the program."""
        return f"dynamic-{super().kind}"

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of a pattern, with a broadcast input."""
        return replace(super().traits, inputs=2, broadcast_state=True)

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        assert self.reader is not None
        return (*super().functions, *self.reader.functions)

    def copied(self) -> Self:
        copied = super().copied()
        assert self.reader is not None
        vars(copied)["reader"] = self.reader.copied()
        return copied

    def combiner(self, selector: UserFunction, key_type: Any, by_time: bool) -> Combiner | None:
        """Return None: senders do not know the patterns."""
        return None

    def build(self) -> Operator:
        return DynamicPatternsOperator(self)


class DynamicMatchContext(MatchContext):
    """The context of ``process_match`` and ``process_timed_out_match``, which knows the pattern."""

    _pattern: ActivePattern

    def pattern_id(self) -> str:
        """Return the id of the pattern."""
        return self._pattern.id

    def pattern(self) -> dict[str, Any]:
        """Return the pattern as data; it must not be changed."""
        return self._pattern.data


class DynamicPatternsOperator(MatchingOperator[KeyMatches]):
    """Runs the automata of the patterns that hold, for each key."""

    _spec: DynamicPatternsSpec
    _context: DynamicMatchContext

    def __init__(self, spec: DynamicPatternsSpec) -> None:
        super().__init__(spec)
        assert spec.reader is not None
        self._reader = spec.reader
        self._active: dict[tuple[int, str], ActivePattern] = {}
        self._timeline: tuple[int, Timeline] | None = None
        self._past_ms = MIN_WATERMARK
        self._shapes: Shapes = {}
        self._not_begun: dict[int, Matches] = {}
        """Matches of patterns of which no partial match has begun: the same for all keys."""

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.broadcast_states is not None, "the operator has a broadcast input"
        self._broadcast_states = context.broadcast_states
        self._histories: BroadcastStateMap = self._broadcast_states.map(PATTERNS, _PATTERNS_KIND)
        self._changes: BroadcastStateMap = self._broadcast_states.map(CHANGES, _CHANGES_KIND)

    def bind(self, outputs: Outputs) -> Push:
        invalid = self._spec.invalid
        self._invalid_push = None if invalid is None else outputs.side(invalid)
        self._invalid_counter = self.context.get_metrics_group().counter("numInvalidPatterns")
        return super().bind(outputs)

    def _make_context(self) -> MatchContext:
        return DynamicMatchContext(self.key_context)

    def processors(self) -> tuple[ProcessBlock, ...]:
        return *super().processors(), self.process_patterns

    def restore(self, state: Any) -> None:
        # All groups of the task have reached this time, so no event asks for an earlier one.
        self._past_ms = self.key_context.watermark

    # Patterns.

    def process_patterns(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        """Change the patterns; called only for the first key group of a task."""
        for value, timestamp in zip(values, timestamps or [None] * len(values), strict=True):
            try:
                pattern_id, data = self._reader.read(value)
                text, warned = REMOVED, []
                if data is not None:
                    text = self._reader.to_text(data)
                    self._reader.compile(data)
                    warned = self._reader.warnings(data)
            # Data may be objects of any class, whose methods may raise anything.
            except Exception as error:
                self._reject(value, timestamp, error)
            else:
                self._change(pattern_id, text, timestamp)
                if self._broadcast_states.in_first_group:  # each task gets the pattern
                    for each in warned:
                        warnings.warn(f"pattern {pattern_id!r}: {each}", stacklevel=2)

    def _reject(self, value: Any, timestamp: int | None, error: Exception) -> None:
        if self._broadcast_states.in_first_group:  # each task gets the pattern
            self._invalid_counter.inc()
            if self._invalid_push is not None:
                self._invalid_push((value, _reason(error)), timestamp)

    def _change(self, pattern_id: str, text: str, timestamp: int | None) -> None:
        is_event_time = self._spec.is_event_time
        from_ms = timestamp if is_event_time and timestamp is not None else MIN_WATERMARK
        number: int = self._changes.get(_OF_ALL, 0) + 1
        history = with_change(self._histories.get(pattern_id, ()), (number, from_ms, text))
        self._changes.put(_OF_ALL, number + 1)  # equal in all tasks, whatever each has removed
        if history is not None:
            self._histories.put(pattern_id, history)
        for known, before in self._histories.items():
            left = without_past(before, self._past_ms)
            if not left:
                self._histories.remove(known)
            elif len(left) < len(before):
                self._histories.put(known, left)

    def _patterns(self) -> Timeline:
        """Return the patterns of the broadcast state, as it is now."""
        revision = self._histories.revision
        if self._timeline is None or self._timeline[0] != revision:
            timeline = Timeline(self._histories.items(), self._activate)
            self._timeline = revision, timeline
            self._not_begun = {}
            if len(self._active) > len(timeline.patterns) + _KEPT_UNUSED:
                kept = {id(each) for each in timeline.patterns.values()}
                self._active = {at: each for at, each in self._active.items() if id(each) in kept}
        return self._timeline[1]

    def _activate(self, number: int, pattern_id: str, text: str) -> ActivePattern:
        found = self._active.get((number, text))
        if found is None:
            data = self._reader.from_text(text)
            try:
                matcher = Matcher(*self._reader.compile(data))
            except HeadraceError as error:
                raise CheckpointError(
                    f"{self.node.name} has the pattern {pattern_id!r} in its state, which the"
                    f" program cannot use: {error.message}",
                    where={"pattern": text[:120]},
                    hint="give the registry the conditions that it had; or take the pattern away"
                    " with the program that knows it",
                ) from error
            found = self._active[number, text] = ActivePattern(number, pattern_id, data, matcher)
        return found

    # Matches.

    def _take(self, matches: KeyMatches, value: Any, timestamp: int, answers: int | None) -> None:
        event = Event(value, timestamp, matches.next_number)
        matches.next_number += 1
        by_pattern, not_begun = matches.by_pattern, self._not_begun
        for pattern in matches.timeline.at(timestamp):
            number, matcher = pattern.number, pattern.matcher
            self._context._pattern = pattern
            found = by_pattern.get(number)
            if found is not None:
                before = found.partial
                self._match(matcher, found, event)
                if found.partial is not before:
                    matches.forget_moment()
                continue
            # It is not among the others while it changes: if that fails, it is not used again.
            found = not_begun.pop(number, None) or matcher.begin()
            self._match(matcher, found, event)
            if found.is_empty:
                found.are_changed = False
                not_begun[number] = found
            else:
                by_pattern[number] = found
                matches.forget_moment()

    def _pass_time(self, matches: KeyMatches, now_ms: int) -> None:
        timeline, by_pattern = matches.timeline, matches.by_pattern
        while True:
            moment_ms = matches.moment_ms
            if moment_ms is None or moment_ms > now_ms:
                return
            for number in sorted(n for n in by_pattern if matches.moment_of(n) == moment_ms):
                if timeline.ends_ms.get(number) == moment_ms:
                    self._dropped_counter.inc(matches.drop(number))
                    continue
                self._context._pattern = pattern = timeline.patterns[number]
                self._advance(pattern.matcher, by_pattern[number], moment_ms)
            matches.forget_moment()

    def failure_details(self) -> dict[str, str]:
        pattern = getattr(self._context, "_pattern", None)
        return {} if pattern is None else {"pattern": repr(pattern.id)}

    # The state of a key.

    def _load(self, entry: Entry) -> KeyMatches:
        timeline = self._patterns()
        stored: Stored | None = entry.get(MATCHES)
        if stored is None:
            return KeyMatches(timeline)
        events = to_events(entry.get(EVENTS, EMPTY))
        matches = KeyMatches(timeline, len(events))
        for each in stored[SHAPE]:
            pattern = timeline.patterns.get(each[VERSION])
            if pattern is None:  # it has ended
                self._dropped_counter.inc(count_stored(each))
                matches.leave_out()
            else:
                matches.by_pattern[pattern.number] = with_events(each, events, pattern.matcher)
        return matches

    def _save(self, entry: Entry, matches: KeyMatches) -> int | None:
        moment_ms = matches.moment_ms
        # Another change may have moved the end of a pattern, which then has another timer.
        if not matches.are_changed and moment_ms == moment_of(entry):
            return moment_ms
        several = [
            (each, number)
            for number, each in sorted(matches.by_pattern.items())
            if not each.is_empty
        ]
        if several:
            stored, entry[EVENTS] = to_stored_together(several, self._shapes)
            entry[MATCHES] = (0, moment_ms, stored)
        else:
            entry.pop(MATCHES, None)
            entry.pop(EVENTS, None)
        return moment_ms


def _reason(error: Exception) -> str:
    """Return why data are no pattern; what a class of the user raised may have no text."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception:
        return kind
    return text if isinstance(error, HeadraceError) else f"{kind}: {text}".removesuffix(": ")
