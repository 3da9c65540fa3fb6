"""Job parameters, subtasks and the metric group, as a function finds them in open.

compare: ordered
parallelism: 1
mode: streaming, batch
"""

from pyflink.datastream import (
    DataStream,
    MapFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)


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


def build(env: StreamExecutionEnvironment) -> DataStream:
    env.get_config().set_global_job_parameters({"greeting": "hello", "number": "1"})
    return env.from_collection([10, 20]).map(Describe())
