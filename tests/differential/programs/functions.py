"""Functions without state: map, flat_map, filter, process, and what they may return."""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    FilterFunction,
    FlatMapFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)

from .common import program


def words(line: str):
    yield from line.split()


@program(13, compare="ordered")
def map_flat_map_filter(env: StreamExecutionEnvironment) -> DataStream:
    """A chain of map, flat_map and filter as plain callables."""
    lines = env.from_collection(["to be or not", "", "to be"], type_info=Types.STRING())
    return (
        lines.flat_map(words, output_type=Types.STRING())
        .filter(lambda word: len(word) == 2)
        .map(lambda word: (word.upper(), len(word)))
    )


def several(number: int):
    if number == 0:
        return [0, "list"]
    if number == 1:
        return (item for item in (1, "generator"))
    if number == 2:
        return 2, "tuple"
    if number == 3:
        return {3}
    if number == 4:
        return iter([4, "iterator"])
    if number == 5:
        return []
    if number == 6:
        return "ab"
    return {"key": "of a dict"}


@program(14, compare="ordered", mode="streaming")
def flat_map_returns(env: StreamExecutionEnvironment) -> DataStream:
    """What flat_map may return: list, generator, tuple, set, iterator, nothing, text, dict."""
    return env.from_collection(list(range(8))).flat_map(several)


@program(15, compare="ordered", mode="streaming")
def filter_truthiness(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A filter keeps what is truthy, whatever the type of the answer."""
    answers = env.from_collection(
        [(answer,) for answer in (0, 1, "", "no", None, [], [0], 0.0, -1)]
    )
    return {
        "plain": answers.filter(lambda answer: answer[0]),
        "keyed": answers.key_by(lambda answer: 1).filter(lambda answer: answer[0]),
    }


class Numbered(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.count = 0

    def map(self, value):
        self.count += 1
        return self.count, value

    def close(self):
        self.count = -1


class Repeat(FlatMapFunction):
    def __init__(self, times: int):
        self.times = times

    def flat_map(self, value):
        for number in range(self.times):
            yield (*value, number)


class EveryOther(FilterFunction):
    def open(self, runtime_context: RuntimeContext):
        self.keep = False

    def filter(self, value):
        self.keep = not self.keep
        return self.keep


@program(17, compare="ordered")
def functions_as_classes(env: StreamExecutionEnvironment) -> DataStream:
    """Map, flat_map and filter functions as classes that prepare themselves in open."""
    return env.from_collection(list("abc")).map(Numbered()).flat_map(Repeat(3)).filter(EveryOther())


class Countdown(ProcessFunction):
    def process_element(self, value, ctx: ProcessFunction.Context):
        while value > 0:
            yield value
            value -= 1


@program(18, compare="ordered")
def process_function(env: StreamExecutionEnvironment) -> DataStream:
    """A process function that yields several records, or none, for one."""
    return env.from_collection([2, 0, 3]).process(Countdown(), output_type=Types.INT())


class Returns(ProcessFunction):
    def process_element(self, value, ctx):
        if value == 0:
            return [0, "list"]
        if value == 1:
            return None
        if value == 2:
            return (item for item in (2, "generator"))
        return value, "tuple"


@program(19, compare="ordered", mode="streaming")
def process_returns(env: StreamExecutionEnvironment) -> DataStream:
    """What process_element may give back: a list, None, a generator, a tuple."""
    return env.from_collection([0, 1, 2, 3]).process(Returns())


@program(20, compare="ordered")
def project(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Projection of typed tuples: always a tuple, of one field too."""
    tuples = env.from_collection(
        [(1, "a", 0.5), (2, "b", 1.5)],
        type_info=Types.TUPLE([Types.INT(), Types.STRING(), Types.DOUBLE()]),
    )
    return {
        "two": tuples.project(2, 0),
        "one": tuples.project(1),
        "one_by_one": tuples.project(2, 0).map(lambda pair: (type(pair).__name__, pair[1])),
    }


class Describe(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.greeting = runtime_context.get_job_parameter("greeting", "none")
        self.missing = runtime_context.get_job_parameter("missing", "the default")
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()
        group = runtime_context.get_metrics_group().add_group("corpus", "value")
        self.counter = group.counter("records")
        self.meter = group.meter("rate")
        self.distribution = group.distribution("sizes")
        group.gauge("latest", lambda: 7)

    def map(self, value):
        self.counter.inc()
        self.counter.inc(2)
        self.counter.dec()
        self.meter.mark_event(3)
        self.distribution.update(value)
        return (
            value,
            self.greeting,
            self.missing,
            self.subtask,
            self.subtasks,
            self.counter.get_count(),
            self.meter.get_count(),
        )


@program(64, compare="ordered")
def runtime_context(env: StreamExecutionEnvironment) -> DataStream:
    """Job parameters, subtasks and the metric group, as a function finds them in open."""
    env.get_config().set_global_job_parameters({"greeting": "hello", "number": "1"})
    return env.from_collection([10, 20]).map(Describe())
