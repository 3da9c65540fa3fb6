"""Wearables: workouts and alarms from the heart rates and steps of many wearers.

    headrace run examples/wearables.py            # on Spark
    headrace run examples/wearables.py --local    # in this process, without Spark

Each device sends a reading every thirty seconds. Readings of high effort that lie close together
are a workout (a session window). An alarm goes off when the heart rate has stayed high for five
minutes without any step, or when a device has sent nothing for ten minutes (timers).
"""

import random
import sys
from datetime import UTC, datetime

from headrace.common import Configuration, Duration, Row, Time, Types, WatermarkStrategy
from headrace.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import MapStateDescriptor, ValueStateDescriptor
from headrace.datastream.window import EventTimeSessionWindows

MINUTE = 60_000
STARTS = int(datetime(2026, 11, 20, 6, tzinfo=UTC).timestamp() * 1000)
DISORDER = 45_000  # a reading may arrive after one that is up to 45 seconds newer
EFFORT, GAP = 110, 5 * MINUTE  # less than 110 beats a minute for 5 minutes ends a workout
HIGH, HIGH_FOR = 130, 5 * MINUTE
SILENT_FOR = 10 * MINUTE

READING = Types.ROW_NAMED(
    ["wearer", "at", "rate", "steps"],
    [Types.STRING(), Types.LONG(), Types.INT(), Types.INT()],
)
WORKOUTS = {"Ana": [(20, 45)], "Bo": [(10, 22), (60, 85)], "Chidi": [(30, 70)], "Dilek": []}
RACING = {"Dilek": (50, 58), "Bo": (30, 33)}  # a high heart rate at rest
DEAD = {"Ana": 75}  # the battery is empty from this minute on


def readings():
    """An hour and a half of readings, in the order in which they arrive."""
    dice = random.Random(42)
    arriving = []
    for wearer, workouts in WORKOUTS.items():
        for half_minute in range(2 * DEAD.get(wearer, 90)):
            minute, at = half_minute / 2, STARTS + half_minute * MINUTE // 2
            rate, steps = dice.randrange(62, 78), dice.randrange(12)
            if any(begin <= minute < end for begin, end in workouts):
                rate, steps = dice.randrange(125, 165), dice.randrange(60, 90)
            begin, end = RACING.get(wearer, (0, 0))
            if begin <= minute < end:
                rate, steps = dice.randrange(135, 150), 0
            reading = Row(wearer=wearer, at=at, rate=rate, steps=steps)
            arriving.append((at + dice.randrange(DISORDER), reading))
        if wearer not in DEAD:  # a device that is taken off says so, by a rate of 0
            at = STARTS + 90 * MINUTE
            arriving.append((at, Row(wearer=wearer, at=at, rate=0, steps=0)))
    return [reading for _, reading in sorted(arriving, key=lambda pair: pair[0])]


class Effort(AggregateFunction):
    """Readings, sum of their rates, highest rate, steps."""

    def create_accumulator(self):
        return 0, 0, 0, 0

    def add(self, value, accumulator):
        readings, total, highest, steps = accumulator
        return readings + 1, total + value.rate, max(highest, value.rate), steps + value.steps

    def get_result(self, accumulator):
        return accumulator

    def merge(self, acc_a, acc_b):  # a reading in the gap between two sessions merges them
        return (
            acc_a[0] + acc_b[0],
            acc_a[1] + acc_b[1],
            max(acc_a[2], acc_b[2]),
            acc_a[3] + acc_b[3],
        )


class Workout(ProcessWindowFunction):
    """A line for each session with at least ten minutes of effort."""

    def process(self, key, context, elements):
        for readings, total, highest, steps in elements:
            if readings >= 20:
                begin, end = context.window().start, context.window().end - GAP
                minutes, mean = round((end - begin) / MINUTE), total // readings
                details = f"{minutes} min, mean {mean}, highest {highest}, {steps} steps"
                yield key, begin, "workout", details


class Watch(KeyedProcessFunction):
    """Alarms of one wearer.

    Each reading waits for a timer at its own time. So ``on_timer`` meets readings and deadlines
    in the order of time, whatever the order in which the readings arrived. A device has at most
    one reading for a time, so the time is the key of the map in which they wait.
    """

    def open(self, runtime_context):
        self.waiting = runtime_context.get_map_state(
            MapStateDescriptor("waiting", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
        )
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.LONG()))
        self.high_since = runtime_context.get_state(
            ValueStateDescriptor("high since", Types.LONG())
        )

    def process_element(self, value, ctx):
        self.waiting.put(value.at, (value.rate, value.steps))
        ctx.timer_service().register_event_time_timer(value.at)

    def on_timer(self, timestamp, ctx):
        if timestamp in self.waiting:
            self.read(timestamp, *self.waiting.get(timestamp), ctx.timer_service())
            self.waiting.remove(timestamp)
        # The state says whether a deadline still stands, so no timer need be deleted.
        if self.high_since.value() == timestamp - HIGH_FOR:
            yield ctx.get_current_key(), timestamp, "ALARM", f"above {HIGH} for 5 min, at rest"
        if self.last.value() == timestamp - SILENT_FOR:
            yield ctx.get_current_key(), timestamp, "ALARM", "no reading for 10 min"

    def read(self, at, rate, steps, timers):
        if rate == 0:
            self.last.clear()
        else:
            self.last.update(at)
            timers.register_event_time_timer(at + SILENT_FOR)
        if rate <= HIGH or steps > 0:
            self.high_since.clear()
        elif self.high_since.value() is None:
            self.high_since.update(at)
            timers.register_event_time_timer(at + HIGH_FOR)


def events(readings):
    """Workouts and alarms: (wearer, when, what, details)."""
    of_wearer = readings.key_by(lambda reading: reading.wearer)
    workouts = (
        readings.filter(lambda reading: reading.rate >= EFFORT and reading.steps > 0)
        .key_by(lambda reading: reading.wearer)
        .window(EventTimeSessionWindows.with_gap(Time.milliseconds(GAP)))
        .aggregate(Effort(), Workout())
    )
    return workouts.union(of_wearer.process(Watch()))


def main():
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    times = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_millis(DISORDER)
    ).with_timestamp_assigner(lambda reading: reading.at)
    recorded = readings()
    stream = env.from_collection(recorded, READING).assign_timestamps_and_watermarks(times)
    with events(stream).execute_and_collect("wearables") as found:
        found = sorted(found)
    for wearer in WORKOUTS:
        print(f"{wearer:6} {curve(recorded, wearer)}".rstrip())
        for _, at, what, details in (event for event in found if event[0] == wearer):
            print(f"       {clock(at)} {what:8} {details}")


def curve(recorded, wearer):
    """The mean heart rate of every two minutes as a row of bars; a gap where there is none."""
    bars = ""
    for slot in range(45):
        rates = [
            reading.rate
            for reading in recorded
            if reading.wearer == wearer and (reading.at - STARTS) // (2 * MINUTE) == slot
        ]
        bars += "▁▂▃▄▅▆▇█"[(sum(rates) // len(rates) - 60) // 13] if rates else " "
    return bars


def clock(at_ms):
    """The time of the day."""
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M")


if __name__ == "__main__":
    main()
