"""What fails, while a program is built or while it runs. Errors of windows stand apart."""

from pyflink.common import Row, Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)

from .common import Missing, program


@program(74, compare="raises:ZeroDivisionError")
def error_in_map(env: StreamExecutionEnvironment) -> DataStream:
    """An error in a user's function fails the job."""
    return env.from_collection([1, 0, 2]).map(lambda value: 1 / value)


class Find(KeyedProcessFunction):
    def process_element(self, value, ctx):
        if value == 2:
            raise Missing(f"no {value}")
        yield value


@program(75, compare="raises:LookupError", mode="streaming")
def error_in_keyed_process(env: StreamExecutionEnvironment) -> DataStream:
    """An error of the user's own class in a keyed process function fails the job."""
    return env.from_collection([1, 2, 3]).key_by(lambda value: value).process(Find())


@program(76, compare="raises", mode="streaming")
def error_wrong_type(env: StreamExecutionEnvironment) -> DataStream:
    """Text where an integer is declared fails the job."""
    return env.from_collection([1, 2]).map(lambda value: str(value), output_type=Types.INT())


class Broken(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        raise RuntimeError("cannot open")

    def map(self, value):
        return value


@program(77, compare="raises:RuntimeError", mode="streaming")
def error_in_open(env: StreamExecutionEnvironment) -> DataStream:
    """An error in open fails the job."""
    return env.from_collection([1]).map(Broken())


@program(78, compare="raises:TypeError", mode="streaming")
def error_not_a_function(env: StreamExecutionEnvironment) -> DataStream:
    """A map that is given something else than a function is refused while the program is built."""
    return env.from_collection([1]).map("not a function")


class Plain(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


@program(79, compare="raises:TypeError", mode="streaming")
def error_keyed_process_needs_its_class(env: StreamExecutionEnvironment) -> DataStream:
    """A plain ProcessFunction is refused by a keyed stream while the program is built."""
    return env.from_collection([1]).key_by(lambda value: value).process(Plain())


@program(80, compare="raises:TypeError", mode="streaming")
def error_sum_of_second_field_of_plain_values(env: StreamExecutionEnvironment) -> DataStream:
    """A field other than the first of a plain value cannot be summed."""
    return env.from_collection([1, 2]).key_by(lambda value: 0).sum(1)


@program(81, compare="raises", mode="streaming")
def error_rebalance_of_keyed_stream(env: StreamExecutionEnvironment) -> DataStream:
    """A keyed stream cannot be repartitioned."""
    return env.from_collection([1]).key_by(lambda value: value).rebalance()


@program(82, compare="raises:AttributeError", mode="streaming")
def error_missing_row_field(env: StreamExecutionEnvironment) -> DataStream:
    """A field name that a Row does not have fails the job."""
    return env.from_collection([Row(a=1)]).map(lambda row: row.b)
