"""The matches of one key as plain data, for the state."""

from __future__ import annotations

from typing import Any

from headrace.operators.patterns.matcher import Event, Matcher, Matches, Node, PartialMatch
from headrace.operators.patterns.queue_order import JavaQueue
from headrace.runtime.state.time_buffer import TimeBuffer

Stored = tuple[Any, ...]
"""The version, the moment, the nodes, the partial matches, and the complete matches that wait.

``version``: a number for the stages of the pattern. ``moment``: when (ms) the time of the first
partial match is over; None: never.

A node is its stage, the place of its event in the buffer of events, and the place of the node
before (-1: none). A match is its state, and the place of its last node (-1: it has not begun).
"""

VERSION, MOMENT, NODES, PARTIAL, COMPLETE = range(5)

EMPTY = TimeBuffer([], [])


def to_stored(
    matches: Matches, version: int = 0, moment: int | None = None
) -> tuple[Stored, TimeBuffer]:
    """Return matches as data, and the events in them."""
    places: dict[int, int] = {}
    nodes: list[Node] = []
    for match in (*matches.partial, *matches.complete):
        new, node = [], match.last
        while node is not None and id(node) not in places:
            new.append(node)
            node = node.before
        for node in reversed(new):
            places[id(node)] = len(nodes)
            nodes.append(node)
    events = sorted({id(node.event): node.event for node in nodes}.values(), key=_number)
    numbers = {id(event): place for place, event in enumerate(events)}

    def data(match: PartialMatch) -> tuple[str, int]:
        return match.state, -1 if match.last is None else places[id(match.last)]

    stored = (
        version,
        moment,
        tuple(
            (
                node.stage,
                numbers[id(node.event)],
                -1 if node.before is None else places[id(node.before)],
            )
            for node in nodes
        ),
        tuple(data(each) for each in matches.partial),
        tuple(data(each) for each in matches.complete),
    )
    buffer = TimeBuffer([each.timestamp for each in events], [each.value for each in events])
    return stored, buffer


def _number(event: Event) -> int:
    return event.number


def from_stored(stored: Stored, buffer: TimeBuffer, matcher: Matcher) -> Matches:
    """Return matches as they were stored; their events are numbered from 0 on."""
    events = [Event(value, at, number) for number, (at, value) in enumerate(buffer)]
    nodes: list[Node] = []
    starts: list[Event] = []
    for stage, event, before in stored[NODES]:
        nodes.append(Node(stage, events[event], None if before < 0 else nodes[before]))
        starts.append(events[event] if before < 0 else starts[before])

    def match(state: str, node: int) -> PartialMatch:
        if node < 0:
            return PartialMatch(state, None, None)
        return matcher.waiting(state, nodes[node], starts[node])

    partial, complete = (
        JavaQueue.of_array([match(*each) for each in stored[part]]) for part in (PARTIAL, COMPLETE)
    )
    return Matches(partial, complete, len(events))


def count_stored(stored: Stored) -> int:
    """Return how many matches have begun."""
    return sum(node >= 0 for _, node in (*stored[PARTIAL], *stored[COMPLETE]))
