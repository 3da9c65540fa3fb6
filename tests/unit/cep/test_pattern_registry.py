"""Patterns as data: what they become, and what is refused with which words."""

from __future__ import annotations

import json
from typing import Any, Literal, Optional

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.cep import (
    AfterMatchSkipStrategy,
    IterativeCondition,
    MalformedPatternError,
    Pattern,
    PatternRegistry,
    SimpleCondition,
    WithinType,
    pattern_from,
)
from headrace.common.types import Row
from headrace.errors import PlanError, WrongFunctionError
from headrace.operators.patterns.compiler import compile_stages
from headrace.operators.patterns.matcher import Event, Matcher
from headrace.operators.patterns.skips import NO_SKIP
from headrace.operators.patterns.stages import describe
from tests.effort import examples


class Rising(IterativeCondition):
    def filter(self, value: Any, ctx: Any, stage: str = "up") -> bool:
        taken = ctx.get_events_for_pattern(stage)
        return not taken or value > taken[-1]


class Between(SimpleCondition):
    def filter(self, value: Any, low: int = 0, high: int = 9) -> bool:
        return low <= value <= high


def positional(event: Any, limit: int, /) -> bool:
    return bool(event > limit)


def registry() -> PatternRegistry:
    made = PatternRegistry()
    made.condition("above", lambda event, limit: event > limit, limit=float)
    made.condition("below", lambda event, limit=5: event < limit)
    made.condition("one of", lambda event, names: event in names, names=(list, str))
    made.condition("early", lambda event, ctx, ms: ctx.timestamp() < ms, ms=int)
    made.condition("any way", lambda event, **how: bool(how))
    made.condition("rising", Rising())
    made.condition("between", Between())
    return made


ABOVE = {"condition": "above", "values": {"limit": 3}}
BELOW = {"condition": "below"}


LOOPS_IN_LOOPS: Any = [{"name": "a"}]
"""Each of these ten groups is compiled twice: 15 of them would take minutes."""

for _ in range(10):
    LOOPS_IN_LOOPS = [{"group": LOOPS_IN_LOOPS, "one_or_more": True}]


def holds(condition: Any, event: Any, context: Any = None) -> bool:
    """Whether a stage with a condition takes an event."""
    stages = [{"name": "a", "where": condition}]
    pattern = pattern_from({"id": "p", "stages": stages}, registry())
    (stage,) = pattern._stages()
    return stage.takes.compile()(event, context)


class Context:
    def __init__(self, **events: Any) -> None:
        self.events = events

    def get_events_for_pattern(self, name: str) -> Any:
        return self.events.get(name, [])

    def timestamp(self) -> int:
        return 100


@pytest.mark.parametrize(
    ("condition", "taken", "left"),
    [
        (ABOVE, 4, 3),
        (BELOW, 4, 5),
        ({"condition": "below", "values": {"limit": 3}}, 2, 3),
        ({"condition": "one of", "values": {"names": [1, 2]}}, 2, 3),
        ({"condition": "between", "values": {"high": 4}}, 4, 5),
        ({"not": ABOVE}, 3, 4),
        ({"and": [ABOVE, BELOW, {"not": {"condition": "between", "values": {"low": 4}}}]}, 3.5, 4),
        ({"or": [ABOVE, {"condition": "below", "values": {"limit": 1}}]}, 0, 2),
        ({"condition": "rising"}, 4, 3),
        ({"condition": "rising", "values": {"stage": "a"}}, 9, 8),
    ],
)
def test_a_condition_is_that_of_its_name_with_its_values(
    condition: Any, taken: Any, left: Any
) -> None:
    context = Context(up=[1, 3], a=[8])
    assert holds(condition, taken, context)
    assert not holds(condition, left, context)


def test_a_condition_with_a_context_or_with_any_values() -> None:
    assert holds({"condition": "early", "values": {"ms": 101}}, 0, Context())
    assert not holds({"condition": "early", "values": {"ms": 100}}, 0, Context())
    assert holds({"condition": "any way", "values": {"x": 1}}, 0)
    assert not holds({"condition": "any way"}, 0)


def take_all(event: Any) -> bool:
    return True


WHOLE = {
    "id": "whole",
    "version": 3,
    "about": {"severity": "high"},
    "skip": {"skip_to_first": "b"},
    "stages": [
        {"name": "a", "where": ABOVE, "times": [0, 3], "consecutive": True},
        {"name": "b", "follows": "next", "one_or_more": True, "window_ms": 20, "until": BELOW},
        {"name": "c", "times_or_more": 2, "greedy": True, "optional": True},
        {"follows": "followed_by_any", "group": [{"name": "d"}, {"name": "e"}], "times": 2},
        {"name": "f", "follows": "not_next", "where": BELOW},
        {"name": "g", "times": 2, "allow_combinations": True, "gap_ms": 30},
        {"name": "h", "follows": "not_followed_by", "where": BELOW, "within_ms": 60},
    ],
}


def whole() -> Pattern:
    group = Pattern.begin("d").followed_by("e")
    return (
        Pattern.begin("a", AfterMatchSkipStrategy.skip_to_first("b"))
        .where(take_all)
        .times(0, 3)
        .consecutive()
        .next("b")
        .one_or_more(20)
        .until(take_all)
        .followed_by("c")
        .times_or_more(2)
        .greedy()
        .optional()
        .followed_by_any(group)
        .times(2)
        .not_next("f")
        .where(take_all)
        .followed_by("g")
        .times(2)
        .allow_combinations()
        .within(30, WithinType.PREVIOUS_AND_CURRENT)
        .not_followed_by("h")
        .where(take_all)
        .within(60)
    )


@pytest.mark.parametrize(
    "given",
    [WHOLE, json.dumps(WHOLE), json.dumps(WHOLE).encode(), Row(**WHOLE)],
    ids=["dict", "text", "bytes", "row"],
)
def test_data_make_the_pattern_that_its_methods_make(given: Any) -> None:
    made, expected = pattern_from(given, registry()), whole()
    stages = made._stages()
    assert describe(stages) == describe(expected._stages())
    assert [str(stage.takes) for stage in stages[:3]] == ["above (limit=3)", *["any event"] * 2]
    assert str(stages[1].until) == "below"
    assert made._skip == expected._skip
    assert "above (limit=3)" in made.explain()
    assert compile_stages(stages).gaps_ms == compile_stages(expected._stages()).gaps_ms


def stage(**keys: Any) -> dict[str, Any]:
    return {"id": "p", "stages": [{"name": "a"}, {"name": "b", **keys}]}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (5, "a pattern is a dict, a Row with names, or a JSON object, not 5"),
        ("{", "a pattern is data as JSON has"),
        ('{"id": "p", "about": NaN}', "NaN is no number of JSON"),
        ({"id": "p", "about": {1j}}, "a pattern is data as JSON has"),
        (Row(1, 2), "a Row without field names"),
        ({"stages": [{"name": "a"}]}, "a pattern has an id, which is a text, not None"),
        ({"id": 7, "stages": [{"name": "a"}]}, "a text, not 7"),
        ({"id": "p", "stagse": []}, "pattern 'p': there is no 'stagse'.*did you mean 'stages'"),
        ({"id": "p"}, "pattern 'p': 'stages' is a list of one or more stages, not None"),
        ({"id": "p", "stages": []}, "one or more stages"),
        ({"id": "p", "stages": ["a"]}, "pattern 'p', stage 1: a stage is an object, not 'a'"),
        ({"id": "p", "stages": [{}]}, "stage 1: a stage has either a name or a group"),
        ({"id": "p", "stages": [{"name": 3}]}, "stage 1: 'name' is a text, not 3"),
        ({"id": "p", "remove": True}, "is to be removed: it has no stages"),
        ({"id": "p", "remove": True, "stages": []}, "has stages, and is to be removed"),
        ({"id": "p", "remove": "yes"}, "'remove' is 'yes', and not true or false"),
        (
            {"id": "p", "stages": [{"name": "a", "follows": "next"}]},
            "stage 'a': the first stage follows none",
        ),
        ({"id": "p", "stages": [{"name": "a"}], "skip": "skip"}, "'skip' is 'skip'.*no_skip"),
        (
            {"id": "p", "stages": [{"name": "a"}], "skip": {"skip_to_last": "b"}},
            "pattern 'p': the skip strategy names 'b', which is no stage",
        ),
        ({"id": "p", "stages": [{"name": "a"}, {"name": "a"}]}, "pattern 'p': two stages have"),
        (stage(follows="after"), "stage 'b': 'follows' is 'after'.*one of next, followed_by"),
        (stage(where={"condition": "abov"}), "there is no condition 'abov'.*did you mean 'above'"),
        (stage(where={"condition": "x"}), "the registry has 'above', 'below'"),
        (stage(where={"and": []}), "stage 'b': {'and': \\[\\]} is no condition"),
        (stage(where="above"), "'above' is no condition"),
        (
            stage(where={"condition": "above"}),
            "pattern 'p', stage 'b', condition 'above': it needs 'limit'",
        ),
        (
            stage(where={"condition": "above", "values": {"limit": "3"}}),
            "condition 'above': 'limit' is '3', and not float",
        ),
        (stage(where={"condition": "above", "values": {"limit": True}}), "True, and not float"),
        (
            stage(where={"condition": "one of", "values": {"names": 3}}),
            "'names' is 3, and not list or str",
        ),
        (
            stage(where={"condition": "below", "values": {"limt": 3}}),
            "condition 'below': it has no value 'limt'.*did you mean 'limit'",
        ),
        (stage(where={"condition": "below", "values": [3]}), "'values' is an object"),
        (
            stage(where={"condition": "any way", "values": {"event": 3}}),
            "condition 'any way': it has no value 'event'",
        ),
        (
            stage(where={"condition": "between", "values": {"low": "3"}}),
            "condition 'between': 'low' is '3', and not int",
        ),
        (stage(where={"condition": "below", "value": {}}), "there is no 'value'"),
        (stage(until=BELOW), "pattern 'p', stage 'b': until\\(\\) ends a loop"),
        (stage(optional="yes"), "stage 'b': 'optional' is 'yes', and not true or false"),
        (stage(times=0), "'times' is 0, and not a whole number of 1 or more"),
        (stage(times=[3, 2]), "times\\(3, 2\\) takes no number of events"),
        (stage(times=[1, 2, 3]), "'times' is \\[1, 2, 3\\]"),
        (stage(times=2, one_or_more=True), "'one_or_more' and 'times' are given"),
        (stage(times=2.5), "'times' is 2.5"),
        (stage(window_ms=5), "'window_ms' is for a stage that takes several events"),
        (stage(within_ms="1 s"), "'within_ms' is '1 s'"),
        (stage(greedy=True), "stage 'b': greedy\\(\\) is for stages that take several"),
        (stage(follows="not_followed_by"), "needs within\\(\\)"),
        (stage(within_ms=5, gap_ms=10), "pattern 'p': 10 ms may pass between two events"),
        (stage(times=2_000), "asks for 2,001 events in all, more than 1,000"),
        (
            {"id": "p", "stages": [{"group": [{"name": "a", "times": 40}], "times_or_more": 40}]},
            "asks for 1,640 events",
        ),
        (
            {"id": "p", "stages": LOOPS_IN_LOOPS},
            "asks for 1,024 events",
        ),
        (
            {
                "id": "p",
                "stages": [{"name": "a"}, {"follows": "not_next", "group": [{"name": "b"}]}],
            },
            "stage 2: a group cannot be what must not come",
        ),
        (
            {"id": "p", "stages": [{"group": [{"name": "a", "optional": True}], "times": [1, 3]}]},
            None,
        ),
    ],
)
def test_data_that_are_no_pattern_are_refused_with_what_is_wrong(data: Any, words: Any) -> None:
    if words is None:
        assert pattern_from(data, registry())._stages()
        return
    with pytest.raises(MalformedPatternError, match=f"(?s){words}"):
        pattern_from(data, registry())


@pytest.mark.parametrize(
    ("said", "good", "bad", "words"),
    [
        (float | None, [3, 2.5, None], ["3", [1]], "not float or None"),
        (Optional[int], [3, None], [2.5], "not int or None"),  # noqa: UP045
        ((str, None), ["a", None], [3], "not str or None"),
        ((int | None, str), [3, None, "a"], [2.5], "not int or None or str"),
        (None, [None], [0], "not None"),
    ],
)
def test_a_type_may_be_a_union(said: Any, good: list[Any], bad: list[Any], words: str) -> None:
    made = PatternRegistry()
    made.condition("any", lambda event, value: True, value=said)

    def stages(value: Any) -> Any:
        where = {"condition": "any", "values": {"value": value}}
        return {"id": "p", "stages": [{"name": "a", "where": where}]}

    for value in good:
        assert pattern_from(stages(value), made).get_name() == "a"
    for value in bad:
        with pytest.raises(MalformedPatternError, match=words):
            pattern_from(stages(value), made)


@pytest.mark.parametrize("said", [list[int], "int", Literal["a"], (), (int, "str"), 5])
def test_what_is_no_class_is_refused_when_it_is_registered(said: Any) -> None:
    with pytest.raises(PlanError, match="'value', whose type is"):
        PatternRegistry().condition("any", lambda event, value: True, value=said)


def test_a_value_cannot_take_the_place_of_the_object_itself() -> None:
    class Free(SimpleCondition):
        def filter(self, value: Any, **how: Any) -> bool:
            return bool(how)

    made = PatternRegistry()
    made.condition("free", Free())
    where = {"condition": "free", "values": {"self": 3}}
    with pytest.raises(MalformedPatternError, match="it has no value 'self'"):
        pattern_from({"id": "p", "stages": [{"name": "a", "where": where}]}, made)


def nested(depth: int, inner: Any, outer: Any) -> Any:
    for _ in range(depth):
        inner = outer(inner)
    return inner


@pytest.mark.parametrize(
    "stages",
    [
        [{"name": "a", "where": nested(300, BELOW, lambda inner: {"not": inner})}],
        [{"name": "a", "where": nested(60, BELOW, lambda inner: {"or": [inner, BELOW]})}],
        nested(60, [{"name": "a"}], lambda inner: [{"group": inner}]),
    ],
)
def test_stages_that_are_nested_deeply_are_refused(stages: Any) -> None:
    with pytest.raises(MalformedPatternError, match="in one another more than 100 deep"):
        pattern_from({"id": "p", "stages": stages}, registry())


@pytest.mark.parametrize(
    "stages",
    [
        [{"name": "a", "where": nested(90, BELOW, lambda inner: {"not": inner})}],
        [{"name": "a", "where": {"and": [BELOW] * 5_000}}],
        [{"name": "a", "where": {"or": [*[ABOVE] * 5_000, BELOW]}}],
        nested(45, [{"name": "a", "where": BELOW}], lambda inner: [{"group": inner}]),
    ],
)
def test_what_is_read_can_be_matched(stages: Any) -> None:
    """A pattern that only fails in a task would stop the job each time it is started."""
    pattern = pattern_from({"id": "p", "stages": stages}, registry())
    matcher = Matcher(compile_stages(pattern._stages()), NO_SKIP)
    (match,) = matcher.process(matcher.begin(), Event(3, 0, 0))
    assert match.events() == {"a": [3]}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 1_200)
    | st.floats(0, 5)
    | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=3,
)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Each object or list in data, with each key or number in it."""
    keys = [*data] if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else []
    return [(data, key) for key in keys] + [each for key in keys for each in places(data[key])]


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.tuples(st.integers(0, 10**6), st.none() | JSON), min_size=1, max_size=3))
def test_other_data_give_a_pattern_or_are_refused_as_such(changes: list[Any]) -> None:
    data = json.loads(json.dumps(WHOLE))
    for number, value in changes:
        found = places(data)
        holder, key = found[number % len(found)]
        if value is None:
            del holder[key]
        else:
            holder[key] = value
        if not data:
            break
    try:
        pattern = pattern_from(data, registry())
    except MalformedPatternError as error:
        assert error.message
    else:
        assert compile_stages(pattern._stages()).states


def test_a_decorator_registers_and_returns_the_function() -> None:
    made = PatternRegistry()

    @made.condition("large", least=int)
    def is_large(event: Any, least: int) -> bool:
        return bool(event >= least)

    assert is_large(5, 5)
    where = {"condition": "large", "values": {"least": 2}}
    (stage,) = pattern_from({"id": "p", "stages": [{"name": "a", "where": where}]}, made)._stages()
    assert stage.takes.compile()(2, None)


@pytest.mark.parametrize(
    ("name", "function", "types", "error", "words"),
    [
        ("", len, {}, PlanError, "has a name"),
        ("above", len, {}, PlanError, "two conditions have the name 'above'"),
        ("new", 5, {}, WrongFunctionError, "is 5, and no function of an event"),
        ("new", int, {}, WrongFunctionError, "no function of an event"),
        ("new", positional, {}, WrongFunctionError, "'limit', which cannot be given by name"),
        ("new", lambda: True, {}, WrongFunctionError, "no parameter for the event"),
        ("new", lambda event: True, {"limit": int}, PlanError, "has no value 'limit'"),
    ],
)
def test_what_is_no_condition_is_refused(
    name: str, function: Any, types: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        registry().condition(name, function, **types)
