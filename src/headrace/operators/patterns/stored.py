"""The matches of one key as plain data, for the state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.operators.patterns.matcher import Event, Matcher, Matches, Node, PartialMatch
from headrace.operators.patterns.queue_order import JavaQueue
from headrace.runtime.state.time_buffer import TimeBuffer

Stored = tuple[Any, ...]
"""The version, the moment, and the shape.

``version``: a number for the stages of the pattern. ``moment``: when (ms) the time of the first
partial match is over; None: never. ``shape``: the nodes, the partial matches, and the complete
matches that wait. It has the places of events, not the events, so many keys have equal shapes.

A node is its stage, the place of its event in the buffer of events, and the place of the node
before (-1: none). A match is its state, and the place of its last node (-1: it has not begun).
"""

VERSION, MOMENT, SHAPE = range(3)

Shapes = dict[Any, Any]
"""Shapes by themselves: equal ones are one object, so a key takes a quarter less memory."""

_SMALL_NODES, _MOST_SHAPES = 4, 1_000

EMPTY = TimeBuffer([], [])


def to_stored(
    matches: Matches, version: int = 0, shapes: Shapes | None = None
) -> tuple[Stored, TimeBuffer]:
    """Return matches as data, and the events in them."""
    (stored,), buffer = to_stored_together([(matches, version)], shapes)
    return stored, buffer


def to_stored_together(
    several: Sequence[tuple[Matches, int]], shapes: Shapes | None = None
) -> tuple[tuple[Stored, ...], TimeBuffer]:
    """Return the matches of several patterns as data, and the events in any of them.

    ``several``: the matches of each pattern, which share the objects of events, with its version.
    """
    events: list[Event] = []
    nodes = [_place_nodes(matches, events) for matches, _ in several]
    events.sort(key=_number)
    for place, event in enumerate(events):
        event.place = place
    stored = tuple(
        [
            (version, matches.moment_ms, _shape(matches, own, shapes))
            for (matches, version), own in zip(several, nodes, strict=True)
        ]
    )
    buffer = TimeBuffer([each.timestamp for each in events], [each.value for each in events])
    for own in nodes:
        for node in own:
            node.place = node.event.place = -1
    return stored, buffer


def _place_nodes(matches: Matches, events: list[Event]) -> list[Node]:
    """Return the nodes of matches, and give them their places; add their events to ``events``."""
    nodes: list[Node] = []
    partial, complete = matches.partial.items, matches.complete.items
    for match in (*partial, *complete) if complete else partial:
        new, node = [], match.last
        while node is not None and node.place < 0:
            new.append(node)
            node = node.before
        for node in reversed(new):
            node.place = len(nodes)
            nodes.append(node)
            event = node.event
            if event.place < 0:
                event.place = 0
                events.append(event)
    return nodes


def _shape(matches: Matches, nodes: list[Node], shapes: Shapes | None) -> Any:
    """Return what is stored of matches without their events; nodes and events have places."""
    partial, complete = matches.partial.items, matches.complete.items
    shape = (
        tuple(
            [
                (each.stage, each.event.place, -1 if each.before is None else each.before.place)
                for each in nodes
            ]
        ),
        tuple([(each.state, -1 if each.last is None else each.last.place) for each in partial]),
        tuple([(each.state, -1 if each.last is None else each.last.place) for each in complete]),
    )
    if shapes is not None and len(nodes) <= _SMALL_NODES:
        if len(shapes) >= _MOST_SHAPES:
            shapes.clear()
        shape = shapes.setdefault(shape, shape)
    return shape


def _number(event: Event) -> int:
    return event.number


def from_stored(stored: Stored, buffer: TimeBuffer, matcher: Matcher) -> Matches:
    """Return matches as they were stored; their events are numbered from 0 on."""
    return with_events(stored, to_events(buffer), matcher)


def to_events(buffer: TimeBuffer) -> list[Event]:
    """Return the events of matches, which are numbered from 0 on."""
    return [Event(value, at, number) for number, (at, value) in enumerate(buffer)]


def with_events(stored: Stored, events: Sequence[Event], matcher: Matcher) -> Matches:
    """Return the matches of one pattern as they were stored, with the events in them."""
    stored_nodes, stored_partial, stored_complete = stored[SHAPE]
    nodes: list[Node] = []
    starts: list[Event] = []
    for stage, event, before in stored_nodes:
        nodes.append(Node(stage, events[event], None if before < 0 else nodes[before]))
        starts.append(events[event] if before < 0 else starts[before])

    def match(state: str, node: int) -> PartialMatch:
        if node < 0:
            return PartialMatch(state, None, None)
        return matcher.waiting(state, nodes[node], starts[node])

    partial, complete = (
        JavaQueue.of_array([match(*each) for each in part])
        for part in (stored_partial, stored_complete)
    )
    matches = Matches(partial, complete, len(events))
    matches.moment_ms = stored[MOMENT]
    return matches


def count_stored(stored: Stored) -> int:
    """Return how many matches have begun."""
    _, partial, complete = stored[SHAPE]
    return sum(node >= 0 for _, node in (*partial, *complete))
