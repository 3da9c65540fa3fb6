"""Job (a): a keyed process function with a count and a sum in value state, one output in 100."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.common import Configuration
from headrace.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.connectors.function import FunctionSink
from headrace.datastream.state import ValueStateDescriptor


class CountAndSum(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("count and sum"))

    def process_element(self, value: tuple[int, int], ctx: Any) -> Iterator[Any]:
        count, total = self.state.value() or (0, 0)
        count, total = count + 1, total + value[1]
        self.state.update((count, total))
        if count % 100 == 0:
            yield value[0], count, total


def run(settings: dict[str, str], records: int, keys: int) -> float:
    """The job's own run time in seconds, from its start to its end."""
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    source = DataGeneratorSource(lambda index: (index * 7919 % keys, index), count=records)
    (
        env.from_source(source, None, "generator")
        .key_by(lambda pair: pair[0])
        .process(CountAndSum())
        .sink_to(FunctionSink(len))
    )
    return float(env.execute("keyed count").get_net_runtime()) / 1000
