"""State with a time to live that is far longer than the run, in every spelling of its options.

compare: ordered_by_key:0
parallelism: 1
mode: streaming
"""

from pyflink.common import Types
from pyflink.common.time import Time
from pyflink.datastream import (
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from pyflink.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)


class Kept(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext):
        hour = (
            StateTtlConfig.new_builder(Time.hours(1))
            .set_update_type(StateTtlConfig.UpdateType.OnReadAndWrite)
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .build()
        )
        day = (
            StateTtlConfig.new_builder(Time.days(1))
            .update_ttl_on_create_and_write()
            .return_expired_if_not_cleaned_up()
            .use_processing_time()
            .cleanup_incrementally(10, True)
            .build()
        )
        value = ValueStateDescriptor("value", Types.LONG())
        value.enable_time_to_live(hour)
        items = ListStateDescriptor("list", Types.LONG())
        items.enable_time_to_live(day)
        entries = MapStateDescriptor("map", Types.LONG(), Types.LONG())
        entries.enable_time_to_live(day)
        self.value = runtime_context.get_state(value)
        self.items = runtime_context.get_list_state(items)
        self.entries = runtime_context.get_map_state(entries)

    def process_element(self, value, ctx):
        self.value.update((self.value.value() or 0) + value[1])
        self.items.add(value[1])
        self.entries.put(value[1], value[1] * 2)
        yield value[0], self.value.value(), list(self.items.get()), sorted(self.entries.items())


def build(env: StreamExecutionEnvironment) -> DataStream:
    pairs = [("a", 1), ("b", 2), ("a", 3)]
    return env.from_collection(pairs).key_by(lambda pair: pair[0]).process(Kept())
