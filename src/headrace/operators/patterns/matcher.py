"""Runs an automaton over the events of one key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial as partial_of
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.patterns.automaton import Action, Automaton, Role, State
from headrace.operators.patterns.conditions import Answers, Predicate, compile_once
from headrace.operators.patterns.queue_order import JavaQueue
from headrace.operators.patterns.skips import Skip

_NOT_STARTED = (1 << 63, 1 << 63)

Found = dict[str, list[Any]]
"""The events of a match by stage."""


class Event:
    """An event of a key.

    ``number``: counts a key's events, so it orders those of one time.
    """

    __slots__ = ("number", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int, number: int) -> None:
        self.value = value
        self.timestamp = timestamp
        self.number = number


class Node:
    """A taken event, and the one that was taken before; partial matches share their beginnings."""

    __slots__ = ("before", "event", "stage")

    def __init__(self, stage: str, event: Event, before: Node | None) -> None:
        self.stage = stage
        self.event = event
        self.before = before


class PartialMatch:
    """A match that has taken its first events (``last`` and before), and waits in a state.

    ``start``: its first event; None before it. ``over_ms``: when its time is over; None: never.
    """

    __slots__ = ("last", "order", "over_ms", "start", "state")

    def __init__(
        self, state: str, last: Node | None, start: Event | None, over_ms: int | None = None
    ) -> None:
        self.state = state
        self.last = last
        self.start = start
        self.over_ms = over_ms
        self.order = _NOT_STARTED if start is None else (start.timestamp, start.number)

    def nodes(self) -> list[Node]:
        """Return its events in order."""
        found, node = [], self.last
        while node is not None:
            found.append(node)
            node = node.before
        found.reverse()
        return found

    def numbers(self) -> dict[str, list[int]]:
        """Return the numbers of its events by stage."""
        found: dict[str, list[int]] = {}
        for node in self.nodes():
            found.setdefault(node.stage, []).append(node.event.number)
        return found

    def events(self) -> Found:
        """Return its events by stage."""
        found: Found = {}
        for node in self.nodes():
            found.setdefault(node.stage, []).append(node.event.value)
        return found


class Matches:
    """The partial matches of one key, and complete ones that wait for earlier partial ones.

    ``next_number``: the number of the key's next event. ``are_changed``: whether they differ from
    what is stored.
    """

    __slots__ = ("are_changed", "complete", "next_number", "partial")

    def __init__(
        self,
        partial: JavaQueue[PartialMatch],
        complete: JavaQueue[PartialMatch],
        next_number: int = 0,
    ) -> None:
        self.partial = partial
        self.complete = complete
        self.next_number = next_number
        self.are_changed = False

    @property
    def begun(self) -> int:
        """How many partial matches have begun; one has not."""
        return len(self.partial) - 1

    @property
    def is_empty(self) -> bool:
        """Whether no event has been taken that is still needed."""
        return not self.complete and len(self.partial) == 1


class _Context:
    """What conditions ask of a partial match."""

    __slots__ = ("found", "match", "now_ms", "time_ms")

    match: PartialMatch
    found: Found | None
    """The events of the match, once they were asked for."""

    def __init__(self) -> None:
        self.time_ms = self.now_ms = 0

    def get_events_for_pattern(self, name: str) -> Sequence[Any]:
        """Return the events that a stage has matched so far, in order."""
        if self.found is None:
            self.found = self.match.events()
        return self.found.get(name, [])

    def timestamp(self) -> int:
        """Return the event's timestamp (ms)."""
        return self.time_ms

    def current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""
        return self.now_ms


def _has_begun_by(number: int, match: PartialMatch) -> bool:
    return match.start is not None and match.start.number <= number


_Compiled = tuple[tuple[Action, State, Predicate], ...]


class Matcher:
    """The automaton of a task; its methods take the matches of a key and change them."""

    def __init__(self, automaton: Automaton, skip: Skip) -> None:
        self._skip = skip
        self._answers: Answers = {}
        known: dict[int, Predicate] = {}
        self._states = automaton.states
        self._start = automaton.start.name
        self._transitions: dict[str, _Compiled] = {
            state.name: tuple(
                (each.action, each.target, compile_once(each.condition, known, self._answers))
                for each in state.transitions
            )
            for state in automaton.reachable()
        }
        self._goes_on = {
            name: any(action is Action.PROCEED for action, _, _ in transitions)
            for name, transitions in self._transitions.items()
        }
        """Whether a state has transitions to others without an event."""
        self._within_ms = automaton.within_ms
        self._gaps_ms = automaton.gaps_ms
        self.context = _Context()

    def begin(self) -> Matches:
        """Return the matches of a key without events."""
        return Matches(JavaQueue([PartialMatch(self._start, None, None)]), JavaQueue())

    def process(self, matches: Matches, event: Event) -> list[PartialMatch]:
        """Return the matches that an event completes; time has been advanced to it before."""
        self._answers.clear()
        self.context.time_ms = event.timestamp
        kept: list[PartialMatch] = []
        found: list[PartialMatch] = []
        is_unchanged, step = True, self._step
        for match in matches.partial.items:
            going_on = step(match, event, found)
            if going_on is None:
                kept.append(match)
            else:
                is_unchanged = False
                kept += going_on
        if is_unchanged:
            return []
        matches.are_changed = True
        partial = matches.partial = JavaQueue(kept)
        if not found and not matches.complete.items:
            return []
        return self._release(matches, partial, JavaQueue(found))

    def waiting(self, state: str, last: Node, start: Event) -> PartialMatch:
        """Return a partial match that waits in a state after its event ``last``."""
        over_ms = None
        if self._within_ms is not None:
            over_ms = start.timestamp + self._within_ms
        gap_ms = self._gaps_ms.get(state)
        if gap_ms is not None:
            gap_over_ms = last.event.timestamp + gap_ms
            over_ms = gap_over_ms if over_ms is None else min(over_ms, gap_over_ms)
        return PartialMatch(state, last, start, over_ms)

    def next_moment(self, matches: Matches) -> int | None:
        """Return when (ms) the time of the next partial match is over; None: never."""
        partial = matches.partial.items
        if len(partial) == 1:
            return None  # none has begun
        found = [each.over_ms for each in partial if each.over_ms is not None]
        moment_ms = min(found, default=None)
        return None if moment_ms is None or moment_ms > MAX_WATERMARK else moment_ms

    def advance(
        self, matches: Matches, now_ms: int
    ) -> tuple[list[PartialMatch], list[PartialMatch]]:
        """Return the matches that are complete as time passes, and those whose time is over."""
        kept: JavaQueue[PartialMatch] = JavaQueue()
        found: JavaQueue[PartialMatch] = JavaQueue()
        late: list[PartialMatch] = []
        matches.are_changed = True
        for match in matches.partial:
            over_ms = match.over_ms
            if over_ms is None or over_ms > now_ms:
                kept.add(match)
            elif self._states[match.state].role is Role.PENDING:
                found.add(match)
            else:
                late.append(match)
        given = self._release(matches, kept, found)
        matches.partial = kept
        return given, late

    def drop(self, matches: Matches, dropped: Iterable[PartialMatch]) -> list[PartialMatch]:
        """Drop partial matches; return the complete ones that only they have held back."""
        matches.are_changed = True
        gone = {id(each) for each in dropped}
        matches.partial.remove_if(lambda each: id(each) in gone)
        return self._release(matches, matches.partial, JavaQueue())

    def _release(
        self, matches: Matches, partial: JavaQueue[PartialMatch], found: JavaQueue[PartialMatch]
    ) -> list[PartialMatch]:
        """Return the complete matches that no earlier partial match holds back."""
        complete, given = matches.complete, []
        for match in found:
            complete.add(match)
        while True:
            earliest = complete.peek()
            if earliest is None:
                break
            if self._skip.is_skip:
                waiting = partial.peek()
                if waiting is not None and earliest.order > waiting.order:
                    break
            complete.poll()
            last = self._skip.last_dropped(earliest.numbers())
            for queue in (partial, complete):
                queue.remove_if(partial_of(_has_begun_by, last))
            given.append(earliest)
        return given

    def _step(
        self, match: PartialMatch, event: Event, found: list[PartialMatch]
    ) -> list[PartialMatch] | None:
        """Return the partial matches that become of one with an event; None: it stays as it is.

        Those that are complete are added to ``found``.
        """
        context = self.context
        context.match, context.found = match, None
        state, last, start = match.state, match.last, match.start
        edges = self._edges(state, event)
        if start is None:
            if all(action is Action.IGNORE for action, _, _ in edges):
                return None
        elif len(edges) == 1 and edges[0][0] is Action.IGNORE and edges[0][2].name == state:
            return None
        given: list[PartialMatch] = []
        is_stopped = False
        for action, source, target in edges:
            if action is Action.IGNORE:
                if start is None:
                    continue
                assert last is not None
                made = self.waiting(target.name, last, start)
            else:
                node = Node(source.stage, event, last)
                made = self.waiting(target.name, node, start or event)
                if self._goes_on[target.name]:
                    final = self._final_after(target, event)
                    if final is not None:
                        found.append(self.waiting(final.name, node, start or event))
            role = target.role
            if role is Role.FINAL:
                found.append(made)
            elif role is Role.STOP:
                is_stopped = True
            else:
                given.append(made)
        if is_stopped:
            given = []
        if start is None:
            given.append(match)
        return given

    def _edges(self, name: str, event: Event) -> list[tuple[Action, State, State]]:
        """Return the transitions that an event makes: what is done, from which state, to which."""
        given: list[tuple[Action, State, State]] = []
        states, context, value = self._states, self.context, event.value
        waiting = [name]
        while waiting:
            at = waiting.pop()
            for action, target, holds in self._transitions[at]:
                if holds(value, context):
                    if action is Action.PROCEED:
                        waiting.append(target.name)
                    else:
                        given.append((action, states[at], target))
        return given

    def _final_after(self, state: State, event: Event) -> State | None:
        """Return the final state to which a match may go on without a further event."""
        waiting = [state]
        while waiting:
            for action, target, holds in self._transitions[waiting.pop().name]:
                if action is Action.PROCEED and holds(event.value, self.context):
                    if target.role is Role.FINAL:
                        return target
                    waiting.append(target)
        return None
