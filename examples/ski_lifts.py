"""Ski lifts: how many rides each lift had in the last ten minutes, every five minutes.

    headrace run examples/ski_lifts.py            # on Spark
    headrace run examples/ski_lifts.py --local    # in this process, without Spark

After the example of Flink in "Foundations of Scalable Systems" by Ian Gorton. A skier's pass is
read at the gate of a lift, and each reading is a record. The program prints the three busiest lifts
of each hour, and draws ski_lifts.svg: the rides of each lift over the day.
"""

import sys
from datetime import UTC, datetime
from typing import NamedTuple

from charts import lines
from headrace.common import Configuration, Duration, Time, WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.connectors.datagen import DataGeneratorSource
from headrace.datastream.functions import ProcessAllWindowFunction
from headrace.datastream.window import SlidingEventTimeWindows, TumblingEventTimeWindows

OPENS_MS = int(datetime(2026, 1, 17, 9, tzinfo=UTC).timestamp() * 1000)
MINUTE_MS = 60_000
DAY_MS = 7 * 60 * MINUTE_MS
RIDES = 20_000
LIFTS = {  # the lift's weight, and the hour of the day when it has most rides
    "Valley gondola": (9, 9.0),
    "Sun chair": (7, 11.0),
    "Ridge chair": (6, 12.5),
    "Summit express": (8, 13.0),
    "Forest chair": (4, 15.0),
    "Nursery tow": (3, 10.5),
}


class LiftRide(NamedTuple):
    skier: int
    lift: str
    time_ms: int


# Generated readings. The same index always gives the same ride.


def ride(index, random):
    """The ride of an index. Rides are nearly in the order of time: up to a minute late."""
    time_ms = OPENS_MS + index * DAY_MS // RIDES - random.randrange(MINUTE_MS)
    hour = 9 + (time_ms - OPENS_MS) / (60 * MINUTE_MS)
    draws = [draw / (1 + (hour - best) ** 2) for draw, best in LIFTS.values()]
    (lift,) = random.choices(list(LIFTS), draws)
    return LiftRide(random.randrange(5_000), lift, max(time_ms, OPENS_MS))


# The job


class Count(AggregateFunction):
    """Counts. As it has a merge, rides are counted before they are sent to their lift's task."""

    def create_accumulator(self):
        return 0

    def add(self, value, accumulator):
        return accumulator + 1

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):
        return acc_a + acc_b


class WithLiftAndEnd(ProcessWindowFunction):
    """Gets the one count of a window, and adds the key and the window's end."""

    def process(self, key, context, elements):
        (rides,) = elements
        yield key, context.window().end, rides


class Busiest(ProcessAllWindowFunction):
    def process(self, context, elements):
        top = sorted(elements, key=lambda counted: (-counted[2], counted[0]))[:3]
        yield clock(context.window().start), [(lift, rides) for lift, _, rides in top]


def rides_per_lift(rides):
    """(lift, end of the ten minutes, rides), every five minutes."""
    return (
        rides.key_by(lambda ride: ride.lift)
        .window(SlidingEventTimeWindows.of(Time.minutes(10), Time.minutes(5)))
        .aggregate(Count(), WithLiftAndEnd())
        .name("rides per lift")
        .uid("rides-per-lift")
        .set_parallelism(4)
    )


def busiest_lifts(rides):
    """(hour, its three busiest lifts with their rides)."""
    hour = TumblingEventTimeWindows.of(Time.hours(1))
    per_hour = (
        rides.key_by(lambda ride: ride.lift)
        .window(hour)
        .aggregate(Count(), WithLiftAndEnd())
        .uid("rides-per-hour")
        .set_parallelism(2)
    )
    return per_hour.window_all(hour).process(Busiest()).uid("busiest-lifts")


def clock(time_ms):
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M}"


def line(busiest):
    hour, lifts = busiest
    return f"{hour}  " + ", ".join(f"{lift} {rides}" for lift, rides in lifts)


def main():
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_minutes(1)
    ).with_timestamp_assigner(lambda ride: ride.time_ms)
    source = DataGeneratorSource(ride, count=RIDES, seed=1)
    rides = env.from_source(source, strategy, "lift gates").uid("lift-gates")

    busiest_lifts(rides).map(line).print()
    day = {lift: [] for lift in LIFTS}
    with rides_per_lift(rides).execute_and_collect("ski lifts") as counted:
        for lift, end_ms, count in counted:
            day[lift].append((end_ms, count))

    chart = lines(
        "Rides of the last ten minutes",
        {lift: sorted(points) for lift, points in day.items()},
        y_title="rides",
        x_text=clock,
        x_ticks=range(OPENS_MS, OPENS_MS + DAY_MS + 1, 60 * MINUTE_MS),
    )
    with open("ski_lifts.svg", "w") as file:
        file.write(chart)
    print("drawn: ski_lifts.svg")


if __name__ == "__main__":
    main()
