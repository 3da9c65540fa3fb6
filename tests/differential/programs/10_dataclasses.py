"""Dataclasses without a declared type, frozen and plain, through a key and a process function.

compare: ordered_by_key:0
parallelism: 2
mode: streaming, batch
"""

from dataclasses import dataclass, field, replace

from pyflink.common import Types
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import ValueStateDescriptor


@dataclass(frozen=True)
class Order:
    id: str
    quantity: int
    tags: tuple[str, ...] = ()


@dataclass
class Total:
    quantity: int = 0
    seen: list[str] = field(default_factory=list)


class Sum(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        self.total = runtime_context.get_state(
            ValueStateDescriptor("total", Types.PICKLED_BYTE_ARRAY())
        )

    def process_element(self, value, ctx):
        total = self.total.value() or Total()
        seen = [*total.seen, *value.tags]
        total = replace(total, quantity=total.quantity + value.quantity, seen=seen)
        self.total.update(total)
        yield ctx.get_current_key(), value, total


def build(env: StreamExecutionEnvironment) -> DataStream:
    orders = [Order("a", 1, ("x",)), Order("b", 2), Order("a", 3, ("y", "z"))]
    return env.from_collection(orders).key_by(lambda order: order.id).process(Sum())
