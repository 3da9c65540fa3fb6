"""Places, arrivals and delays of buses whose way is known exactly."""

from random import Random

import pytest

import bus_positions as buses
from headrace.common import Duration, WatermarkStrategy
from headrace.testing import run_pipeline

SECOND_MS, MINUTE_MS = 1_000, 60_000
BY_TIME = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_seconds(20)
).with_timestamp_assigner(lambda position: position.time_ms)
BY_PUBLICATION = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
    lambda timetable: timetable.published_ms
)
HOWS = [{}, {"cuts": [40] * 20, "key_groups": 4, "parallelism": 2}, {"mode": "batch"}]


def program(positions, timetables):
    def build(env):
        places = buses.follow(
            env.from_collection(positions).assign_timestamps_and_watermarks(BY_TIME),
            env.from_collection(timetables).assign_timestamps_and_watermarks(BY_PUBLICATION),
        )
        sides = {"passed": buses.PASSED, "silent": buses.SILENT}
        return {"places": places} | {
            name: places.get_side_output(tag) for name, tag in sides.items()
        }

    return build


def point(along):
    east, north = (
        buses.between(along, buses.ALONG, axis) for axis in zip(*buses.ROUTE, strict=True)
    )
    return east, north


def test_a_bus_whose_way_is_known():
    """It leaves at 0 with 6 m/s, as planned, and drives with 3 m/s from the Hospital on.

    The radio is off from second 60 to 150. A timetable of second 900 gives it 60 s more.
    """
    hospital = buses.STOPS["Hospital"]

    def along(second):
        if second == 600:  # just after it has turned: the same place on the way in is as near
            return 2 * buses.ALONG[4] - (hospital + 3 * (600 - hospital / 6))
        return min(6 * second, hospital + max(0, 3 * (second - hospital / 6)))

    planned = [int(stop / 6 * SECOND_MS) for stop in buses.STOP_ALONG]
    timetables = [
        buses.Timetable(1, 0, planned),
        buses.Timetable(1, 900 * SECOND_MS, [due + MINUTE_MS for due in planned]),
    ]
    seconds = [second for second in range(0, 1_200, 15) if not 60 < second < 150]
    positions = [buses.Position(1, *point(along(s)), s * SECOND_MS) for s in seconds]
    far_off = buses.Position(1, 5_000, 9_000, 301 * SECOND_MS)
    random = Random(5)
    arriving = sorted(
        [*positions, far_off], key=lambda p: p.time_ms + random.randrange(20 * SECOND_MS)
    )
    assert arriving != sorted(arriving, key=lambda p: p.time_ms)

    for how in HOWS:
        results = run_pipeline(program(arriving, timetables), **how)
        places = sorted(results["places"], key=lambda place: place.time_ms)
        assert [place.time_ms // SECOND_MS for place in places] == seconds
        for second, place in zip(seconds, places, strict=True):
            late = (second - along(second) / 6) - 60 * (second >= 900)
            stop = next(name for name, at in buses.STOPS.items() if at >= along(second) - 1)
            assert place.along == pytest.approx(along(second), abs=1)
            assert place.late_ms == pytest.approx(late * SECOND_MS, abs=200)
            assert place.next_stop == stop
        # Without its radio, and from the last position on: it is not at the end of the route.
        since = [(bus, time_ms // SECOND_MS) for bus, time_ms, _ in sorted(results["silent"])]
        assert since == [(1, 60), (1, seconds[-1])]

        arrivals = {each.stop: each.time_ms / SECOND_MS for each in results["passed"]}
        assert set(arrivals) == {"Market", "Museum", "Hospital", "Park"}
        assert arrivals["Market"] == pytest.approx(150, abs=0.01)
        assert arrivals["Museum"] == pytest.approx(1_749 / 6, abs=0.01)
        assert arrivals["Park"] == pytest.approx(hospital / 6 + (4_800 - hospital) / 3, abs=0.1)


def test_a_prediction_is_the_plan_and_the_delay():
    results = run_pipeline(program(buses.positions(), buses.timetables()))
    due = {(table.bus, table.published_ms): table.due_ms for table in buses.timetables()}
    for place in results["places"]:
        published = max(p for bus, p in due if bus == place.bus and p <= place.time_ms)
        planned = due[place.bus, published][buses.STOP_NAMES.index(place.next_stop)]
        assert place.arrives_ms == pytest.approx(planned + place.late_ms)


def test_the_morning_is_the_same_however_it_is_cut():
    one, cut, batch = (
        run_pipeline(program(buses.positions(), buses.timetables()), **how) for how in HOWS
    )
    for name in ("places", "passed", "silent"):
        assert sorted(one[name]) == sorted(cut[name]) == sorted(batch[name])
    assert [bus for bus, *_ in one["silent"]] == [3]
    ways = {bus: [p.along for p in sorted(one["places"]) if p.bus == bus] for bus in buses.BUSES}
    assert all(way == sorted(way) and way[-1] > 7_000 for way in ways.values())


def test_hospital_road_is_driven_twice():
    position = buses.Position(1, 2_600, 900, 0)
    assert buses.on_route(position, 2_500, 3_500) == pytest.approx(3_148.5, abs=0.1)
    assert buses.on_route(position, 3_500, 4_500) == pytest.approx(3_948.5, abs=0.1)
    assert buses.on_route(position._replace(east=2_700), 2_500, 4_500) is None
