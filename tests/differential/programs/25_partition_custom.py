"""A custom partitioner: which subtask a record meets is what the partitioner said.

Printed, since PyFlink 2.3 tells a partitioner the number of partitions in execute only.

compare: printed_multiset
parallelism: 2
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import MapFunction, RuntimeContext, StreamExecutionEnvironment


class WithSubtask(MapFunction):
    def open(self, runtime_context: RuntimeContext):
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.subtasks = runtime_context.get_number_of_parallel_subtasks()

    def map(self, value):
        return f"{value} in {self.subtask} of {self.subtasks}"


def build(env: StreamExecutionEnvironment) -> None:
    (
        env.from_collection(list(range(8)))
        .partition_custom(lambda key, partitions: key % partitions, lambda value: value // 2)
        .map(WithSubtask(), output_type=Types.STRING())
        .print()
    )
