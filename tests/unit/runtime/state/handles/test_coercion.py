"""What is written to a state fits the type declared for it, or is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

from headrace.common import Row
from headrace.common.time import Time
from headrace.common.typeinfo import Types
from headrace.datastream import AggregateFunction, KeyedProcessFunction
from headrace.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import PlanError, TypeMismatchError
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import block

INT, DOUBLE = Types.INT(), Types.DOUBLE()


class Last(AggregateFunction):
    """Its accumulator is what was added last."""

    def create_accumulator(self) -> Any:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return value

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a


Ask = Callable[[Any, Any], Any]
ASK: dict[str, Ask] = {
    "value": lambda context, descriptor: context.get_state(descriptor),
    "list": lambda context, descriptor: context.get_list_state(descriptor),
    "map": lambda context, descriptor: context.get_map_state(descriptor),
    "reducing": lambda context, descriptor: context.get_reducing_state(descriptor),
    "aggregating": lambda context, descriptor: context.get_aggregating_state(descriptor),
}


class Doing(KeyedProcessFunction):
    """A record is what to do with the state."""

    def __init__(self, kind: str, descriptor: StateDescriptor) -> None:
        self.kind, self.descriptor = kind, descriptor

    def open(self, runtime_context: Any) -> None:
        self.state = ASK[self.kind](runtime_context, self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value(self.state)


def harness(
    kind: str, descriptor: StateDescriptor, paged: bool = False, ttl: bool = False
) -> Harness:
    if ttl:
        descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.days(1)).build())
    return Harness(Doing(kind, descriptor), "split", paged=paged)


def done(at: Harness, *steps: Callable[[Any], Any]) -> list[Any]:
    return [result for step in steps for result in at.advance(block(step, keys=["a"]))]


def value_of(declared: Any) -> StateDescriptor:
    return ValueStateDescriptor("s", declared)


def list_of(declared: Any) -> StateDescriptor:
    return ListStateDescriptor("s", declared)


def map_to(declared: Any) -> StateDescriptor:
    return MapStateDescriptor("s", Types.STRING(), declared)


def map_from(declared: Any) -> StateDescriptor:
    return MapStateDescriptor("s", declared, Types.STRING())


def reducing(declared: Any) -> StateDescriptor:
    return ReducingStateDescriptor("s", lambda one, other: other, declared)


def aggregating(declared: Any) -> StateDescriptor:
    return AggregatingStateDescriptor("s", Last(), declared)


Write = Callable[[Any, Any], Any]
WRITES: dict[str, tuple[str, Callable[[Any], StateDescriptor], Write, Callable[[Any], Any]]] = {
    "value": ("value", value_of, lambda s, v: s.update(v), lambda s: s.value()),
    "list add": ("list", list_of, lambda s, v: s.add(v), lambda s: [*s.get()][-1]),
    "list add all": ("list", list_of, lambda s, v: s.add_all([v]), lambda s: [*s][-1]),
    "list update": ("list", list_of, lambda s, v: s.update([v]), lambda s: [*s.get()][-1]),
    "map put": ("map", map_to, lambda s, v: s.put("k", v), lambda s: s.get("k")),
    "map item": ("map", map_to, lambda s, v: s.__setitem__("k", v), lambda s: s["k"]),
    "map put all": ("map", map_to, lambda s, v: s.put_all({"k": v}), lambda s: [*s.values()][-1]),
    "map key": ("map", map_from, lambda s, v: s.put(v, ""), lambda s: [*s.keys()][-1]),
    "map key item": ("map", map_from, lambda s, v: s.__setitem__(v, ""), lambda s: [*s][-1]),
    "map key all": (
        "map",
        map_from,
        lambda s, v: s.put_all({v: ""}),
        lambda s: [*s.items()][-1][0],
    ),
    "reducing": ("reducing", reducing, lambda s, v: s.add(v), lambda s: s.get()),
    "aggregating": ("aggregating", aggregating, lambda s, v: s.add(v), lambda s: s.get()),
}


@pytest.fixture(params=WRITES)
def way(request: pytest.FixtureRequest) -> Any:
    return WRITES[request.param]


@pytest.mark.parametrize("ttl", [False, True], ids=["", "ttl"])
@pytest.mark.parametrize("paged", [False, True], ids=["heap", "paged"])
def test_what_does_not_fit_is_refused(way: Any, paged: bool, ttl: bool) -> None:
    kind, describe, write, read = way
    at = harness(kind, describe(INT), paged, ttl)
    assert done(at, lambda state: write(state, 7), read) == [None, 7]
    with pytest.raises(
        TypeMismatchError, match=r"state 's' does not fit.* INT: it is a str"
    ) as got:
        done(at, lambda state: write(state, "seven"))
    assert got.value.where["value"] == "'seven'"
    assert "operator: under test (uid=test)" in got.value.__notes__[0]
    assert "key:      'a'" in got.value.__notes__[0]


@pytest.mark.parametrize(
    ("declared", "given", "kept"),
    [
        (DOUBLE, 1, 1.0),
        (INT, True, 1),
        (Types.FLOAT(), 1, 1.0),
        (Types.BIG_DEC(), "1.50", Decimal("1.50")),
        (Types.ROW_NAMED(["n"], [DOUBLE]), (1,), Row(n=1.0)),
        (Types.TUPLE([INT, DOUBLE]), (1, 2), (1, 2.0)),
        (Types.PICKLED_BYTE_ARRAY(), "anything", "anything"),
        (None, ("any", "thing"), ("any", "thing")),
    ],
    ids=repr,
)
@pytest.mark.parametrize("paged", [False, True], ids=["heap", "paged"])
def test_what_is_kept_has_the_form_of_its_type(
    way: Any, declared: Any, given: Any, kept: Any, paged: bool
) -> None:
    kind, describe, write, read = way
    at = harness(kind, describe(declared), paged)
    _, (result, result_type) = done(
        at, lambda state: write(state, given), lambda state: (read(state), type(read(state)))
    )
    assert (result, result_type) == (kept, type(kept))


@pytest.mark.parametrize("paged", [False, True], ids=["heap", "paged"])
def test_a_map_key_is_found_by_what_it_was_put_under(paged: bool) -> None:
    at = harness("map", MapStateDescriptor("s", Types.ROW([DOUBLE]), INT), paged)
    assert done(
        at,
        lambda state: state.put((1,), 5),
        lambda state: (state.get((1,)), state[(1,)], state.contains((1,)), (1,) in state),
        lambda state: state.is_empty(),
        lambda state: state.remove((1,)),
        lambda state: state.is_empty(),
        lambda state: state.__delitem__((1,)),
        lambda state: (state.get((1,)), (1,) in state),
    ) == [None, (5, 5, True, True), False, None, True, None, (None, False)]
    with pytest.raises(TypeMismatchError, match="a map key of state 's'"):
        done(at, lambda state: state.get("no row"))


def test_one_type_of_a_map_may_be_left_out() -> None:
    at = harness("map", MapStateDescriptor("s", INT))
    assert done(at, lambda state: state.put(1, "any"), lambda state: state[1]) == [None, "any"]
    with pytest.raises(TypeMismatchError):
        done(at, lambda state: state.put("1", "any"))
    at = harness("map", MapStateDescriptor("s", value_type_info=INT))
    assert done(at, lambda state: state.put("1", 1), lambda state: state["1"]) == [None, 1]
    with pytest.raises(TypeMismatchError):
        done(at, lambda state: state.put(1, "any"))


def test_what_a_function_makes_of_fitting_values_must_fit_too() -> None:
    joined = ReducingStateDescriptor("s", lambda one, other: f"{one}{other}", INT)
    at = harness("reducing", joined)
    done(at, lambda state: state.add(1))
    with pytest.raises(TypeMismatchError, match="state 's'"):
        done(at, lambda state: state.add(1))
    shares = ReducingStateDescriptor("s", lambda one, other: one + other, DOUBLE)
    results = done(
        harness("reducing", shares), *[lambda state: state.add(1)] * 2, lambda s: s.get()
    )
    assert repr(results) == "[None, None, 2.0]"


def test_of_several_elements_all_are_added_or_none() -> None:
    at = harness("list", ListStateDescriptor("s", INT))
    for step in (lambda s: s.add_all([1, "2"]), lambda s: s.update([1, "2"])):
        with pytest.raises(TypeMismatchError):
            done(at, step)
    assert done(at, lambda state: [*state.get()]) == [[]]
    at = harness("map", MapStateDescriptor("s", INT, INT))
    with pytest.raises(TypeMismatchError):
        done(at, lambda state: state.put_all({1: 1, 2: "2"}))
    assert done(at, lambda state: state.is_empty()) == [True]


def test_none_and_clear() -> None:
    at = harness("value", ValueStateDescriptor("s", INT))
    assert (
        done(
            at,
            lambda state: state.update(1),
            lambda state: state.update(None),
            lambda state: state.value(),
            lambda state: state.update(2),
            lambda state: state.clear(),
            lambda state: state.value(),
        )
        == [None] * 6
    )


@pytest.mark.parametrize("declared", [None, Types.PICKLED_BYTE_ARRAY()])
@pytest.mark.parametrize("kind", ASK)
def test_a_type_that_checks_nothing_puts_nothing_in_between(kind: str, declared: Any) -> None:
    describe = {
        "value": value_of,
        "list": list_of,
        "map": lambda one: MapStateDescriptor("s", one, one),
        "reducing": reducing,
        "aggregating": aggregating,
    }[kind]
    (name,) = done(harness(kind, describe(declared)), lambda state: type(state).__name__)
    assert name == f"{kind.capitalize()}Handle"


@pytest.mark.parametrize("describe", [value_of, list_of, map_to, map_from, reducing, aggregating])
def test_what_is_no_type_is_refused(describe: Any) -> None:
    with pytest.raises(PlanError, match=r"declared with|type of state"):
        describe(int)


def test_a_float_in_state_is_not_rounded_to_32_bits() -> None:
    in_tuple = Types.TUPLE([Types.LIST(Types.FLOAT())])
    at = harness("value", value_of(in_tuple))
    kept = done(at, lambda state: state.update(([0.1, 2],)), lambda state: state.value())[-1]
    assert kept == ([0.1, 2.0],)
    with pytest.raises(TypeMismatchError, match="declared type FLOAT"):
        done(at, lambda state: state.update((["a"],)))
    sums = ReducingStateDescriptor("s", lambda one, other: one + other, Types.FLOAT())
    at = harness("reducing", sums)
    add = [lambda state: state.add(0.1)] * 2
    assert done(at, *add, lambda state: state.get())[-1] == 0.2
    at = harness("map", map_from(Types.FLOAT()))
    put = (lambda state: state.put(0.1, "x"), lambda state: [*state.keys(), state[0.1]])
    assert done(at, *put)[-1] == [0.10000000149011612, "x"]
