"""The notes of an exception of user code: operator, key, window, record."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace.datastream import KeyedProcessFunction
from headrace.errors import PlanError, UnstableKeyError
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.keyed_function import KeyedMapSpec
from headrace.operators.process import ProcessSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.block import encode
from headrace.runtime.failure import annotate, user_traceback
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import (
    Mark,
    block,
    chain_of,
    exchange,
    mapping,
    node,
    running,
    to_exchange,
    to_node,
    to_sink,
)


def fail(value: Any, *_: Any) -> Any:
    raise KeyError(value)


def lazily(value: Any, *_: Any) -> Any:
    yield 1
    raise KeyError(value)


def noted(raised: pytest.ExceptionInfo[BaseException]) -> list[str]:
    annotate(raised.value)
    notes = raised.value.__notes__
    assert len(notes) == 1
    return notes[0].splitlines()


@pytest.mark.parametrize(
    "spec",
    [
        mapping(fail),
        FilterSpec(UserFunction(fail)),
        FlatMapSpec(UserFunction(fail)),
        FlatMapSpec(UserFunction(lazily)),
        ProcessSpec(UserFunction(fail)),
        ProcessSpec(UserFunction(lazily)),
    ],
    ids=lambda spec: f"{spec.label} {spec.function.name}",
)
def test_the_failing_operator_and_its_record(spec: OperatorSpec) -> None:
    chain = running(
        chain_of(
            node(1, mapping(lambda value: value * 2), to_node(2)),
            node(2, spec, to_node(3), name="price", uid="price-1"),
            node(3, mapping(lambda value: value), to_sink(0)),
        )
    )
    with pytest.raises(KeyError, match="2121") as raised:
        chain.push("21", 1_700)
    assert noted(raised) == [
        "operator: price (uid=price-1), built at job.py:2",
        "record:   '2121'",
        "time:     1700 ms",
    ]


@pytest.mark.parametrize("spec", [FlatMapSpec, ProcessSpec])
def test_who_returns_instead_of_yielding_is_reported(spec: Any) -> None:
    chain = running(chain_of(node(1, spec(UserFunction(lambda value, *_: 7)), to_sink(0))))
    with pytest.raises(TypeError, match="not iterable") as raised:
        chain.push("a", None)
    assert noted(raised)[-1] == "hint:     yield each result, or return a list of them"


def test_who_adds_up_a_number_is_not() -> None:
    adding = node(2, mapping(sum), to_sink(0))
    spread = node(1, FlatMapSpec(UserFunction(lambda value: [value])), to_node(2))
    chain = running(chain_of(spread, adding))
    with pytest.raises(TypeError, match="not iterable") as raised:
        chain.push(7, None)
    assert noted(raised)[-1] == "record:   7"


def test_the_innermost_operator_counts() -> None:
    chain = running(
        chain_of(
            node(1, mapping(str), to_node(2)),
            node(2, mapping(str.upper), to_node(3)),
            node(3, mapping(fail), name="last"),
        )
    )
    with pytest.raises(KeyError) as raised:
        chain.push("a", None)
    assert noted(raised) == ["operator: last (uid=none), built at job.py:3", "record:   'A'"]


class Keyed(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(40)
        if value == "bad":
            raise ValueError("no such value")

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        raise LookupError("in the timer")


def test_a_keyed_operator_tells_the_key() -> None:
    harness = Harness(Keyed())
    with pytest.raises(ValueError, match="no such value") as raised:
        harness.advance(block("good", "bad", keys=[("a", 1), ("b", 2)], stamps=[5, 6]))
    assert noted(raised) == [
        "operator: under test (uid=test), built at job.py:1",
        "key:      ('b', 2)",
        "record:   'bad'",
        "time:     6 ms",
    ]


def test_a_timer_tells_its_key_and_time() -> None:
    harness = Harness(Keyed())
    with pytest.raises(LookupError, match="in the timer") as raised:
        harness.advance(block("good", keys=["a"], marks=[Mark(1, "split", 50)]))
    assert noted(raised) == [
        "operator: under test (uid=test), built at job.py:1",
        "key:      'a'",
        "time:     40 ms",
    ]


@pytest.mark.parametrize("kind", [KeyedMapSpec, ReduceSpec])
def test_other_keyed_operators_too(kind: Any) -> None:
    harness = Harness(kind(UserFunction(fail)))
    with pytest.raises(KeyError) as raised:
        harness.advance(block("first", "second", keys=["a", "a"]))
    lines = noted(raised)
    assert lines[1] == "key:      'a'"
    assert lines[2] == ("record:   'first'" if kind is KeyedMapSpec else "record:   'second'")


def test_a_record_that_fails_behind_a_keyed_operator_is_that_operators() -> None:
    class Passing(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield value + "!"

    harness = Harness(Passing())
    root = harness.vertex.chain.nodes[1]
    behind = node(2, mapping(fail), name="behind")
    chain = chain_of(node(1, root.spec, to_node(2)), behind)
    harness.vertex = harness.vertex.__class__(0, 1, True, 4, 1, chain)
    harness.task = harness.new_task()
    with pytest.raises(KeyError) as raised:
        harness.advance(block("a", keys=["k"]))
    assert noted(raised) == ["operator: behind (uid=none), built at job.py:2", "record:   'a!'"]


def test_long_records_are_shortened() -> None:
    with pytest.raises(KeyError) as raised:
        running(chain_of(node(1, mapping(fail)))).push("x" * 10_000, None)
    line = noted(raised)[1]
    assert line.startswith("record:   'xxx")
    assert line.endswith("xxx...")
    assert len(line) == len("record:   ") + 500


def test_a_record_that_cannot_be_shown_does_not_hide_the_failure() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("not shown")

    with pytest.raises(KeyError) as raised:
        running(chain_of(node(1, mapping(lambda value: fail("x"))))).push(Shy(), None)
    assert noted(raised)[1] == "record:   <Shy whose repr() raised RuntimeError>"


def test_a_record_is_shown_in_one_line() -> None:
    class Matrix:
        def __repr__(self) -> str:
            return "[1\n 2]"

    with pytest.raises(KeyError) as raised:
        running(chain_of(node(1, mapping(lambda value: fail("x"))))).push(Matrix(), None)
    assert noted(raised)[1] == "record:   [1\\n 2]"


def test_an_exception_is_annotated_once() -> None:
    harness = Harness(Keyed())
    with pytest.raises(ValueError) as raised:
        harness.advance(block("bad", keys=["a"]))
    annotate(raised.value)
    annotate(raised.value)
    assert len(raised.value.__notes__) == 1


def test_an_exception_from_elsewhere_gets_no_note() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        _ = 1 / 0
    annotate(raised.value)
    assert not hasattr(raised.value, "__notes__")


def test_an_error_of_a_key_selector_names_its_stream() -> None:
    failing = exchange(0, selector=UserFunction(lambda value: value["id"]))
    chain = running(chain_of(node(1, None, to_exchange(0)), exchanges=[failing]))
    with pytest.raises(KeyError) as raised:
        chain.push({"name": "a"}, None)
    assert noted(raised) == [
        "operator: KEY of feeder (uid=none), built at job.py:9",
        "record:   {'name': 'a'}",
    ]


@pytest.mark.parametrize(
    ("key", "says"),
    [([lambda: 1], "a list cannot be a key"), (lambda: 1, "a function cannot be a key")],
)
def test_an_unstable_key_names_the_stream(key: Any, says: str) -> None:
    keyed = exchange(0, selector=UserFunction(lambda value: key))
    chain = running(chain_of(node(1, None, to_exchange(0)), exchanges=[keyed]))
    with pytest.raises(UnstableKeyError, match=says) as raised:
        chain.push("a", None)
    assert raised.value.where["stream"] == "feeder, built at job.py:9"
    assert raised.value.hint is not None


def test_a_partitioner_out_of_bounds_names_the_stream() -> None:
    custom = exchange(
        0,
        mode="custom",
        groups=2,
        selector=UserFunction(lambda value: value),
        partitioner=UserFunction(lambda key, count: key),
    )
    chain = running(chain_of(node(1, None, to_exchange(0)), exchanges=[custom]))
    chain.push(1, None)
    with pytest.raises(PlanError, match="returned 2; there are partitions 0 to 1") as raised:
        chain.push(2, None)
    assert raised.value.where["stream"] == "feeder, built at job.py:9"


def test_a_record_of_a_class_in_a_function_says_what_to_do() -> None:
    class Order:
        pass

    chain = running(chain_of(node(1, mapping(lambda value: Order()), to_sink(0))))
    with pytest.raises((AttributeError, pickle.PicklingError)) as raised:
        chain.push("a", None)
        encode(next(chain.drain()).payload)
    for _ in range(2):  # within the chain, and at the edge of the task
        annotate(raised.value)
    (note,) = [note for note in raised.value.__notes__ if note.startswith("hint:")]
    assert "define Order at the top level of its module" in note


@pytest.mark.parametrize(
    "text",
    [
        "Can't pickle local object 'main.<locals>.Order'",
        "Can't get local object 'main.<locals>.Order'",
        "Can't pickle local object <class '__main__.main.<locals>.Order'>",
    ],
)
def test_the_hint_at_a_local_class_knows_what_pickle_says(text: str) -> None:
    for kind in (AttributeError, pickle.PicklingError):
        error = kind(text)
        annotate(error)
        (note,) = error.__notes__
        assert "define Order at" in note
    other = ValueError(text)
    annotate(other)
    assert not hasattr(other, "__notes__")


def test_the_traceback_begins_in_the_users_code() -> None:
    def inner(value: Any) -> Any:
        return fail(value)

    chain = running(chain_of(node(1, mapping(str), to_node(2)), node(2, mapping(inner))))
    with pytest.raises(KeyError) as raised:
        chain.push("a", None)
    annotate(raised.value)
    text = user_traceback(raised.value)
    assert text.startswith("Traceback (most recent call last):\n")
    assert "in inner" in text.splitlines()[1]
    assert "headrace/operators" not in text
    assert text.endswith(
        "KeyError: 'a'\noperator: node 2 (uid=none), built at job.py:2\nrecord:   'a'\n"
    )
