"""Which results leave when: by order, by completion, and never across a watermark."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.operators.asynchronous.element_queue import (
    Call,
    OrderedQueue,
    StreamElementQueue,
    UnorderedQueue,
)
from tests.effort import examples

MARK = "mark"


class Emitted(list[Any]):
    """What left: records by number, watermarks as ``(MARK, number)``."""

    def call(self, call: Call) -> None:
        self.append(call.value)

    def mark(self, number: int) -> None:
        self.append((MARK, number))


def finish(waiting: StreamElementQueue, call: Call) -> None:
    call.done = True
    waiting.complete(call)


def arrival(kinds: list[bool], waiting: StreamElementQueue, emitted: Emitted) -> list[Call]:
    calls = []
    for number, is_mark in enumerate(kinds):
        if is_mark:
            waiting.put_watermark(partial(emitted.mark, number))
        else:
            calls.append(Call(number, None, number))
            waiting.add(calls[-1])
    return calls


def whole(kinds: list[bool]) -> list[Any]:
    return [(MARK, number) if is_mark else number for number, is_mark in enumerate(kinds)]


@settings(max_examples=examples(24))
@given(st.lists(st.booleans(), max_size=12), st.randoms(use_true_random=False))
def test_ordered_results_leave_as_their_records_came(kinds: list[bool], random: Any) -> None:
    emitted = Emitted()
    waiting = OrderedQueue(emitted.call)
    calls = arrival(kinds, waiting, emitted)
    random.shuffle(calls)
    finished: set[int] = set()
    for call in calls:
        finish(waiting, call)
        finished.add(call.value)
        ready = whole(kinds)
        first = next((n for n in ready if not isinstance(n, tuple) and n not in finished), None)
        assert emitted == (ready if first is None else ready[: ready.index(first)])
    assert emitted == whole(kinds) and waiting.count == 0 and waiting.calls() == []


@settings(max_examples=examples(24))
@given(st.lists(st.booleans(), max_size=12), st.randoms(use_true_random=False))
def test_unordered_results_leave_as_they_come_between_their_watermarks(
    kinds: list[bool], random: Any
) -> None:
    emitted = Emitted()
    waiting = UnorderedQueue(emitted.call)
    calls = arrival(kinds, waiting, emitted)
    random.shuffle(calls)
    finished: list[int] = []
    for call in calls:
        finish(waiting, call)
        finished.append(call.value)
        # Every result leaves as soon as all records before the watermark before it are done.
        waits = min((c.value for c in calls if c.value not in finished), default=len(kinds))
        free = next((n for n in range(waits, len(kinds)) if kinds[n]), len(kinds))
        left = [each for each in emitted if not isinstance(each, tuple)]
        assert sorted(left) == sorted(n for n in finished if n < free)
        assert waiting.count == len(calls) - len(left)
    marks = [number for number, is_mark in enumerate(kinds) if is_mark]
    assert [each[1] for each in emitted if isinstance(each, tuple)] == marks
    for number in marks:
        place = emitted.index((MARK, number))
        assert {n for n in emitted[:place] if not isinstance(n, tuple)} == {
            c.value for c in calls if c.value < number
        }
    assert waiting.calls() == []


def test_unordered_results_of_one_stretch_leave_in_the_order_of_completion() -> None:
    emitted = Emitted()
    waiting = UnorderedQueue(emitted.call)
    calls = arrival([False] * 3, waiting, emitted)
    for number in (2, 0, 1):
        finish(waiting, calls[number])
    assert emitted == [2, 0, 1]


@pytest.mark.parametrize("kind", [OrderedQueue, UnorderedQueue])
def test_a_watermark_passes_at_once_where_nothing_waits(kind: type[StreamElementQueue]) -> None:
    emitted = Emitted()
    waiting = kind(emitted.call)
    waiting.put_watermark(partial(emitted.mark, 1))
    (call,) = arrival([False], waiting, emitted)
    finish(waiting, call)
    waiting.put_watermark(partial(emitted.mark, 2))
    assert emitted == [(MARK, 1), 0, (MARK, 2)]


@pytest.mark.parametrize("kind", [OrderedQueue, UnorderedQueue])
def test_what_fails_while_it_is_emitted_leaves_the_watermark_after_it(
    kind: type[StreamElementQueue],
) -> None:
    def fail(call: Call) -> None:
        raise OSError("down")

    waiting = kind(fail)
    assert waiting.is_empty
    (call,) = arrival([False, True], waiting, Emitted())
    with pytest.raises(OSError, match="down"):
        finish(waiting, call)
    assert waiting.count == 0 and not waiting.is_empty
