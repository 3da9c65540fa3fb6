"""Patterns that change under the operator: what holds when, what is dropped, what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace.cep import (
    CEP,
    DynamicPatternStream,
    Overflow,
    PatternProcessFunction,
    PatternRegistry,
    TimedOutPartialMatchHandler,
)
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.errors import CheckpointError, JobError, PlanError
from headrace.operators.patterns.dynamic import PATTERNS, DynamicPatternsOperator
from headrace.operators.patterns.key_matches import KeyMatches
from headrace.testing import KeyedHarness

LATE, OVER, INVALID = OutputTag("late"), OutputTag("over"), OutputTag("invalid")
Event = tuple[str, str]
"""A key and a word."""

BACKENDS = pytest.mark.parametrize("backend", ["heap", "paged"])


def registry() -> PatternRegistry:
    made = PatternRegistry()
    made.condition("is", lambda event, word: event[1] == word, word=str)
    return made


def sequence(pattern_id: str, words: str, **more: Any) -> dict[str, Any]:
    """A pattern of words, one after another."""
    stages = [
        {"name": f"{number}", "where": {"condition": "is", "values": {"word": word}}}
        for number, word in enumerate(words.split())
    ]
    within = {"within_ms": more.pop("within_ms")} if "within_ms" in more else {}
    stages[-1].update(within)  # type: ignore[arg-type]
    return {"id": pattern_id, "stages": stages, **more}


REMOVE = {"id": "p", "remove": True}


class Found(PatternProcessFunction, TimedOutPartialMatchHandler):
    """Gives the pattern, its version, the time, and the words of a match."""

    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield described(match, ctx)

    def process_timed_out_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        yield OVER, described(match, ctx)


def described(match: Any, ctx: Any) -> Any:
    words = " ".join(word for events in match.values() for _, word in events)
    return ctx.pattern_id(), ctx.pattern().get("version"), ctx.timestamp(), words


def stream(
    conditions: PatternRegistry | None = None, comparator: Any = None, by_clock: bool = False
) -> Any:
    env = StreamExecutionEnvironment.get_execution_environment()
    events = env.from_collection([("k", "a")]).key_by(lambda event: event[0])
    patterns = env.from_collection([REMOVE])
    found = CEP.dynamic_patterns(events, patterns, conditions or registry(), comparator)
    found = found.side_output_invalid_patterns(INVALID)
    return found.in_processing_time() if by_clock else found.side_output_late_data(LATE)


def spec(found: DynamicPatternStream) -> Any:
    return found.process(Found())._edges[0].source.spec


def harness(found: Any = None, backend: Any = "heap") -> KeyedHarness:
    return KeyedHarness(spec(found or stream()), (lambda event: event[0], None), backend=backend)


def feed(task: KeyedHarness, words: str, key: str = "k") -> None:
    """Events such as ``a@5``, and watermarks such as ``|7``."""
    for each in words.split():
        if each.startswith("|"):
            task.advance_watermark(int(each[1:]))
        else:
            word, _, at = each.partition("@")
            task.process((key, word), int(at))


def metric(task: KeyedHarness, name: str) -> int:
    return sum(value for key, value in task.metrics.snapshot().items() if name in key)


@BACKENDS
def test_in_event_time_a_change_holds_from_its_own_time_on(backend: Any) -> None:
    with harness(backend=backend) as task:
        feed(task, "a@1 b@2 a@10 b@11 a@12 b@13")
        task.process(sequence("p", "a b", version=1), 10, input=1)
        task.process(sequence("p", "b a", version=2), 12, input=1)
        feed(task, "a@20 b@21 |30")
        assert task.output() == [("p", 1, 11, "a b"), ("p", 2, 20, "b a")]
        task.process(REMOVE, 40, input=1)
        feed(task, "b@38 a@39 b@40 a@41 |50")
        assert task.output()[2:] == [("p", 2, 39, "b a")] * 2  # of b@21 and of b@38


@BACKENDS
def test_the_order_in_which_changes_and_events_are_read_changes_nothing(backend: Any) -> None:
    changes = [
        (sequence("p", "a b", version=1), 5),
        (sequence("q", "b a", within_ms=4), 8),
        (sequence("p", "a a b", version=2), 12),
        ({"id": "q", "remove": True}, 20),
    ]
    words = "a@4 b@5 a@6 b@7 a@8 b@9 a@12 a@13 b@14 b@18 a@21 a@25 b@26"

    def changed_first(task: KeyedHarness) -> None:
        for data, at in changes:
            task.process(data, at, input=1)
        feed(task, words)

    def events_first(task: KeyedHarness) -> None:
        feed(task, words)
        for data, at in reversed(changes):
            task.process(data, at, input=1)

    def by_time(task: KeyedHarness) -> None:
        for now in range(30):
            for data, at in changes:
                if at == now:
                    task.process(data, at, input=1)
            feed(task, " ".join(each for each in words.split() if each.endswith(f"@{now}")))
            task.advance_watermark(now)

    answers = []
    for order in (changed_first, events_first, by_time):
        with harness(backend=backend) as task:
            order(task)
            task.advance_watermark(99)
            dropped = metric(task, "numPartialMatchesDropped")
            answers.append((task.output(), task.side_output(OVER), dropped))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0] == (
        [
            ("p", 1, 7, "a b"),
            ("p", 1, 9, "a b"),
            ("q", None, 12, "b a"),
            ("p", 2, 14, "a a b"),
            ("p", 2, 26, "a a b"),
            ("p", 2, 26, "a a b"),
        ],
        [("q", None, 18, "b")],
        1,
    )


@BACKENDS
def test_partial_matches_of_a_pattern_that_ended_are_dropped_and_counted(backend: Any) -> None:
    with harness(backend=backend) as task:
        task.process(sequence("p", "a b c", version=1, within_ms=100), 1, input=1)
        task.process(sequence("q", "a c"), 1, input=1)
        feed(task, "a@5 b@6 |7")
        feed(task, "a@9 |10", key="other")
        assert metric(task, "numPartialMatchesDropped") == 0
        task.process(REMOVE, 20, input=1)
        feed(task, "|30")
        assert {*task.keys()} == {"k", "other"}
        feed(task, "c@31 |40")  # touches one of the two keys
        assert task.output() == [("q", None, 31, "a c")]
        assert metric(task, "numPartialMatchesDropped") == 1
        feed(task, "|200")  # the timer of the other one
        assert metric(task, "numPartialMatchesDropped") == 2
        assert task.side_output(OVER) == []


@BACKENDS
def test_a_key_with_matches_of_a_removed_pattern_only_keeps_nothing(backend: Any) -> None:
    with harness(backend=backend) as task:
        task.process(sequence("p", "a b", within_ms=50), 1, input=1)
        feed(task, "a@5 |7")
        assert task.keys() == ["k"] and len(task.timers()) == 1
        task.process(REMOVE, 20, input=1)
        feed(task, "|60")
        assert (task.keys(), task.timers()) == ([], [])
        assert metric(task, "numPartialMatchesDropped") == 1
        assert task.side_output(OVER) == []


def test_time_that_is_over_before_the_change_times_out() -> None:
    with harness() as task:
        task.process(sequence("p", "a b", within_ms=10), 1, input=1)
        feed(task, "a@5 a@9 a@10")
        task.process(REMOVE, 19, input=1)
        feed(task, "|50")
        assert task.side_output(OVER) == [("p", None, 15, "a")]
        assert metric(task, "numPartialMatchesDropped") == 2


@BACKENDS
def test_the_same_data_again_change_nothing(backend: Any) -> None:
    with harness(backend=backend) as task:
        task.process(sequence("p", "a b"), 1, input=1)
        feed(task, "a@5 |6")
        again = dict(reversed(sequence("p", "a b").items()))
        task.process(again, 10, input=1)
        feed(task, "b@12 |20")
        assert task.output() == [("p", None, 12, "a b")]
        assert metric(task, "numPartialMatchesDropped") == 0
        feed(task, "a@21 |22")
        task.process(sequence("p", "a b", version=2), 23, input=1)
        feed(task, "b@24 |30")
        assert len(task.output()) == 1
        assert metric(task, "numPartialMatchesDropped") == 1


@BACKENDS
def test_an_end_that_is_taken_back(backend: Any) -> None:
    with harness(backend=backend) as task:
        task.process(sequence("p", "a b"), 1, input=1)
        task.process({"id": "p", "remove": True}, 40, input=1)
        feed(task, "a@5 |6")
        assert [timer.time_ms for timer in task.timers()] == [40]
        task.process(sequence("p", "a b"), 40, input=1)
        feed(task, "|50")
        assert task.timers() == []
        feed(task, "b@51 |60")
        assert task.output() == [("p", None, 51, "a b")]


@BACKENDS
def test_a_pattern_that_comes_back_does_not_find_its_old_matches(backend: Any) -> None:
    with harness(backend=backend) as task:
        task.process(sequence("p", "a b"), 1, input=1)
        feed(task, "a@5 |6")
        task.process(REMOVE, 10, input=1)
        feed(task, "|20")
        task.process({"id": "other", "remove": True}, 21, input=1)
        assert [*task.broadcast_state(PATTERNS)] == ["other"]
        task.process(sequence("p", "a b"), 30, input=1)
        feed(task, "b@31 |40")
        assert task.output() == []
        assert metric(task, "numPartialMatchesDropped") == 1


def test_the_state_keeps_what_events_may_still_ask_for() -> None:
    with harness() as task:
        for version in range(5):
            task.process(sequence("p", "a", version=version), 10 * version, input=1)
        assert len(task.broadcast_state(PATTERNS)["p"]) == 5
        feed(task, "|25")
        task.process(sequence("q", "a"), 26, input=1)
        kept = task.broadcast_state(PATTERNS)
        assert [from_ms for _, from_ms, _ in kept["p"]] == [20, 30, 40]
        feed(task, "a@26 a@30 |99")
        assert [found[:3] for found in task.output()] == [
            ("p", 2, 26),
            ("q", None, 26),
            ("p", 3, 30),
            ("q", None, 30),
        ]


@BACKENDS
def test_it_goes_on_from_a_snapshot(backend: Any) -> None:
    with harness(backend=backend) as task, harness(backend=backend) as other:
        task.process(sequence("p", "a b c"), 1, input=1)
        task.process(sequence("q", "b c", within_ms=50), 1, input=1)
        feed(task, "a@5 b@6 |7 c@9")
        task.process({"id": "q", "remove": True}, 9, input=1)
        other.restore(task.snapshot())
        other.process(sequence("r", "c", version="new"), 9, input=1)
        feed(other, "|20")
        assert other.output() == [("p", None, 9, "a b c"), ("r", "new", 9, "c")]
        assert metric(other, "numPartialMatchesDropped") == 1


def test_a_pattern_in_state_of_which_the_program_has_no_condition() -> None:
    fewer = PatternRegistry()
    fewer.condition("was", lambda event, word: event[1] == word)
    with harness() as task, harness(stream(fewer)) as other:
        task.process(sequence("p", "a b"), 1, input=1)
        feed(task, "a@5 |6")
        other.restore(task.snapshot())
        with pytest.raises(CheckpointError, match=r"pattern 'p'.*there is no condition 'is'"):
            feed(other, "a@7 |8")


@BACKENDS
def test_data_that_are_no_pattern_go_to_a_side_output(backend: Any) -> None:
    deep = '{"id": "p", "stages": ' + "[" * 100_000
    bad = [{"id": "p", "stages": []}, {"id": "p"}, None, deep, sequence("p", "a", skip=1)]
    with harness(backend=backend) as task:
        task.process(sequence("p", "a"), 1, input=1)
        for each in bad:
            task.process(each, 2, input=1)
        feed(task, "a@3 |5")
        assert task.output() == [("p", None, 3, "a")]
        assert [data for data, _ in task.side_output(INVALID)] == bad
        reasons = [reason for _, reason in task.side_output(INVALID)]
        assert reasons[0].startswith("pattern 'p': 'stages' is a list of one or more stages")
        assert all(isinstance(reason, str) and reason for reason in reasons)
        assert metric(task, "numInvalidPatterns") == len(bad)


class Unreadable(dict[str, Any]):
    def items(self) -> Any:
        raise KeyError("id")

    def __reduce__(self) -> Any:
        return type(self), ([("id", "p")],)


class Unprintable:
    def __repr__(self) -> str:
        raise AttributeError("name")


class Textless(Exception):
    def __str__(self) -> str:
        raise LookupError


class Textlessly(Unreadable):
    def items(self) -> Any:
        raise Textless


def test_objects_whose_methods_raise_go_there_too() -> None:
    bad: list[Any] = [Unreadable(id="p"), Unprintable(), Textlessly(id="p")]
    with harness() as task:
        for each in bad:
            task.process(each, 2, input=1)
        reasons = ["KeyError: 'id'", "AttributeError: name", "Textless"]
        given = [(type(data), reason) for data, reason in task.side_output(INVALID)]
        assert given == [*zip(map(type, bad), reasons, strict=True)]
        assert metric(task, "numInvalidPatterns") == len(bad)


def test_a_pattern_that_is_probably_not_meant_is_warned_of() -> None:
    loop = sequence("p", "a b")
    loop["stages"][0]["one_or_more"] = True
    warning = pytest.warns(UserWarning, match="pattern 'p': stage '0' loops, and its partial")
    with harness() as task, warning:
        task.process(loop, 1, input=1)


@BACKENDS
def test_no_time_passes_between_events_of_one_time(
    backend: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two patterns, one waits for an event that must not come, as in Flink."""
    passed: list[int] = []
    pass_time = DynamicPatternsOperator._pass_time

    def noted(self: Any, matches: KeyMatches, now_ms: int) -> None:
        passed.append(now_ms)
        pass_time(self, matches, now_ms)

    monkeypatch.setattr(DynamicPatternsOperator, "_pass_time", noted)
    silence = sequence("p", "a b", within_ms=5)
    silence["stages"][1]["follows"] = "not_followed_by"
    with harness(backend=backend) as task:
        task.process(silence, 1, input=1)
        task.process(sequence("q", "a c", within_ms=3), 1, input=1)
        feed(task, "a@5 |6 c@8 a@8 c@8 b@10 c@10 b@13 |20")
        over = [(found[0], found[2]) for found in task.side_output(OVER)]
        assert over == [("q", 8)]
        assert [(found[0], *found[2:]) for found in task.output()] == [
            ("q", 8, "a c"),
            ("p", 10, "a"),
        ]
        assert passed == [6, 8, 10]


def test_the_next_moment_of_a_key_is_not_looked_for_at_each_event(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    moment_of = KeyMatches.moment_of

    def counted(self: KeyMatches, number: int) -> int | None:
        looked.append(number)
        return moment_of(self, number)

    monkeypatch.setattr(KeyMatches, "moment_of", counted)
    with harness() as task:
        for number in range(10):
            task.process(sequence(f"{number}", "a b", within_ms=1_000), 1, input=1)
        feed(task, "a@2 " + " ".join(f"x@{at}" for at in range(3, 103)) + " |200")
    assert len(looked) < 10 * 10


def test_late_events_go_to_their_side_output() -> None:
    with harness() as task:
        task.process(sequence("p", "a"), 1, input=1)
        feed(task, "|10 a@10 a@11 |12")
        assert task.side_output(LATE) == [("k", "a")]
        assert task.output() == [("p", None, 11, "a")]


def test_a_late_change_holds_for_what_is_not_taken_yet() -> None:
    with harness() as task:
        task.process(sequence("p", "a b"), 1, input=1)
        feed(task, "a@5 |6 b@8 a@9 b@10")
        task.process(sequence("p", "b a"), 3, input=1)
        feed(task, "|20")
        assert task.output() == [("p", None, 9, "b a")]
        assert metric(task, "numPartialMatchesDropped") == 1


def test_a_change_without_a_timestamp_holds_at_once() -> None:
    with harness() as task:
        feed(task, "a@5 |6 a@7 b@8")
        task.process(sequence("p", "a b"), None, input=1)
        feed(task, "|20")
        task.process(REMOVE, None, input=1)
        feed(task, "a@21 b@22 |30")
        assert task.output() == [("p", None, 8, "a b")]


@BACKENDS
def test_in_processing_time_a_change_holds_at_once(backend: Any) -> None:
    with harness(stream(by_clock=True), backend) as task:
        task.advance_processing_time(10)
        task.process(("k", "a"))
        task.process(sequence("p", "a b", version=1), 99, input=1)
        task.process(("k", "b"))
        task.process(("k", "a"))
        task.process(sequence("p", "b b", version=2, within_ms=5), input=1)
        task.process(("k", "b"))
        assert metric(task, "numPartialMatchesDropped") == 1
        task.process(("k", "b"))
        task.advance_processing_time(30)
        assert [found[:2] for found in task.output()] == [("p", 2)]
        assert [found[2:] for found in task.side_output(OVER)] == [(15, "b")]


def test_in_processing_time_sorted_events_are_matched_with_what_holds_when_they_are_taken() -> None:
    found = stream(None, lambda a, b: (a[1] > b[1]) - (a[1] < b[1]), by_clock=True)
    with harness(found) as task:
        task.process(("k", "b"))
        task.process(("k", "a"))
        task.process(sequence("p", "a b"), input=1)
        task.advance_processing_time(1)
        assert [each[3] for each in task.output()] == ["a b"]


def test_the_limit_is_for_each_key_and_pattern() -> None:
    limited = stream().limit_partial_matches(2, Overflow.DROP_OLDEST)
    with harness(limited) as task:
        task.process(sequence("p", "a b"), 1, input=1)
        task.process(sequence("q", "a b", version=2), 1, input=1)
        feed(task, "a@2 a@3 a@4 |5")
        assert metric(task, "numPartialMatchesDropped") == 2
        feed(task, "b@6 |7")
        assert len(task.output()) == 4
    with harness(stream().limit_partial_matches(2)) as task:
        task.process(sequence("q", "a b"), 1, input=1)
        feed(task, "a@2 a@3 a@4")
        with pytest.raises(JobError, match=r"(?s)3 partial matches, more than.*'q'"):
            feed(task, "|5")


def test_a_batch_gives_what_a_stream_gives() -> None:
    with KeyedHarness(spec(stream()), (lambda event: event[0], None), batch=True) as task:
        task.process(sequence("p", "a b", version=1), 10, input=1)
        task.process(sequence("p", "b a", version=2), 12, input=1)
        feed(task, "a@1 b@2 a@10 b@11 a@12 b@13 a@20")
        task.end_input()
        assert task.output() == [("p", 1, 11, "a b"), ("p", 2, 20, "b a")]


@BACKENDS
def test_keys_do_not_share_what_has_begun(backend: Any) -> None:
    with harness(backend=backend) as task:
        task.process(sequence("p", "a b"), 1, input=1)
        task.process(sequence("q", "a"), 1, input=1)
        for word, at, key in (("a", 2, "k"), ("b", 3, "m"), ("a", 4, "l"), ("b", 5, "m")):
            feed(task, f"{word}@{at}", key)
        feed(task, "|9")  # takes the events of all keys
        for at, key in ((10, "l"), (12, "k"), (14, "m")):
            feed(task, f"b@{at}", key)
        feed(task, "|19")
        found = [(pattern_id, at) for pattern_id, _, at, _ in task.output()]
        assert found == [("q", 2), ("q", 4), ("p", 10), ("p", 12)]
        assert task.keys() == []


class FailsOnce(Found):
    def __init__(self) -> None:
        self.has_failed = False

    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        if not self.has_failed:
            self.has_failed = True
            raise ValueError("once")
        return [described(match, ctx)]


def test_a_match_that_fails_leaves_nothing_in_the_task() -> None:
    of_loop: Any = stream().process(FailsOnce())
    loop = sequence("p", "a")
    loop["stages"][0]["one_or_more"] = True
    with KeyedHarness(of_loop._edges[0].source.spec, (lambda event: event[0], None)) as task:
        task.process(loop, 1, input=1)
        before = task.snapshot()
        with pytest.raises(ValueError, match="once"):
            feed(task, "a@2 |3")
        task.restore(before)
        feed(task, "a@2 |3", key="other")
        assert task.output() == [("p", None, 2, "a")]


def test_select_gives_the_matches_of_all_patterns() -> None:
    selected: Any = stream().select(lambda match: sorted(match))
    with KeyedHarness(selected._edges[0].source.spec, (lambda event: event[0], None)) as task:
        task.process(sequence("p", "a b"), 1, input=1)
        task.process(sequence("q", "b"), 1, input=1)
        feed(task, "a@2 b@3 |4")
        assert task.output() == [["0", "1"], ["0"]]


def test_what_is_given_is_checked() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    events: Any = env.from_collection([("k", "a")])
    with pytest.raises(PlanError, match="expected a PatternRegistry"):
        CEP.dynamic_patterns(events, events, {})  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="takes a stream"):
        CEP.dynamic_patterns(events, [REMOVE], registry())  # type: ignore[arg-type]
    keyed = events.key_by(lambda event: event[0])
    with pytest.raises(PlanError, match=r"(?s)patterns without keys.*before key_by\(\)"):
        CEP.dynamic_patterns(keyed, keyed, registry())
