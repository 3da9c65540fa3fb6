"""Bus positions: where each bus is on its route, when it will be at its next stop, how late it is.

    headrace run examples/bus_positions.py            # on Spark
    headrace run examples/bus_positions.py --local    # in this process, without Spark

Each bus of a line sends its position four times a minute. Most positions are wrong by a few metres,
some by much more, and they do not always arrive in order. The job finds the place on the route, and
compares it with the timetable. The timetable comes from a second stream, and is replaced in the
middle of the morning. Buses that are late, or silent for a minute, are printed; bus_positions.svg
shows all buses, as distance over time.
"""

import sys
from bisect import bisect_left
from datetime import UTC, datetime
from math import dist
from random import Random
from statistics import median
from typing import NamedTuple

from charts import lines
from headrace.common import Configuration, Duration, Types, WatermarkStrategy
from headrace.datastream import (
    KeyedBroadcastProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)

SECOND_MS, MINUTE_MS = 1_000, 60_000
START_MS = int(datetime(2026, 5, 4, 7, tzinfo=UTC).timestamp() * 1000)
BUSES = {
    number: START_MS + 10 * MINUTE_MS * number for number in range(1, 8)
}  # and when they leave

# The route in metres east and north of its beginning. It goes into Hospital Road and back again, so
# that a place there may be on the way in or on the way out.
ROUTE = [
    (0, 0),
    (900, 0),
    (1500, 600),
    (2600, 600),
    (2600, 1300),
    (2600, 600),
    (3800, 600),
    (5600, 0),
]
ALONG = [sum(map(dist, ROUTE[:n], ROUTE[1 : n + 1])) for n in range(len(ROUTE))]
STOPS = {"Station": 0, "Market": 900, "Museum": 1_749, "Hospital": 3_549, "Park": 4_800}
STOPS |= {"School": 5_449, "Airport": ALONG[-1]}  # metres along the route
STOP_NAMES, STOP_ALONG = list(STOPS), list(STOPS.values())

SILENT = OutputTag("silent")
PASSED = OutputTag("passed")
TIMETABLES = MapStateDescriptor("timetables", Types.INT(), Types.PICKLED_BYTE_ARRAY())


class Position(NamedTuple):
    bus: int
    east: float
    north: float
    time_ms: int


class Timetable(NamedTuple):
    bus: int
    published_ms: int
    due_ms: list[int]  # at each stop


class Place(NamedTuple):
    bus: int
    time_ms: int
    along: float  # metres from the beginning of the route
    late_ms: float
    next_stop: str
    arrives_ms: float  # when it will be there


class Passed(NamedTuple):
    bus: int
    stop: str
    time_ms: float
    due_ms: int


def on_route(position, least, most):
    """How far along the route a position is, between two distances; None if it is far from it.

    Of places that are equally near it is the first: in Hospital Road the one on the way in.
    """
    nearest, found = 60, None
    point = position.east, position.north
    for one, two, start, end in zip(ROUTE, ROUTE[1:], ALONG, ALONG[1:], strict=False):
        east, north = (b - a for a, b in zip(one, two, strict=True))
        share = ((point[0] - one[0]) * east + (point[1] - one[1]) * north) / (end - start) ** 2
        first, last = max(start, least), min(end, most)
        if first <= last:
            along = min(max(start + share * (end - start), first), last)
            share = (along - start) / (end - start)
            gap = dist(point, (one[0] + share * east, one[1] + share * north))
            if gap < nearest - 1:
                nearest, found = gap, along
    return found


def between(x, xs, ys):
    """The y for an x, on straight lines between points."""
    at = min(max(bisect_left(xs, x), 1), len(xs) - 1)
    share = (x - xs[at - 1]) / (xs[at] - xs[at - 1])
    return ys[at - 1] + share * (ys[at] - ys[at - 1])


class FollowBuses(KeyedBroadcastProcessFunction):
    """A Place for each position; to PASSED the stops, to SILENT (bus, since when, how far)."""

    def open(self, runtime_context):
        any_value = Types.PICKLED_BYTE_ARRAY()
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", any_value))
        self.last = runtime_context.get_state(ValueStateDescriptor("last", any_value))

    def process_broadcast_element(self, timetable, ctx):
        versions = ctx.get_broadcast_state(TIMETABLES).get(timetable.bus) or {}
        versions = {**versions, timetable.published_ms: timetable.due_ms}
        ctx.get_broadcast_state(TIMETABLES).put(timetable.bus, versions)

    def process_element(self, position, ctx):
        # It waits until no earlier position is expected, and no timetable of before.
        self.waiting.add(position)
        ctx.timer_service().register_event_time_timer(position.time_ms)

    def on_timer(self, timestamp, ctx):
        waiting = list(self.waiting.get())
        self.waiting.update([each for each in waiting if each.time_ms > timestamp])
        for position in waiting:
            if position.time_ms <= timestamp:
                yield from self.moved(position, ctx)
        bus, (time_ms, along) = ctx.get_current_key(), self.last.value() or (timestamp, 0)
        if timestamp == time_ms + MINUTE_MS and along < ALONG[-1] - 300:  # else it is through
            yield SILENT, (bus, time_ms, along)

    def moved(self, position, ctx):
        bus, _, _, now = position
        before, was_along = self.last.value() or (now - MINUTE_MS, 0.0)
        reach = (now - before) / SECOND_MS * 20  # no bus is faster than 20 m/s
        along = on_route(position, was_along, was_along + reach)
        if along is None:
            return
        self.last.update((now, along))
        ctx.timer_service().register_event_time_timer(now + MINUTE_MS)

        versions = ctx.get_broadcast_state(TIMETABLES).get(bus)
        due_ms = versions[max(published for published in versions if published <= now)]
        for stop, stop_along, due in zip(STOP_NAMES, STOP_ALONG, due_ms, strict=True):
            if was_along < stop_along <= along:
                there = between(stop_along, [was_along, along], [before, now])
                yield PASSED, Passed(bus, stop, there, due)
        late = now - between(along, STOP_ALONG, due_ms)
        ahead = min(bisect_left(STOP_ALONG, along), len(STOP_ALONG) - 1)
        yield Place(bus, now, along, late, STOP_NAMES[ahead], due_ms[ahead] + late)


def follow(positions, timetables):
    buses = positions.key_by(lambda position: position.bus)
    return buses.connect(timetables.broadcast(TIMETABLES)).process(FollowBuses()).uid("follow")


# A made-up morning: a traffic jam from 7:35 to 8:05, a bus without a radio for five minutes, and a
# new timetable at 7:45 for the buses that leave after it.


def timetables():
    def table(bus, published_ms, slower_ms=0):
        due = [BUSES[bus] + int(along / 6 * SECOND_MS) for along in STOP_ALONG]
        return Timetable(bus, published_ms, [*due[:3], *(each + slower_ms for each in due[3:])])

    new_ms = START_MS + 45 * MINUTE_MS
    new = [table(bus, new_ms, 4 * MINUTE_MS) for bus in BUSES if BUSES[bus] > new_ms]
    return [*(table(bus, START_MS) for bus in BUSES), *new]


def positions(seed=3):
    random = Random(seed)
    arriving = []
    for bus, time_ms in BUSES.items():
        along, speed = 0, random.uniform(6, 7.5)
        while along < ALONG[-1]:
            if not (bus == 3 and 8 * MINUTE_MS < time_ms - BUSES[bus] < 13 * MINUTE_MS):
                error = 1_000 if random.random() < 0.02 else 12
                east, north = (
                    between(along, ALONG, axis) + random.gauss(0, error)
                    for axis in zip(*ROUTE, strict=True)
                )
                arrives_ms = time_ms + random.randrange(20 * SECOND_MS)
                arriving.append((arrives_ms, Position(bus, east, north, time_ms)))
            time_ms += 15 * SECOND_MS
            jam = 35 < (time_ms - START_MS) / MINUTE_MS < 65 and 2_600 < along < 4_800
            along += 15 * (2.5 if jam else speed) * random.uniform(0.7, 1.2)
    return [position for _, position in sorted(arriving)]


def clock(time_ms):
    return f"{datetime.fromtimestamp(time_ms / 1000, UTC):%H:%M:%S}"


def main():
    target = "local" if "--local" in sys.argv else "spark"
    configuration = Configuration().set_string("execution.target", target)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    by_time = WatermarkStrategy.for_bounded_out_of_orderness(
        Duration.of_seconds(20)
    ).with_timestamp_assigner(lambda position: position.time_ms)
    by_publication = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda timetable: timetable.published_ms
    )
    places = follow(
        env.from_collection(positions()).assign_timestamps_and_watermarks(by_time),
        env.from_collection(timetables()).assign_timestamps_and_watermarks(by_publication),
    )
    passed, silent = places.get_side_output(PASSED), places.get_side_output(SILENT)
    passed.filter(lambda p: p.time_ms - p.due_ms > 3 * MINUTE_MS).map(
        lambda p: f"late: bus {p.bus}, {p.stop}, {(p.time_ms - p.due_ms) / MINUTE_MS:.1f} minutes"
    ).print().set_parallelism(1)
    silent.map(
        lambda s: f"silent: bus {s[0]} since {clock(s[1])}, {s[2] / 1000:.1f} km from the Station"
    ).print().set_parallelism(1)
    with places.union(passed).execute_and_collect("bus positions") as results:
        report(sorted(results, key=lambda found: (found.bus, found.time_ms)))


def report(found):
    """Print one bus's predictions and arrivals, and draw the way of all."""
    told = {}  # what was expected of a stop when the bus had just passed the one before
    arrivals = [each for each in found if isinstance(each, Passed)]
    ways = {f"bus {bus}": [] for bus in BUSES}
    for place in found:
        if isinstance(place, Place):
            told.setdefault((place.bus, place.next_stop), place.arrives_ms)
            ways[f"bus {place.bus}"].append((place.time_ms, place.along))

    print(f"\nbus 4        {'due':>8}  predicted  arrived")
    for bus, stop, time_ms, due_ms in arrivals:
        if bus == 4:
            print(f"{stop:12} {clock(due_ms)}   {clock(told[bus, stop])} {clock(time_ms)}")
    wrong = [abs(told[each.bus, each.stop] - each.time_ms) for each in arrivals]
    print(
        f"predictions from one stop before are wrong by {median(wrong) / SECOND_MS:.0f} s (median)"
    )

    due = {f"bus {table.bus}": table.due_ms for table in timetables()}  # the last version counts
    chart = lines(
        "Seven buses of one line, and their timetable (thin lines)",
        ways,
        faint={bus: list(zip(due_ms, STOP_ALONG, strict=True)) for bus, due_ms in due.items()},
        x_text=lambda time_ms: clock(time_ms)[:5],
        x_ticks=range(START_MS, START_MS + 106 * MINUTE_MS, 15 * MINUTE_MS),
        y_ticks=STOP_ALONG,
        y_text=dict(zip(STOP_ALONG, STOP_NAMES, strict=True)).get,
        height=520,
    )
    with open("bus_positions.svg", "w") as file:
        file.write(chart)
    print("drawn: bus_positions.svg")


if __name__ == "__main__":
    main()
