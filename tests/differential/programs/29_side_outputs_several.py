"""Several side outputs from one record, untyped, and tags that are equal by their id.

compare: ordered
parallelism: 1
mode: streaming
"""

from pyflink.datastream import DataStream, OutputTag, ProcessFunction, StreamExecutionEnvironment

SMALL = OutputTag("small")
LARGE = OutputTag("large")


class Sort(ProcessFunction):
    def process_element(self, value, ctx):
        yield "main", value
        if value < 3:
            yield OutputTag("small"), {"small": value}
        if value > 1:
            yield LARGE, [value]
            yield LARGE, [value, value]


def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
    main = env.from_collection([1, 2, 3]).process(Sort())
    return {
        "main": main,
        "small": main.get_side_output(SMALL),
        "large": main.get_side_output(LARGE).map(lambda values: sum(values)),
    }
