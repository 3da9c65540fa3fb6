"""What an enumerator must not answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.connector import Progress, SplitEnumerator, SplitRange
from headrace.errors import JobError
from headrace.runtime.coordination.alignment import WatermarkAlignment
from headrace.runtime.coordination.coordinator import Coordinator
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.job_time import JobTime
from headrace.runtime.program import SourceProgram
from tests.unit.runtime.programs import chain_of, job_of, node


@dataclass
class Answers(SplitEnumerator):
    """Gives what a test says, one answer after the other."""

    given: list[Any]
    beginning: Any = field(default_factory=lambda: {"a": 0})
    planned: Sequence[Any] = ()
    asked: list[Any] = field(default_factory=list)

    def initial(self, now_ms: int) -> Any:
        return self.beginning

    def advance(self, positions: Any, *others: Any) -> Any:
        self.asked.append(dict(positions))
        answer = self.given.pop(0)
        return answer(positions) if callable(answer) else answer

    def ranges(self, start: Any, end: Any, finished: Any) -> Any:
        self.asked.append((start, end, finished))
        return self.planned


class Paused(WatermarkAlignment):
    def find_paused_splits(self, offset: Offset) -> dict[Any, frozenset[str]]:
        return {0: frozenset(offset.source(0).positions)}


def coordinator(answers: Answers, paused: bool = False) -> Coordinator:
    source = SourceProgram(0, "orders", "uid-1", None, None, chain_of(node(1, None)), 1)
    pauses = Paused((), lambda epoch: {}) if paused else None
    return Coordinator(job_of([source]), {0: answers}, lambda epoch: {}, pauses)


def run(answers: Answers, paused: bool = False) -> Offset:
    made = coordinator(answers, paused)
    offset = made.initial(0)
    while answers.given:
        offset = made.latest(offset, JobTime(0, 0))
    return offset


ONE = Progress({"a": 1})
CASES: dict[str, tuple[list[Any], str]] = {
    "no progress": ([{"a": 1}], r"advance\(\) must return a Progress"),
    "not JSON": ([Progress({"a": object()})], "a position is no JSON"),
    "a set": ([Progress({"a": {1}})], "a position is no JSON"),
    "not a number": ([Progress({"a": float("nan")})], "a position is no JSON"),
    "an end that is no JSON": ([Progress({}, {"a": b"x"})], "a position is no JSON"),
    "no name": ([Progress({1: 1})], "a split is named by a text"),  # type: ignore[dict-item]
    "no mapping": ([Progress(["a"])], "must be a mapping"),  # type: ignore[arg-type]
    "a text": ([Progress({}, "a")], "must be a mapping or a set"),  # type: ignore[arg-type]
    "vanished at once": ([Progress({})], "a split vanished"),
    "vanished": ([ONE, Progress({})], "a split vanished"),
    "started, not named": ([Progress({"a": 1}, started={"b": 0})], "a split vanished"),
    "both": ([Progress({"a": 1}, {"a": 1})], "cannot be finished and go on"),
    "finished twice": (
        [Progress({}, {"a": 1}), Progress({}, {"a": 1})],
        "a finished split must not be named again",
    ),
    "back again": (
        [Progress({}, {"a": 1}), Progress({"a": 1}, started={"a": 1})],
        "a finished split must not be named again",
    ),
    "no first position": ([ONE, Progress({"a": 1, "b": 1})], "a new split has no first position"),
    "finished, no first position": (
        [ONE, Progress({"a": 1}, {"b": 1})],
        "a new split has no first position",
    ),
    "started twice": ([ONE, Progress({"a": 2}, started={"a": 0})], "has started already"),
    "ended too early": ([Progress({"a": 1}, ended=True)], "has no splits that go on"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_broken_rule_is_an_error_that_names_source_and_rule(case: str) -> None:
    given, rule = CASES[case]
    with pytest.raises(JobError, match=rule) as caught:
        run(Answers([*given]))
    assert caught.value.where["source"] == "orders (uid=uid-1)"


@pytest.mark.parametrize("answer", [Progress({"a": 2}), Progress({}, {"a": 1})])
def test_a_paused_split_keeps_its_position(answer: Progress) -> None:
    answers = Answers([ONE, answer])
    with pytest.raises(JobError, match="a paused split must keep its position"):
        run(answers, paused=True)


def test_the_beginning_is_checked_too() -> None:
    with pytest.raises(JobError, match=r"initial\(\): a position is no JSON"):
        run(Answers([ONE], beginning={"a": object()}))


@pytest.mark.parametrize(
    ("planned", "rule"),
    [([SplitRange("z", 0, 1)], "reads a split that was not named"), (["a"], "SplitRanges")],
)
def test_ranges_are_of_splits_that_were_named(planned: Any, rule: str) -> None:
    made = coordinator(Answers([ONE], planned=planned))
    start = made.initial(0)
    with pytest.raises(JobError, match=rule):
        made.plan(start, made.latest(start, JobTime(0, 0)))


def test_ranges_get_both_ends_of_every_split() -> None:
    progress = Progress({"b": 8}, {"a": 4}, started={"b": 6})
    answers = Answers([progress], beginning={"a": 3})
    made = coordinator(answers)
    start = made.initial(0)
    made.plan(start, made.latest(start, JobTime(0, 0)))
    assert answers.asked[-1] == ({"a": 3, "b": 6}, {"b": 8, "a": 4}, frozenset({"a"}))


def test_an_end_that_is_not_known_is_left_to_the_enumerator() -> None:
    answers = Answers([Progress({}, frozenset({"a"}), ended=True)], beginning={"a": 3})
    made = coordinator(answers)
    start = made.initial(0)
    end = made.latest(start, JobTime(0, 0))
    made.plan(start, end)
    assert answers.asked[-1] == ({"a": 3}, {}, frozenset({"a"}))
    assert made.has_ended(end)


def test_tuples_come_back_as_lists_everywhere() -> None:
    same: Callable[[Any], Progress] = lambda positions: Progress({"a": (1, 2)})  # noqa: E731
    answers = Answers([same, same], beginning={"a": (0, 2)})
    offset = run(answers)
    assert offset.source(0).positions == {"a": [1, 2]}
    assert offset.source(0).started == {"a": [0, 2]}
    assert offset.epoch == 1


def test_a_position_that_is_changed_in_place_is_progress() -> None:
    def moved(positions: Any) -> Progress:
        positions["a"][0] += 1
        return Progress(positions)

    offset = run(Answers([moved, moved], beginning={"a": [0]}))
    assert (offset.epoch, offset.source(0).positions) == (2, {"a": [2]})
