"""A side output of a process function, typed, next to its main output.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.common import Types
from pyflink.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment

ODD = OutputTag("odd", Types.STRING())


class Split(ProcessFunction):
    def process_element(self, value, ctx):
        if value % 2:
            yield ODD, f"odd {value}"
        else:
            yield value


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    main = env.from_collection(list(range(6))).process(Split(), output_type=Types.INT())
    return {"main": main, "odd": main.get_side_output(ODD)}
