"""What ``where``, ``or_`` and ``until`` take."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import cloudpickle
import pytest

from headrace.cep import (
    IterativeCondition,
    Pattern,
    RichIterativeCondition,
    SimpleCondition,
    SubtypeCondition,
)
from headrace.cep._conditions import to_condition
from headrace.datastream import FilterFunction, MapFunction
from headrace.errors import WrongFunctionError
from headrace.operators.patterns.conditions import Subtype
from headrace.testing import KeyedHarness
from tests.unit.operators.patterns.finding import give, harness, spec


class Context:
    """A context that knows one event."""

    def get_events_for_pattern(self, name: str) -> list[int]:
        return [7] if name == "first" else []

    def timestamp(self) -> int:
        return 70

    def current_processing_time(self) -> int:
        return 71


def holds(condition: Any, event: Any) -> bool:
    return to_condition(condition, "where").compile()(event, Context())


class Above:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, event: int) -> bool:
        return event > self.limit

    def holds(self, event: int) -> bool:
        return event > self.limit

    def above_first(self, event: int, ctx: Any) -> bool:
        return bool(event > ctx.get_events_for_pattern("first")[0])

    @staticmethod
    def odd(event: int) -> bool:
        return event % 2 == 1


class AboveFirst(IterativeCondition):
    def filter(self, value: Any, ctx: Any) -> bool:
        return bool(value > ctx.get_events_for_pattern("first")[0])


class Even(SimpleCondition):
    def filter(self, value: Any) -> bool:
        return bool(value % 2 == 0)


class Small(FilterFunction):
    def filter(self, value: Any) -> bool:
        return bool(value < 10)


def limited(event: int, limit: int = 7) -> bool:
    return event > limit


def with_rest(event: int, *rest: Any) -> bool:
    return event > 7 and not rest


@pytest.mark.parametrize(
    "condition",
    [
        lambda event: event > 7,
        lambda event, ctx: event > ctx.get_events_for_pattern("first")[0],
        lambda event, ctx: event + ctx.timestamp() > 77,
        Above(7),
        Above(7).holds,
        Above(0).above_first,
        partial(lambda limit, event: event > limit, 7),
        AboveFirst(),
        limited,
        with_rest,
    ],
)
def test_functions_and_objects_are_conditions(condition: Any) -> None:
    assert [holds(condition, event) for event in (7, 8)] == [False, True]


def test_a_condition_of_the_operator_stays_as_it_is() -> None:
    condition = Subtype(int)
    assert to_condition(condition, "where") is condition


def test_others_are_conditions_too() -> None:
    assert [holds(Even(), event) for event in (1, 2)] == [False, True]
    assert [holds(SimpleCondition.of(Small()), event) for event in (9, 10)] == [True, False]
    assert [holds(SimpleCondition.of(Above.odd), event) for event in (1, 2)] == [True, False]
    assert [holds(SubtypeCondition(int), event) for event in (1, "a")] == [True, False]
    assert [holds(math.isnan, event) for event in (1.0, math.nan)] == [False, True]


async def asynchronous(event: int) -> bool:
    return True


async def asynchronous_generator(event: int) -> Any:
    yield True


def generator(event: int) -> Any:
    yield True


class Coroutine(SimpleCondition):
    async def filter(self, value: Any) -> Any:
        return True


class CallableGenerator:
    def __call__(self, event: int) -> Any:
        yield True


class TooFew(IterativeCondition):
    def filter(self, value: Any) -> bool:  # type: ignore[override]
        return True


class Mapper(MapFunction):
    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        (asynchronous, "returns a coroutine"),
        (asynchronous_generator, "returns an asynchronous generator"),
        (generator, "returns a generator"),
        (partial(generator, 1), "returns a generator"),
        (Coroutine(), "returns a coroutine"),
        (CallableGenerator(), "returns a generator"),
        (lambda: True, "takes other arguments"),
        (lambda a, b, c: True, "takes other arguments"),
        (lambda event, *, by_name: True, "takes other arguments"),
        (TooFew(), "must take an event and a context"),
        (Even, r"not the class Even\n(.|\n)*hint: +make an object: Even\(\)"),
        (bool, "not the class bool"),
        (Mapper(), "not <.*Mapper object"),
        (None, "not None"),
        ("price > 3", "not 'price > 3'"),
        (True, "not True"),
    ],
)
@pytest.mark.parametrize("call", ["where", "or_", "until"])
def test_what_is_no_condition_is_refused(condition: Any, says: str, call: str) -> None:
    pattern = Pattern.begin("a").one_or_more()
    with pytest.raises(WrongFunctionError, match=says) as raised:
        getattr(pattern, call)(condition)
    assert "test_conditions.py:" in raised.value.where["called"]


class Opened(RichIterativeCondition):
    def open(self, runtime_context: Any) -> None:
        self.limit = 3

    def filter(self, value: Any, ctx: Any) -> bool:
        return bool(value > self.limit)


def test_a_condition_that_is_opened_is_found_by_the_operator() -> None:
    pattern = Pattern.begin("a").where(Opened()).where(lambda event: True).or_(Even())
    functions = [each.name for stage in pattern._stages() for each in stage.functions]
    assert functions == ["Opened", "<lambda>", "Even"]


@pytest.mark.parametrize("call", ["where", "or_"])
def test_a_stage_may_have_any_number_of_conditions(call: str) -> None:
    """They are pickled, compiled and called, each of which would be as deep as their number."""
    pattern = Pattern.begin("a").where(lambda event: event[2] == 1)
    for limit in range(2, 1_502):
        getattr(pattern, call)(lambda event, limit=limit: event[2] in (1, limit))
    shipped = cloudpickle.loads(cloudpickle.dumps(spec(pattern)))
    with KeyedHarness(shipped, 0) as task:
        give(task, "a@1 a@2 a@1501 a@1502")
        task.end_input()
        assert task.output() == ["a=1"] + ["a=2", "a=1501"] * (call == "or_")


def test_a_condition_after_one_of_the_context_is_not_evaluated_before_it() -> None:
    """Nor are those after it, however many there are."""

    def fails(event: Any) -> bool:
        raise AssertionError("an event that no partial match waits for")

    pattern = Pattern.begin("a").where(lambda event: event[1] == "a")
    pattern.where(lambda event, ctx: event[2] > 5).where(fails).where(fails)
    with harness(pattern) as task:
        give(task, "a@1 b@9")
        task.end_input()
        assert task.output() == []
