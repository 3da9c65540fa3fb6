"""Side outputs of process functions."""

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    StreamExecutionEnvironment,
)

from .common import ordered, program

ODD = OutputTag("odd", Types.STRING())


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, f"odd {value}"
        else:
            yield value


@program(28, compare="ordered")
def side_output(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A side output of a process function, typed, next to its main output."""
    main = env.from_collection(list(range(6))).process(Split(), output_type=Types.INT())
    return {"main": main, "odd": main.get_side_output(ODD)}


LARGE = OutputTag("large")


class Sort(ProcessFunction):
    def process_element(self, value, ctx):
        yield "main", value
        if value < 3:
            yield OutputTag("small"), {"small": value}
        if value > 1:
            yield LARGE, [value]
            yield LARGE, [value, value]


@program(29, compare="ordered", mode="streaming")
def side_outputs_several(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Several side outputs from one record, untyped, and tags that are equal by their id."""
    small = OutputTag("small")
    main = env.from_collection([1, 2, 3]).process(Sort())
    return {
        "main": main,
        "small": main.get_side_output(small),
        "large": main.get_side_output(LARGE).map(lambda values: sum(values)),
    }


FIRED = OutputTag("fired", Types.TUPLE([Types.STRING(), Types.LONG()]))


class Alarm(KeyedProcessFunction):
    def process_element(self, value, ctx):
        ctx.timer_service().register_event_time_timer(value[1] + 100)
        yield value

    def on_timer(self, timestamp, ctx):
        yield FIRED, (ctx.get_current_key(), timestamp)


@program(30, compare="ordered_by_key:0", parallelism=2)
def side_output_keyed(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """Side outputs of a keyed process function, from its elements and from its timers."""
    main = (
        ordered(env, [("a", 1), ("b", 2), ("a", 3)]).key_by(lambda pair: pair[0]).process(Alarm())
    )
    return {"main": main, "fired": main.get_side_output(FIRED)}


class Same(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


@program(31, compare="ordered", mode="streaming")
def side_output_never_used(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A tag that no function ever writes to gives an empty stream."""
    main = env.from_collection([1, 2]).process(Same())
    return {
        "main": main,
        "unused": main.get_side_output(OutputTag("unused", Types.STRING())),
    }


class Above(ProcessFunction):
    def __init__(self, limit: int):
        self.limit = limit

    def process_element(self, value, ctx):
        if value > self.limit:
            yield LARGE, value
        else:
            yield value


@program(32, compare="ordered")
def side_output_of_side_output(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    """A process function on a side output, with a side output of its own under the same id."""
    first = env.from_collection([1, 15, 25, 12, 30, 2]).process(Above(10))
    second = first.get_side_output(LARGE).process(Above(20))
    return {
        "first": first,
        "second": second,
        "largest": second.get_side_output(LARGE).map(lambda value: -value),
    }
