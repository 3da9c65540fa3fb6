"""Runs an automaton over the events of one key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial as partial_of
from operator import attrgetter
from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.patterns.automaton import Action, Automaton, Role, State, Transition
from headrace.operators.patterns.conditions import (
    ALWAYS,
    Condition,
    Not,
    Predicate,
    Returned,
    compile_once,
)
from headrace.operators.patterns.over_columns import AnsweringContext, Answers
from headrace.operators.patterns.queue_order import JavaQueue
from headrace.operators.patterns.skips import Skip

_NOT_STARTED = (1 << 63, 1 << 63)

Found = dict[str, list[Any]]
"""The events of a match by stage."""


_number, _value = attrgetter("number"), attrgetter("value")


class Event:
    """An event of a key.

    ``number``: counts a key's events, so it orders those of one time. ``place``: among the events
    that are being stored; -1: it is not among them.
    """

    __slots__ = ("number", "place", "timestamp", "value")

    def __init__(self, value: Any, timestamp: int, number: int) -> None:
        self.value = value
        self.timestamp = timestamp
        self.number = number
        self.place = -1


class Node:
    """A taken event, and the one that was taken before; partial matches share their beginnings.

    ``place``: among the nodes that are being stored; -1: it is not among them.
    """

    __slots__ = ("before", "event", "place", "stage")

    def __init__(self, stage: str, event: Event, before: Node | None) -> None:
        self.stage = stage
        self.event = event
        self.before = before
        self.place = -1


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
        return self._by_stage(_number)

    def events(self) -> Found:
        """Return its events by stage."""
        return self._by_stage(_value)

    def _by_stage(self, of_event: Callable[[Event], Any]) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = {}
        for node in self.nodes():
            found.setdefault(node.stage, []).append(of_event(node.event))
        return found


Thin = Callable[[list[PartialMatch]], list[PartialMatch]]
"""Takes too many partial matches, and returns, in the same order, those that are kept."""


class Matches:
    """The partial matches of one key, and complete ones that wait for earlier partial ones.

    ``next_number``: the number of the key's next event. ``are_changed``: whether they differ from
    what is stored. ``moment_ms``: when the time of the first partial match is over; None: never.
    """

    __slots__ = ("are_changed", "complete", "moment_ms", "next_number", "partial")

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
        self.moment_ms: int | None = None

    @property
    def begun(self) -> int:
        """How many partial matches have begun; one has not."""
        return len(self.partial) - 1

    @property
    def is_empty(self) -> bool:
        """Whether no event has been taken that is still needed."""
        return not self.complete and len(self.partial) == 1


class _Context(AnsweringContext):
    """What conditions ask of a partial match."""

    __slots__ = ("found", "match", "now_ms", "time_ms")

    match: PartialMatch
    found: Found | None
    """The events of the match, once they were asked for."""

    def __init__(self, asked: Answers | None) -> None:
        super().__init__(asked)
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


class _Edge:
    """A transition with a condition that can be evaluated."""

    __slots__ = ("goes_on", "holds", "is_proceed", "is_take", "role", "stage", "target")

    def __init__(self, stage: str, transition: Transition, holds: Predicate) -> None:
        self.is_take = transition.action is Action.TAKE
        self.is_proceed = transition.action is Action.PROCEED
        self.stage = stage
        self.target = transition.target.name
        self.role = transition.target.role
        self.holds = holds
        self.goes_on = _goes_on(transition.target)


class Matcher:
    """The automaton of a task; its methods take the matches of a key and change them."""

    def __init__(self, automaton: Automaton, skip: Skip, asked: Answers | None = None) -> None:
        self._skip = skip
        self._start = automaton.start.name
        self._within_ms = automaton.within_ms
        self._gaps_ms = automaton.gaps_ms
        self._roles = {name: state.role for name, state in automaton.states.items()}
        self.context = _Context(asked)
        self._returned: Returned = {}
        known: dict[int, Predicate] = {}
        self._edges: dict[str, list[_Edge]] = {}
        self._goes_on: dict[str, bool] = {}
        self._decided: dict[str, tuple[Predicate, list[_Edge]]] = {}
        """By the name of a state that is left by one condition: that, and the transitions then.

        Other events are ignored.
        """
        self._finals = _finals(automaton)
        for state in automaton.reachable():
            self._edges[state.name] = [
                _Edge(state.stage, each, compile_once(each.condition, known, self._returned))
                for each in state.transitions
            ]
            self._goes_on[state.name] = _goes_on(state)
            decides = _decides(state, state is automaton.start)
            if decides is not None:
                own = zip(state.transitions, self._edges[state.name], strict=True)
                edges = [edge for each, edge in own if edge.is_take or each.condition is ALWAYS]
                holds = compile_once(decides, known, self._returned)
                self._decided[state.name] = holds, edges

    def begin(self) -> Matches:
        """Return the matches of a key without events."""
        not_begun = [PartialMatch(self._start, None, None)]
        return Matches(JavaQueue.of_array(not_begun), JavaQueue.of_array([]))

    def process(
        self, matches: Matches, event: Event, thin: Thin | None = None, most: int = 0
    ) -> list[PartialMatch]:
        """Return the matches that an event completes; time has been advanced to it before.

        ``thin``: is called when there are more than ``most`` partial matches, while they are made.
        """
        self._returned.clear()
        context, value, decided = self.context, event.value, self._decided.get
        context.time_ms = event.timestamp
        kept: list[PartialMatch] = []
        found: list[PartialMatch] = []
        is_unchanged = True
        for match in matches.partial.items:
            context.match, context.found = match, None
            either = decided(match.state)
            if either is None:
                edges = self._edges_of(match.state, value)
            elif either[0](value, context):
                edges = either[1]
            else:
                kept.append(match)
                continue
            if self._step(match, event, edges, kept, found):
                is_unchanged = False
                if thin is not None and len(kept) > most:
                    kept = thin(kept)
        if is_unchanged:
            return []
        partial = matches.partial = JavaQueue(kept)
        given = found
        if found or matches.complete.items:
            given = self._release(matches, partial, found)
        self._note_change(matches)
        return given

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

    def advance(
        self, matches: Matches, now_ms: int
    ) -> tuple[list[PartialMatch], list[PartialMatch]]:
        """Return the matches that are complete as time passes, and those whose time is over."""
        kept: list[PartialMatch] = []
        found: list[PartialMatch] = []
        late: list[PartialMatch] = []
        for match in matches.partial.items:
            over_ms = match.over_ms
            if over_ms is None or over_ms > now_ms:
                kept.append(match)
            elif self._roles[match.state] is Role.PENDING:
                found.append(match)
            else:
                late.append(match)
        partial = matches.partial = JavaQueue(kept)
        given = self._release(matches, partial, found)
        self._note_change(matches)
        return given, late

    def drop(self, matches: Matches, dropped: Iterable[PartialMatch]) -> list[PartialMatch]:
        """Drop partial matches; return the complete matches that no longer wait for one."""
        gone = {id(each) for each in dropped}
        matches.partial.remove_if(lambda each: id(each) in gone)
        given = self._release(matches, matches.partial, [])
        self._note_change(matches)
        return given

    def _note_change(self, matches: Matches) -> None:
        matches.are_changed = True
        if self._within_ms is None and not self._gaps_ms:
            return
        moment_ms = None
        for each in matches.partial.items:
            over_ms = each.over_ms
            if over_ms is not None and (moment_ms is None or over_ms < moment_ms):
                moment_ms = over_ms
        # What would be over after all time is never over.
        matches.moment_ms = None if moment_ms is None or moment_ms > MAX_WATERMARK else moment_ms

    def _release(
        self, matches: Matches, partial: JavaQueue[PartialMatch], found: list[PartialMatch]
    ) -> list[PartialMatch]:
        """Return the complete matches that no earlier partial match holds back."""
        complete, skip = matches.complete, self._skip
        if len(found) < 2 and not complete.items and not skip.is_skip:
            return found
        for match in JavaQueue(found):
            complete.add(match)
        given: list[PartialMatch] = []
        while True:
            earliest = complete.peek()
            if earliest is None:
                break
            if skip.is_skip:
                waiting = partial.peek()
                if waiting is not None and earliest.order > waiting.order:
                    break
            complete.poll()
            given.append(earliest)
            if skip.is_skip:
                last = skip.last_dropped(earliest.numbers())
                for queue in (partial, complete):
                    queue.remove_if(partial_of(_has_begun_by, last))
        return given

    def _step(
        self,
        match: PartialMatch,
        event: Event,
        edges: list[_Edge],
        kept: list[PartialMatch],
        found: list[PartialMatch],
    ) -> bool:
        """Add what becomes of a partial match by an event's ``edges``; return whether it changes.

        What waits for more events is added to ``kept``, what is complete to ``found``.
        """
        last, start = match.last, match.start
        if start is None:
            edges = [edge for edge in edges if edge.is_take]
            if not edges:
                kept.append(match)
                return False
        elif len(edges) == 1 and not edges[0].is_take and edges[0].target == match.state:
            kept.append(match)
            return False
        going_on: list[PartialMatch] = []
        is_stopped = False
        for edge in edges:
            if edge.is_take:
                node, begun = Node(edge.stage, event, last), start or event
                if edge.goes_on:
                    final = self._final_after(edge.target, event.value)
                    if final is not None:
                        found.append(PartialMatch(final, node, begun))
            else:
                assert last is not None
                assert start is not None
                node, begun = last, start
            if edge.role is Role.FINAL:
                found.append(PartialMatch(edge.target, node, begun))
            elif edge.role is Role.STOP:
                is_stopped = True
            else:
                going_on.append(self.waiting(edge.target, node, begun))
        if not is_stopped:
            kept += going_on
        if start is None:
            kept.append(match)
        return True

    def _edges_of(self, state: str, value: Any) -> list[_Edge]:
        """Return the transitions that take or ignore an event, also those of states that follow."""
        context = self.context
        if not self._goes_on[state]:
            return [edge for edge in self._edges[state] if edge.holds(value, context)]
        given: list[_Edge] = []
        waiting = [state]
        while waiting:
            for edge in self._edges[waiting.pop()]:
                if edge.holds(value, context):
                    if edge.is_proceed:
                        waiting.append(edge.target)
                    else:
                        given.append(edge)
        return given

    def _final_after(self, state: str, value: Any) -> str | None:
        """Return the final state to which a match may go on without a further event."""
        if state in self._finals:
            return self._finals[state]
        waiting = [state]
        while waiting:
            for edge in self._edges[waiting.pop()]:
                if edge.is_proceed and edge.holds(value, self.context):
                    if edge.role is Role.FINAL:
                        return edge.target
                    waiting.append(edge.target)
        return None


def _goes_on(state: State) -> bool:
    """Return whether a state has transitions to others without an event."""
    return any(each.action is Action.PROCEED for each in state.transitions)


def _finals(automaton: Automaton) -> dict[str, str | None]:
    """Return by state to which final one a match goes on without an event, whatever came last.

    States are left out where that depends on conditions, or where there are several ways.
    """
    finals: dict[str, str | None] = {}
    for state in automaton.in_order_of_proceed():
        ways = [
            each
            for each in state.transitions
            if each.action is Action.PROCEED
            and (each.target.role is Role.FINAL or finals.get(each.target.name, "") is not None)
        ]
        if not ways:
            finals[state.name] = None
        elif len(ways) == 1 and ways[0].condition is ALWAYS:
            target = ways[0].target
            if target.role is Role.FINAL:
                finals[state.name] = target.name
            elif target.name in finals:
                finals[state.name] = finals[target.name]
    return finals


def _decides(state: State, is_start: bool) -> Condition | None:
    """Return the condition without which a match stays in a state as it is; None: it has none."""
    taken = [each for each in state.transitions if each.action is Action.TAKE]
    others = [each for each in state.transitions if each.action is not Action.TAKE]
    if len(taken) != 1 or _goes_on(state):
        return None
    decides = taken[0].condition
    if is_start:
        return decides
    if len(others) != 1 or others[0].target is not state:
        return None
    ignored = others[0].condition
    is_other = isinstance(ignored, Not) and ignored.condition is decides
    return decides if is_other or ignored is ALWAYS else None
