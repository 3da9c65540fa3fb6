"""Connected streams and broadcast ones: the graph that they build, and what they refuse."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.common.time import Duration
from headrace.common.typeinfo import Types
from headrace.datastream import (
    BroadcastConnectedStream,
    BroadcastProcessFunction,
    BroadcastStream,
    CoFlatMapFunction,
    CoMapFunction,
    ConnectedStreams,
    CoProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from headrace.errors import (
    MissingWatermarksError,
    NotKeyedError,
    PlanError,
    UnpicklableFunctionError,
    WrongFunctionError,
)
from headrace.graph.transformation import Broadcast, ByKey, ByPartitioner, Forward, Transformation

RULES = MapStateDescriptor("rules", Types.STRING(), Types.INT())
OTHER = MapStateDescriptor("other")


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def one(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1)])


@pytest.fixture
def two(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("b", 2)])


def first(pair: Any) -> Any:
    return pair[0]


def node_of(stream: DataStream) -> Transformation:
    assert stream._configurable_operator is not None
    return stream._configurable_operator


class Map(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class FlatMap(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return [value]

    def flat_map2(self, value: Any) -> Any:
        return None


class Process(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class Stateful(Process):
    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("seen"))


class KeyedProcess(KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(value[1])

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield value


class Rules(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(*value)


class KeyedRules(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        yield value, ctx.get_broadcast_state(RULES).get(value[0])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(RULES).put(*value)


def test_each_stream_has_an_input(one: DataStream, two: DataStream) -> None:
    connected = one.connect(two)
    assert isinstance(connected, ConnectedStreams)
    assert (connected.stream1, connected.stream2) == (one, two)
    node = node_of(connected.map(Map()))
    assert [(edge.source, edge.input, edge.partitioning) for edge in node.inputs] == [
        (node_of(one), 0, Forward()),
        (node_of(two), 1, Forward()),
    ]
    union = node_of(one.union(two).connect(one).process(Process()))
    assert [edge.input for edge in union.inputs] == [0, 0, 1]


@pytest.mark.parametrize(
    ("keyed", "call", "function", "kind", "name"),
    [
        (False, "map", Map(), "co-map", "Co-Map"),
        (False, "flat_map", FlatMap(), "co-flat-map", "Co-Flat Map"),
        (False, "process", Process(), "co-process", "Co-Process"),
        (True, "map", Map(), "keyed-co-map", "Co-Map"),
        (True, "flat_map", FlatMap(), "keyed-co-flat-map", "Co-Flat Map"),
        (True, "process", KeyedProcess(), "keyed-co-process", "Keyed Co-Process"),
        (True, "process", Process(), "keyed-co-process", "Keyed Co-Process"),
    ],
)
def test_operators_and_their_names_are_pyflinks(
    one: DataStream, two: DataStream, keyed: bool, call: str, function: Any, kind: str, name: str
) -> None:
    connected = one.connect(two)
    if keyed:
        connected = connected.key_by(first, first, Types.STRING())
    stream = getattr(connected, call)(function, Types.STRING())
    node = stream.uid("mine").set_parallelism(1)._configurable_operator
    assert node.spec.kind == kind and node.spec.traits.inputs == 2
    assert (stream.get_name(), node.uid, node.parallelism) == (name, "mine", 1)
    assert stream.get_type() == Types.STRING()
    partitioning = [edge.partitioning for edge in node.inputs]
    assert all(isinstance(each, ByKey) for each in partitioning) is keyed
    assert stream.get_side_output(OutputTag("aside"))._edges[0].source is node


def test_a_list_of_types_is_a_row(one: DataStream, two: DataStream) -> None:
    types: Any = [Types.STRING(), Types.INT()]
    assert one.connect(two).map(Map(), types).get_type() == Types.ROW(types)


def test_keys_replace_those_before(one: DataStream, two: DataStream) -> None:
    connected = one.key_by(1).connect(two).key_by(first, 0)
    node = node_of(connected.process(KeyedProcess()))
    selectors = [edge.partitioning.selector for edge in node.inputs]  # type: ignore[attr-defined]
    assert [selector.as_callable()(("a", 1)) for selector in selectors] == ["a", "a"]
    keyed = one.key_by(0).connect(two.key_by(0)).process(KeyedProcess())
    assert all(isinstance(edge.partitioning, ByKey) for edge in node_of(keyed).inputs)


def test_keys_of_one_stream_alone_say_where_its_records_go(
    one: DataStream, two: DataStream
) -> None:
    node = node_of(one.key_by(first).connect(two.broadcast()).process(Process()))
    by_key, broadcast = (edge.partitioning for edge in node.inputs)
    assert isinstance(by_key, ByPartitioner) and broadcast == Broadcast()
    partition = by_key.partitioner.as_callable()
    assert {partition("a", 4), partition("a", 4)} < {0, 1, 2, 3}


def test_functions_need_their_kind_of_streams(one: DataStream, two: DataStream) -> None:
    plain, keyed = one.connect(two), one.connect(two).key_by(0, 0)
    with pytest.raises(NotKeyedError, match="KeyedProcess needs keyed streams, but the streams"):
        plain.process(KeyedProcess())
    with pytest.raises(NotKeyedError, match="but one of the streams is not keyed"):
        one.key_by(0).connect(two).process(KeyedProcess())
    with pytest.raises(NotKeyedError, match=r"Stateful uses keyed state \(get_state\)"):
        plain.process(Stateful())
    wrong: Any = Map()
    for stream, wanted in ((plain, "CoProcessFunction"), (keyed, "KeyedCoProcessFunction")):
        with pytest.raises(WrongFunctionError, match=rf"takes a {wanted}, not a CoMapFunction"):
            stream.process(wrong)
    with pytest.raises(TypeError, match=r"map\(\) takes a CoMapFunction, not a function"):
        plain.map(first)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"flat_map\(\) takes a CoFlatMapFunction, not the class"):
        plain.flat_map(FlatMap)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="the type given to map"):
        plain.map(Map(), "STRING")  # type: ignore[arg-type]


def test_a_function_that_cannot_be_sent(one: DataStream, two: DataStream) -> None:
    function = Map()
    function.lock = threading.Lock()  # type: ignore[attr-defined]
    with pytest.raises(UnpicklableFunctionError):
        one.connect(two).map(function)


def test_key_types_must_be_equal(one: DataStream, two: DataStream) -> None:
    numbers = two.key_by(1, Types.INT())
    with pytest.raises(PlanError, match="different types: STRING and INT"):
        one.key_by(0, Types.STRING()).connect(numbers).process(KeyedProcess())
    assert one.key_by(1).connect(numbers).process(KeyedProcess())._configurable_operator is not None


def test_other_streams_are_of_the_same_environment(one: DataStream, two: DataStream) -> None:
    stranger = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    for other in (stranger, stranger.broadcast(RULES)):
        with pytest.raises(PlanError, match="one environment"):
            one.connect(other)
    with pytest.raises(PlanError, match=r"connect\(\) takes a stream, not a list"):
        one.connect([1])  # type: ignore[call-overload]


def test_broadcast(one: DataStream, two: DataStream) -> None:
    everywhere = two.broadcast()
    assert type(everywhere) is DataStream
    assert everywhere._edges[0].partitioning == Broadcast()
    rules = two.broadcast(RULES, OTHER)
    assert isinstance(rules, BroadcastStream)
    assert rules.broadcast_state_descriptors == [RULES, OTHER]
    connected = one.connect(rules)
    assert isinstance(connected, BroadcastConnectedStream)
    assert (connected.non_broadcast_stream, connected.broadcast_stream) == (one, rules)
    stream = connected.process(Rules(), Types.STRING())
    assert stream.get_name() == "Co-Process-Broadcast" and stream.get_type() == Types.STRING()
    assert [edge.partitioning for edge in node_of(stream).inputs] == [Forward(), Broadcast()]
    keyed = one.key_by(0).connect(rules).process(KeyedRules())
    assert keyed.get_name() == "Keyed-Co-Process-Broadcast"
    by_key, to_all = (edge.partitioning for edge in node_of(keyed).inputs)
    assert isinstance(by_key, ByKey) and to_all == Broadcast()
    node = keyed._configurable_operator
    assert node is not None and node.spec is not None
    assert node.spec.traits.broadcast_state and node.spec.traits.keyed


def test_broadcast_functions_need_their_kind_of_stream(one: DataStream, two: DataStream) -> None:
    rules = two.broadcast(RULES)
    with pytest.raises(TypeError, match="is a BroadcastProcessFunction, but the stream is keyed"):
        one.key_by(0).connect(rules).process(Rules())
    with pytest.raises(NotKeyedError, match="KeyedRules needs keyed streams"):
        one.connect(rules).process(KeyedRules())
    wrong: Any = Process()
    with pytest.raises(WrongFunctionError, match="takes a BroadcastProcessFunction, not a CoProc"):
        one.connect(rules).process(wrong)
    with pytest.raises(WrongFunctionError, match="takes a KeyedBroadcastProcessFunction"):
        one.key_by(0).connect(rules).process(wrong)

    class Timed(Rules):
        def process_element(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_event_time_timer(1)

    with pytest.raises(NotKeyedError, match="Timed uses timers"):
        one.connect(rules).process(Timed())


def test_descriptors_are_checked(one: DataStream) -> None:
    with pytest.raises(TypeError, match="takes MapStateDescriptors, not a ListStateDescriptor"):
        one.broadcast(ListStateDescriptor("rules"))  # type: ignore[call-overload]
    with pytest.raises(PlanError, match="two broadcast states are called 'rules'"):
        one.broadcast(RULES, MapStateDescriptor("rules"))
    with pytest.raises(PlanError, match=r"broadcast\(\) cannot act on a keyed stream"):
        one.key_by(0).broadcast(RULES)
    expiring = MapStateDescriptor("expiring")
    expiring.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_seconds(1)).build())
    with pytest.warns(UserWarning, match="'expiring' does not expire"):
        one.broadcast(expiring)


class Owned(Rules):
    shared = MapStateDescriptor("of the class")

    def __init__(self, descriptor: MapStateDescriptor) -> None:
        self.mine = descriptor

    def process_element(self, value: Any, ctx: Any) -> Any:
        return [ctx.get_broadcast_state(self.mine).get(value), len(value)]


class OfTheClass(Owned):
    def process_element(self, value: Any, ctx: Any) -> Any:
        state = ctx.get_broadcast_state(self.shared)
        return [state.get(value)]


def test_states_that_were_not_declared_are_found_when_the_graph_is_built(
    one: DataStream, two: DataStream
) -> None:
    enclosed = MapStateDescriptor("enclosed")

    class Enclosing(Rules):
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.get_broadcast_state(enclosed).get(value)

    class Made(Rules):  # as PyFlink programs may: it is checked when the job runs
        def process_element(self, value: Any, ctx: Any) -> Any:
            yield ctx.get_broadcast_state(MapStateDescriptor("made here")).get(value)

    class Chosen(Rules):
        def process_element(self, value: Any, ctx: Any) -> Any:
            known = {OTHER: RULES}
            yield ctx.get_broadcast_state(known[OTHER]).get(value)
            return ctx.get_broadcast_state

    wrong = [
        ("rules", OTHER, Rules()),
        ("enclosed", RULES, Enclosing()),
        ("other", RULES, Owned(OTHER)),
        ("of the class", RULES, OfTheClass(RULES)),
    ]
    for name, declared, function in wrong:
        with pytest.raises(PlanError, match=f"the broadcast state '{name}' is not declared"):
            one.connect(two.broadcast(declared)).process(function)
    for function in (Rules(), Owned(RULES), Made(), Chosen()):
        assert (
            one.connect(two.broadcast(RULES)).process(function)._configurable_operator is not None
        )
    with pytest.raises(PlanError, match="'rules' is not declared"):
        one.key_by(0).connect(two.broadcast(OTHER)).process(KeyedRules())


def test_event_time_needs_watermarks_on_what_does_not_end(
    env: StreamExecutionEnvironment, one: DataStream
) -> None:
    timed = one.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
    ended = env.from_collection([("b", 2)])
    endless = env.from_source(
        DataGeneratorSource(lambda n: (n, n)), WatermarkStrategy.no_watermarks(), "endless"
    )

    def explain(first_: DataStream, second: DataStream) -> str:
        return first_.connect(second).key_by(0, 0).process(KeyedProcess()).explain()

    assert "Keyed Co-Process" in explain(timed, ended)
    assert "Keyed Co-Process" in explain(ended, timed)
    for pair in ((ended, ended), (timed, endless), (endless, timed)):
        with pytest.raises(MissingWatermarksError, match="'Keyed Co-Process' needs event time"):
            explain(*pair)


def test_timers_of_two_streams_are_found(one: DataStream, two: DataStream) -> None:
    class Waiting(KeyedCoProcessFunction):
        def process_element1(self, value: Any, ctx: Any) -> Any:
            return None

        def process_element2(self, value: Any, ctx: Any) -> Any:
            ctx.timer_service().register_processing_time_timer(1)

    node = node_of(one.connect(two).key_by(0, 0).process(Waiting()))
    assert node.spec is not None
    traits = node.spec.traits
    assert (traits.event_timers, traits.processing_timers, traits.event_time) == (
        False,
        True,
        False,
    )
    assert not isinstance(Waiting(), KeyedProcessFunction)
