"""Keyed streams: keys, their checks, and what runs behind them."""

from __future__ import annotations

import dataclasses
import enum
import operator
import re
from typing import Any, NamedTuple

import pytest

from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream._build.keys import NamedField
from headrace.datastream.data_stream import KeyedStream
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import PlanError, UnstableKeyError, WrongFunctionError
from headrace.graph.transformation import ByKey, Transformation
from headrace.operators.keyed_function import KeyedMapSpec
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.map import MapSpec
from headrace.operators.reduce import ReduceSpec
from headrace.runtime.user_function import UserFunction


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def keyed_input(stream: DataStream) -> ByKey:
    (edge,) = node_of(stream).inputs
    assert isinstance(edge.partitioning, ByKey)
    return edge.partitioning


def node_of(stream: DataStream) -> Transformation:
    (edge,) = stream._edges
    return edge.source


def test_process(env: StreamExecutionEnvironment) -> None:
    class Timed(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_event_time_timer(1)

    class Plain(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            return None

    keyed = env.from_collection([("a", 1)]).key_by(lambda v: v[0], Types.STRING())
    assert isinstance(keyed, KeyedStream)
    function = Timed()
    node = node_of(keyed.process(function))
    assert node.spec == KeyedProcessSpec(UserFunction(function, "process_element"))
    assert node.spec.traits.event_timers
    assert keyed_input(keyed.process(function)).key_type == Types.STRING()
    wanted = r"process\(\) takes a KeyedProcessFunction, not a "
    with pytest.raises(WrongFunctionError, match=wanted + "function"):
        keyed.process(lambda v: v)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=wanted + "ProcessFunction"):
        keyed.process(Plain())  # type: ignore[arg-type]


def test_a_function_with_an_open_has_the_key(env: StreamExecutionEnvironment) -> None:
    class Bare(MapFunction):
        def map(self, value: Any) -> Any:
            return value

    class Opened(Bare):
        def open(self, runtime_context: Any) -> None:
            # no reading of this code could find the state
            self.state = getattr(runtime_context, "get_" + "state")(ValueStateDescriptor("s"))

    keyed = env.from_collection([("a", 1)]).key_by(0)
    assert isinstance(node_of(keyed.map(Opened())).spec, KeyedMapSpec)
    assert keyed_input(keyed.map(Opened())).label == "HASH"
    assert isinstance(node_of(keyed.map(Bare())).spec, MapSpec)


def test_keying_again_replaces_the_key(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([("a", 1)]).key_by(0).key_by(lambda v: v[1])
    assert keyed_input(stream.sum(1)).selector.as_callable()(("a", 7)) == 7


def test_reductions(env: StreamExecutionEnvironment) -> None:
    class Longest(ReduceFunction):
        def reduce(self, value1: Any, value2: Any) -> Any:
            return max(value1, value2, key=len)

    keyed = env.from_collection([("a", 1)]).key_by(0)
    longest = Longest()
    assert node_of(keyed.reduce(longest)).spec == ReduceSpec(UserFunction(longest, "reduce"))
    assert node_of(keyed.reduce(operator.add)).spec == ReduceSpec(UserFunction(operator.add))
    names = [node_of(getattr(keyed, call)(1)).name for call in ("sum", "min", "max")]
    assert names == ["Sum", "Min", "Max"]
    assert node_of(keyed.max_by(1)).name == "MaxBy" and node_of(keyed.min_by(1)).name == "MinBy"
    for call in ("sum", "min", "max", "min_by", "max_by"):
        keyed_input(getattr(keyed, call)())
        with pytest.raises(PlanError, match="a field is given by its position"):
            getattr(keyed, call)(1.5)


@pytest.mark.parametrize(
    ("selector", "record", "key"),
    [
        (1, ("a", 7), 7),
        (1, Row("a", 7), 7),
        ("v", Row(k="a", v=7), 7),
        ("v", {"v": 7}, 7),
        ("real", 7, 7),
        (lambda value: value[0], ("a", 7), "a"),
    ],
)
def test_selectors(env: StreamExecutionEnvironment, selector: Any, record: Any, key: Any) -> None:
    by_key = keyed_input(env.from_collection([record]).key_by(selector).sum())
    assert by_key.selector.as_callable()(record) == key


def test_a_named_field_is_shown() -> None:
    assert repr(NamedField("v")) == "NamedField('v')"


class Unfrozen:
    pass


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Point:
    x: int


class Place(NamedTuple):
    name: str


def to_list(value: Any) -> list[int]:
    return [value]


def to_dict(value: Any) -> dict[str, int]:
    return {}


def to_object(value: Any) -> object:
    return value


def to_unfrozen(value: Any) -> Unfrozen:
    return Unfrozen()


def to_list_or_none(value: Any) -> list[int] | None:
    return None


class ToSet(KeySelector):
    def get_key(self, value: Any) -> set[int]:
        return {value}


@pytest.mark.parametrize(
    "selector", [to_list, to_dict, to_object, to_unfrozen, to_list_or_none, ToSet()]
)
def test_what_has_no_hash_is_a_key_by_its_form(
    env: StreamExecutionEnvironment, selector: Any
) -> None:
    assert isinstance(env.from_collection([1, 2]).key_by(selector), KeyedStream)


def to_colour(value: Any) -> Colour:
    return Colour.RED


def to_point(value: Any) -> Point:
    return Point(value)


def to_place(value: Any) -> Place:
    return Place("here")


def to_anything(value: Any) -> Any:
    return value


def to_str_or_none(value: Any) -> str | None:
    return None


def to_unknown(value: Any) -> NoSuchName:  # type: ignore[name-defined]  # noqa: F821
    return value


@pytest.mark.parametrize(
    "selector", [to_colour, to_point, to_place, to_anything, to_str_or_none, to_unknown]
)
def test_annotations_of_stable_keys(env: StreamExecutionEnvironment, selector: Any) -> None:
    assert isinstance(env.from_sequence(1, 2).key_by(selector), KeyedStream)


@pytest.mark.parametrize(
    "key_type",
    [Types.LIST(Types.INT()), Types.MAP(Types.INT(), Types.INT()), Types.BASIC_ARRAY(Types.INT())],
)
def test_key_types_of_containers(
    env: StreamExecutionEnvironment, key_type: TypeInformation
) -> None:
    assert isinstance(env.from_sequence(1, 2).key_by(lambda v: v, key_type), KeyedStream)


def test_the_first_element_of_a_collection_is_tried(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(UnstableKeyError, match="function cannot be a key") as raised:
        env.from_collection([(1, 2)]).key_by(lambda v: lambda: v)
    text = str(raised.value)
    assert "record: (1, 2)" in text and "Collection, built at" in text and "top level" in text
    typed = env.from_collection([(1, 2)], Types.ROW([Types.INT(), Types.INT()]))
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    timed = typed.assign_timestamps_and_watermarks(strategy)
    for stream in (typed, timed):
        stream.key_by(lambda row: row)  # the tuple was coerced to a Row, which is a fine key
        with pytest.raises(UnstableKeyError):
            stream.key_by(lambda row: (lambda: row) if isinstance(row, Row) else row)


def test_what_cannot_be_tried_is_left_to_the_job(env: StreamExecutionEnvironment) -> None:
    class Opened(KeySelector):
        def open(self, runtime_context: Any) -> None:
            self.keys = {1: "a"}

        def get_key(self, value: Any) -> Any:
            return self.keys[value]

    pairs = env.from_collection([1])
    for selector in (Opened(), lambda v: v.no_such_field):
        assert isinstance(pairs.key_by(selector), KeyedStream)
    assert isinstance(pairs.map(lambda v: v).key_by(lambda v: lambda: v), KeyedStream)
    assert isinstance(env.from_collection([]).key_by(lambda v: lambda: v), KeyedStream)


PAIR = [Types.STRING(), Types.LONG()]
FOLDS = ("sum", "min", "max", "min_by", "max_by")


@pytest.mark.parametrize("call", FOLDS)
@pytest.mark.parametrize(
    ("declared", "record", "fields", "said"),
    [
        (Types.TUPLE(PAIR), ("x", 1), (7, 2, -3, "f1"), "positions 0 to 1$"),
        (Types.ROW(PAIR), Row("x", 1), (2, "f2", "price"), "named f0, f1"),
        (Types.ROW_NAMED(["a", "b"], PAIR), Row("x", 1), (2, "f1"), "named a, b"),
        (Types.LONG(), 1, (1, "f0"), "position 0, the value itself"),
    ],
)
def test_a_field_that_a_declared_type_has_not_is_refused(
    env: StreamExecutionEnvironment, call: str, declared: Any, record: Any, fields: Any, said: str
) -> None:
    values = env.from_collection([record], declared)
    keyed = values.key_by(lambda value: 1)
    for stream in (keyed, keyed.count_window(2), values.count_window_all(2)):
        for field in fields:
            with pytest.raises(PlanError, match=f"have no field {field!r}") as caught:
                getattr(stream, call)(field)
            assert caught.value.hint is not None and re.search(said, caught.value.hint)


@pytest.mark.parametrize("call", FOLDS)
def test_a_field_that_a_declared_type_has_is_taken(
    env: StreamExecutionEnvironment, call: str
) -> None:
    rows = env.from_collection([Row("x", 1)], Types.ROW_NAMED(["a", "b"], PAIR))
    for field in (1, "b", -1):
        assert getattr(rows.key_by(lambda value: 1), call)(field).get_type() == rows.get_type()
    unknown = env.from_collection([("x", 1)]).key_by(lambda value: 1)
    assert isinstance(getattr(unknown, call)(7), DataStream), "nobody said what the records are"
