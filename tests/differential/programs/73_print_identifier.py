"""The sink identifier, alone and with several subtasks.

compare: printed_multiset
parallelism: 2
mode: streaming
"""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def build(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2, 3], type_info=Types.INT())
    numbers.print("several")
    numbers.print()
    numbers.map(lambda value: value, output_type=Types.INT()).set_parallelism(1).print(
        "one"
    ).set_parallelism(1)
