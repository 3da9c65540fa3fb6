"""Late acknowledgements: orders that nobody has answered within five seconds.

    headrace run examples/late_acknowledgements.py            # on Spark
    headrace run examples/late_acknowledgements.py --local    # in this process, without Spark

Reads the messages of three trading systems, each in its own format, as they are generated for
``headrace demo trades``. The pattern is a new order, then the first message about it, within five
seconds. Orders whose time is over come as a side output, five seconds after they were sent.
"""

import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from headrace.cep import CEP, Pattern, PatternProcessFunction, TimedOutPartialMatchHandler
from headrace.common import Configuration, Duration, WatermarkStrategy
from headrace.datastream import OutputTag, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.demo.trades.beta import decode as decode_beta
from headrace.demo.trades.fix import decode as decode_fix
from headrace.demo.trades.gamma import COLUMNS, Decoder
from headrace.demo.trades.generator import generate
from headrace.errors import DecodeError

DISORDER = 5_000  # a message may arrive after one that is up to five seconds newer
LATE = OutputTag("late")
ANSWERS = {"EXECUTION", "REJECT", "REPLACE", "CANCEL"}
DECODERS = {
    "alpha.fix": decode_fix,
    "beta.jsonl": decode_beta,
    "gamma.csv": Decoder(COLUMNS).decode,
}


def is_new(event):
    return event.kind == "NEW"


def is_answer(event):
    return event.kind in ANSWERS


ANSWERED = (
    Pattern.begin("order")
    .where(is_new)
    .followed_by("answer")
    .where(is_answer)
    .within(Duration.of_seconds(5))
)


class Answers(PatternProcessFunction, TimedOutPartialMatchHandler):
    """The time (ms) to the answer of each order, and the orders without one."""

    def process_match(self, match, ctx):
        (order,), (answer,) = match["order"], match["answer"]
        yield order.system, order.order_id, answer.event_time_ms - order.event_time_ms

    def process_timed_out_match(self, match, ctx):
        (order,) = match["order"]
        yield LATE, (ctx.timestamp(), order.system, order.order_id)


class Decode:
    """Yields the event of a line; what is no message is left out."""

    def __init__(self, feed):
        self.decode = DECODERS[feed]

    def __call__(self, line):
        try:
            event = self.decode(line)
        except DecodeError:
            return
        yield event


def messages(env, folder):
    """The messages of the three systems, with their times."""
    arrival = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(DISORDER))
    streams = []
    for feed in DECODERS:
        source = FileSource.for_record_stream_format(
            StreamFormat.bytes_line_format(), str(Path(folder, feed))
        ).build()
        decoded = env.from_source(source, None, feed).flat_map(Decode(feed))
        streams.append(
            decoded.assign_timestamps_and_watermarks(
                arrival.with_timestamp_assigner(lambda event: event.event_time_ms)
            )
        )
    return streams[0].union(*streams[1:])


def answers(messages):
    """Answered orders: (system, order, ms); orders that are late are in the side output."""
    of_order = messages.key_by(lambda event: (event.system, event.order_id))
    return CEP.pattern(of_order, ANSWERED).process(Answers())


def main():
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    with tempfile.TemporaryDirectory() as folder:
        generate(Path(folder), events=3_000)
        found = answers(messages(env, folder))
        late = found.get_side_output(LATE).map(lambda order: ("late", order))
        results = found.map(lambda answer: ("answered", answer)).union(late)
        with results.execute_and_collect("late acknowledgements") as both:
            both = sorted(set(both))  # a message may be sent twice
    late = [order for kind, order in both if kind == "late"]
    print("the first late orders")
    for at, _, order in late[:5]:
        print(f"  {datetime.fromtimestamp(at / 1000, UTC):%H:%M:%S.%f}"[:-3], order)
    print("\nsystem  answered in time  mean ms  late")
    overdue = Counter(system for _, system, _ in late)
    for name in sorted(overdue):
        delays = [ms for kind, (system, _, ms) in both if kind == "answered" and system == name]
        mean = sum(delays) // len(delays)
        print(f"{name:6}{len(delays):18}{mean:9}{overdue[name]:6}")


if __name__ == "__main__":
    main()
