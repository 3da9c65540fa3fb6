"""The graph that each API method builds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common._output_tag import OutputTag
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    SlotSharingGroup,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors._collection import CollectionSource
from headrace.datastream.connectors._print import PrintSink
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.connectors.number_seq import NumberSequenceSource
from headrace.datastream.state import ValueStateDescriptor
from headrace.errors import NotKeyedError, PlanError, UnsupportedError
from headrace.graph.transformation import (
    ByKey,
    ByPartitioner,
    Forward,
    Rebalance,
    Rescale,
    Shuffle,
    SinkTransformation,
    SourceTransformation,
    Transformation,
)
from headrace.operators.coerce import CoerceSpec
from headrace.operators.filter import FilterSpec
from headrace.operators.flat_map import FlatMapSpec
from headrace.operators.keyed_function import KeyedMapSpec
from headrace.operators.map import MapSpec
from headrace.operators.process import ProcessSpec
from headrace.operators.project import ProjectSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.user_function import UserFunction

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


class Plain(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Counting(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def map(self, value: Any) -> Any:
        return value


class Split(FlatMapFunction):
    def flat_map(self, value: Any) -> Iterator[Any]:
        yield from value


class Keep(FilterFunction):
    def filter(self, value: Any) -> bool:
        return True


class Pass(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value


class Timing(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)


class ByFirst(KeySelector):
    def get_key(self, value: Any) -> Any:
        return value[0]


class ToZero(Partitioner):
    def partition(self, key: Any, num_partitions: int) -> int:
        return 0


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


@pytest.fixture
def pairs(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([("a", 1), ("b", 2)])


def node_of(stream: DataStream) -> Transformation:
    (edge,) = stream._edges
    return edge.source


def line_of(stream: DataStream) -> list[str]:
    """Spec or kind of the nodes from the source to the end of a straight stream."""
    names = []
    node: Transformation | None = node_of(stream)
    while node is not None:
        names.append(type(node.spec).__name__ if node.spec else type(node).__name__)
        node = node.inputs[0].source if node.inputs else None
    return names[::-1]


def test_from_collection(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(iter([3, 1, 2]))
    source = node_of(stream)
    assert isinstance(source, SourceTransformation)
    assert source.source == CollectionSource((3, 1, 2))
    assert source.inputs == () and source.name == "Collection"
    assert stream.get_type() == Types.PICKLED_BYTE_ARRAY()


def test_a_declared_type_is_a_node_behind_the_source(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([("a", 1)], PAIR).name("pairs").uid("p").set_parallelism(3)
    assert line_of(stream) == ["SourceTransformation", "CoerceSpec"]
    source, typed = env._transformations
    assert typed.spec == CoerceSpec(PAIR)
    assert (source.name, source.uid, source.parallelism) == ("pairs", "p", 3)
    assert (typed.name, typed.uid, typed.parallelism) == ("Typed(pairs)", None, 3)
    assert stream.get_type() == source.output_type == typed.output_type == PAIR


def test_a_type_that_coerces_nothing_makes_no_node(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection([1], Types.PICKLED_BYTE_ARRAY())
    assert line_of(stream) == ["SourceTransformation"]


def test_from_sequence(env: StreamExecutionEnvironment) -> None:
    stream = env.from_sequence(1, 9)
    assert line_of(stream) == ["SourceTransformation"]
    source = node_of(stream)
    assert isinstance(source, SourceTransformation)
    assert source.source == NumberSequenceSource(1, 9)
    assert stream.get_type() == Types.LONG()


@pytest.mark.parametrize(
    "strategy",
    [WatermarkStrategy.for_monotonous_timestamps(), WatermarkStrategy.no_watermarks()],
)
def test_from_source_has_its_strategy_behind_the_types(
    env: StreamExecutionEnvironment, strategy: WatermarkStrategy
) -> None:
    stream = env.from_source(NumberSequenceSource(1, 2), strategy, "numbers", Types.LONG())
    assert line_of(stream) == ["SourceTransformation", "CoerceSpec", "TimestampsSpec"]
    assert node_of(stream).spec == TimestampsSpec(strategy)
    stream.uid("u").name("n")
    assert stream.get_name() == "n"
    assert [n.uid for n in env._transformations] == ["u", None, None]
    assert [n.name for n in env._transformations][1:] == ["Typed(n)", "Timestamps/Watermarks(n)"]


def test_add_source_takes_a_source_only(env: StreamExecutionEnvironment) -> None:
    assert env.add_source(NumberSequenceSource(1, 2), "n").get_name() == "n"
    with pytest.raises(UnsupportedError, match=r"add_source\(\) takes a connector's Source"):
        env.add_source(object())  # type: ignore[arg-type]
    with pytest.raises(UnsupportedError, match="from_source"):
        env.create_input("x")


@pytest.mark.parametrize("collection", ["abc", b"abc", 3])
def test_from_collection_takes_no_text_and_no_number(
    env: StreamExecutionEnvironment, collection: Any
) -> None:
    with pytest.raises(PlanError, match="a list or another iterable"):
        env.from_collection(collection)


def test_stateless_operators(pairs: DataStream) -> None:
    def double(value: Any) -> Any:
        return value * 2

    plain, keep, split, passed = Plain(), Keep(), Split(), Pass()
    assert node_of(pairs.map(double)).spec == MapSpec(UserFunction(double))
    assert node_of(pairs.map(plain)).spec == MapSpec(UserFunction(plain, "map"))
    assert node_of(pairs.map(str)).spec == MapSpec(UserFunction(str))
    assert node_of(pairs.filter(keep)).spec == FilterSpec(UserFunction(keep, "filter"))
    assert node_of(pairs.flat_map(split)).spec == FlatMapSpec(UserFunction(split, "flat_map"))
    assert node_of(pairs.process(passed)).spec == ProcessSpec(
        UserFunction(passed, "process_element")
    )
    assert node_of(pairs.project(1, 0)).spec == ProjectSpec((1, 0))
    for stream in (pairs.map(double), pairs.project(1)):
        (edge,) = node_of(stream).inputs
        assert edge.source is node_of(pairs) and edge.partitioning == Forward()


def test_types_behind_operators(env: StreamExecutionEnvironment) -> None:
    pairs = env.from_collection([("a", 1)], PAIR)
    mapped = pairs.map(lambda v: v[1], Types.INT())
    assert line_of(mapped)[-2:] == ["MapSpec", "CoerceSpec"] and mapped.get_type() == Types.INT()
    assert pairs.filter(lambda v: True).get_type() == PAIR
    assert line_of(pairs.filter(lambda v: True))[-1] == "FilterSpec"
    assert pairs.project(1).get_type() == Types.TUPLE([Types.INT()])
    assert pairs.key_by(0).reduce(lambda a, b: a).get_type() == PAIR
    assert pairs.key_by(0).get_type() == PAIR
    assert pairs.map(lambda v: v).get_type() == Types.PICKLED_BYTE_ARRAY()
    assert pairs.union(pairs).get_type() == PAIR
    assert pairs.union(mapped).get_type() == Types.PICKLED_BYTE_ARRAY()
    with pytest.raises(PlanError, match=r"asks for field 2 of TUPLE"):
        pairs.project(2)


def test_calls_know_the_users_line(pairs: DataStream) -> None:
    stream = pairs.map(lambda v: v, Types.INT())
    code = test_calls_know_the_users_line.__code__
    for node in (node_of(stream), node_of(stream).inputs[0].source):
        assert node.site.file == code.co_filename
        assert node.site.line == code.co_firstlineno + 1


def test_union(env: StreamExecutionEnvironment, pairs: DataStream) -> None:
    other = env.from_collection([("c", 3)])
    both = pairs.union(other, pairs.key_by(0))
    assert [edge.source for edge in both._edges] == [
        node_of(pairs),
        node_of(other),
        node_of(pairs),
    ]
    assert [edge.partitioning for edge in both._edges] == [Forward()] * 3
    assert len(node_of(both.map(str)).inputs) == 3
    with pytest.raises(PlanError, match="at least one other"):
        pairs.union()
    with pytest.raises(PlanError, match="takes streams, not a list"):
        pairs.union([])  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="one environment"):
        pairs.union(StreamExecutionEnvironment.get_execution_environment().from_collection([1]))


@pytest.mark.parametrize(
    ("call", "partitioning"),
    [
        ("rebalance", Rebalance()),
        ("rescale", Rescale()),
        ("shuffle", Shuffle()),
        ("forward", Forward()),
    ],
)
def test_partitioning(pairs: DataStream, call: str, partitioning: Any) -> None:
    moved = getattr(pairs.rebalance(), call)()
    (edge,) = moved._edges
    assert edge.source is node_of(pairs) and edge.partitioning == partitioning
    with pytest.raises(PlanError, match=rf"{call}\(\) cannot act on a keyed stream"):
        getattr(pairs.key_by(0), call)()


def test_partition_custom(pairs: DataStream) -> None:
    partitioner = ToZero()
    (edge,) = pairs.partition_custom(partitioner, ByFirst())._edges
    assert isinstance(edge.partitioning, ByPartitioner)
    assert edge.partitioning.partitioner == UserFunction(partitioner, "partition")
    assert edge.partitioning.selector.method == "get_key"
    (edge,) = pairs.partition_custom(lambda key, n: key % n, lambda v: v[1])._edges
    assert isinstance(edge.partitioning, ByPartitioner)
    assert edge.partitioning.partitioner.as_callable()(7, 4) == 3
    assert edge.partitioning.selector.as_callable()(("a", 7)) == 7


def test_settings_act_on_the_operator(pairs: DataStream) -> None:
    stream = pairs.map(lambda v: v, Types.INT())
    operator, typed = node_of(stream).inputs[0].source, node_of(stream)
    settings = (
        stream.name("m").uid("u").set_parallelism(4).set_max_parallelism(64).set_description("d")
    )
    assert settings is stream
    assert (operator.name, operator.uid, operator.description) == ("m", "u", "d")
    assert (operator.parallelism, typed.parallelism) == (4, 4)
    assert (operator.max_parallelism, typed.max_parallelism) == (64, 64)
    stream.disable_chaining()
    assert (operator.starts_chain, operator.ends_chain) == (True, False)
    assert (typed.starts_chain, typed.ends_chain) == (False, True)
    stream.force_non_parallel()
    assert (operator.parallelism, typed.parallelism, operator.max_parallelism) == (1, 1, 1)


def test_other_settings(pairs: DataStream) -> None:
    stream = pairs.map(str).start_new_chain().slot_sharing_group("g").set_buffer_timeout(10)
    assert node_of(stream).starts_chain and not node_of(stream).ends_chain
    stream.slot_sharing_group(SlotSharingGroup.builder("g").set_cpu_cores(1.5).build())
    assert stream.set_uid_hash("0" * 31 + "A") is stream
    assert node_of(stream).uid == "0" * 31 + "a"
    assert node_of(pairs.map(str).uid("u").set_uid_hash("0" * 32)).uid == "u"


@pytest.mark.parametrize(
    ("call", "argument"),
    [
        ("name", ""),
        ("name", None),
        ("name", "a\ud800"),
        ("uid", 3),
        ("uid", "\udcff"),
        ("set_uid_hash", "xyz"),
        ("set_parallelism", 0),
        ("set_parallelism", True),
        ("set_parallelism", 1.0),
        ("set_max_parallelism", -1),
    ],
)
def test_settings_are_checked(pairs: DataStream, call: str, argument: Any) -> None:
    with pytest.raises(PlanError):
        getattr(pairs.map(str), call)(argument)


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        ("name", ["n"]),
        ("get_name", []),
        ("uid", ["u"]),
        ("set_uid_hash", ["0" * 32]),
        ("set_parallelism", [1]),
        ("set_max_parallelism", [1]),
        ("force_non_parallel", []),
        ("set_buffer_timeout", [1]),
        ("start_new_chain", []),
        ("disable_chaining", []),
        ("slot_sharing_group", ["g"]),
        ("set_description", ["d"]),
    ],
)
def test_streams_without_an_operator_of_their_own(
    pairs: DataStream, call: str, arguments: list[Any]
) -> None:
    with pytest.raises(PlanError, match=rf"{call}\(\) cannot act on a keyed stream") as keyed:
        getattr(pairs.key_by(lambda v: v[0]), call)(*arguments)
    assert "keyed by <lambda>" in str(keyed.value)
    for stream in (pairs.union(pairs), pairs.rebalance()):
        with pytest.raises(PlanError, match=rf"{call}\(\) needs an operator"):
            getattr(stream, call)(*arguments)


def test_side_outputs(pairs: DataStream) -> None:
    processed = pairs.process(Pass(), Types.INT())
    plain, typed = OutputTag("late"), OutputTag("bad", Types.STRING())
    (edge,) = processed.get_side_output(plain)._edges
    operator = node_of(processed).inputs[0].source
    assert edge.source is operator and edge.tag == plain
    stream = processed.get_side_output(typed)
    coerced = node_of(stream)
    assert coerced.spec == CoerceSpec(Types.STRING()) and stream.get_type() == Types.STRING()
    assert coerced.inputs[0].source is operator and coerced.inputs[0].tag == typed
    with pytest.raises(PlanError, match="Map has no side output 'late'"):
        pairs.map(str).get_side_output(plain)
    with pytest.raises(PlanError, match=r"a source with \.on_error\(tag\)"):
        pairs.get_side_output(plain)
    with pytest.raises(PlanError, match="takes an OutputTag"):
        processed.get_side_output("late")  # type: ignore[arg-type]


def test_sinks(env: StreamExecutionEnvironment, pairs: DataStream) -> None:
    sink = FunctionSink(print)
    for end in (pairs.sink_to(sink), pairs.add_sink(sink)):
        end.name("out").uid("o").set_parallelism(2).set_description("d").disable_chaining()
    pairs.print("id")
    first, _, printed = env._list_sinks()
    assert isinstance(first, SinkTransformation) and first.sink is sink
    assert (first.name, first.uid, first.parallelism) == ("out", "o", 2)
    assert first.inputs[0].source is node_of(pairs)
    assert printed.sink == PrintSink("id")
    with pytest.raises(UnsupportedError, match=r"sink_to\(\) takes a connector's Sink"):
        pairs.sink_to(print)  # type: ignore[arg-type]


def test_a_printing_sink_learns_the_type(env: StreamExecutionEnvironment) -> None:
    env.from_collection([("a", 1)], PAIR).print()
    (printed,) = env._list_sinks()
    assert printed.sink == PrintSink("")


@pytest.mark.parametrize("function", [Counting(), Timing()])
def test_keyed_functions_need_a_keyed_stream(pairs: DataStream, function: Any) -> None:
    call = "map" if isinstance(function, MapFunction) else "process"
    with pytest.raises(NotKeyedError, match="the stream is not keyed") as raised:
        getattr(pairs, call)(function)
    assert type(function).__name__ in str(raised.value)
    assert f".key_by(...) before .{call}(...)" in str(raised.value)
    assert "Collection, built at" in str(raised.value) and __file__ in str(raised.value)


def test_timers_need_a_keyed_stream(pairs: DataStream) -> None:
    class Alarm(ProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            ctx.timer_service().register_processing_time_timer(1)

    with pytest.raises(NotKeyedError, match="Alarm uses timers"):
        pairs.process(Alarm())


@pytest.mark.parametrize(
    ("call", "given", "message"),
    [
        ("map", Keep(), r"map\(\) takes a MapFunction or a plain function, not a FilterFunction"),
        ("map", 3, r"not an int"),
        ("map", Plain, r"not the class Plain itself"),
        ("filter", Plain(), r"filter\(\) takes a FilterFunction .* not a MapFunction \(Plain\)"),
        ("flat_map", Plain(), r"flat_map\(\) takes a FlatMapFunction"),
        ("process", len, r"process\(\) takes a ProcessFunction, not a builtin"),
        ("process", Plain(), r"process\(\) takes a ProcessFunction, not a MapFunction"),
        ("key_by", Plain(), r"key_by\(\) takes a KeySelector"),
        ("key_by", True, r"key_by\(\) takes a KeySelector"),
        ("assign_timestamps_and_watermarks", 3, r"takes a WatermarkStrategy, not an int"),
    ],
)
def test_wrong_kinds_of_function(pairs: DataStream, call: str, given: Any, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        getattr(pairs, call)(given)


def test_a_type_must_be_a_type(env: StreamExecutionEnvironment, pairs: DataStream) -> None:
    with pytest.raises(PlanError, match="type given to map"):
        pairs.map(str, output_type=str)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="type given to from_collection"):
        env.from_collection([1], int)  # type: ignore[arg-type]


def test_map_on_a_keyed_stream(pairs: DataStream) -> None:
    keyed = pairs.rebalance().key_by(0)
    (edge,) = node_of(keyed.map(str)).inputs
    assert edge.partitioning == Rebalance()  # no state: records stay where they are
    (edge,) = node_of(keyed.map(Plain())).inputs
    assert edge.partitioning == Rebalance()
    counted = node_of(keyed.map(Counting()))
    assert isinstance(counted.spec, KeyedMapSpec)
    assert isinstance(counted.inputs[0].partitioning, ByKey)
    assert counted.inputs[0].source is node_of(pairs)
