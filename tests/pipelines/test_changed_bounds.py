"""An interval join that continues with other bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.common import Configuration, Time, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.functions import ProcessJoinFunction
from headrace.errors import CheckpointError
from headrace.testing import run_pipeline

RECORDS = [
    *[("left", at) for at in (0, 40, 80)],
    ("right", 100),
    *[("right", at) for at in (101, 149, 151)],
    ("left", 160),
    ("right", 250),
]
BEFORE = 4
"""So many records are read with the earlier bounds."""

Pair = tuple[int, int]


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: Any) -> Iterator[Pair]:
        yield left[1], right[1]


def joined(lower: int, upper: int, **settings: str) -> Callable[..., DataStream]:
    def build(_: StreamExecutionEnvironment) -> DataStream:
        env = StreamExecutionEnvironment(Configuration.from_dict(settings))
        times = WatermarkStrategy.for_monotonous_timestamps()
        records = env.from_collection(RECORDS).uid("records")
        timed = records.assign_timestamps_and_watermarks(
            times.with_timestamp_assigner(lambda value: value[1])
        )
        left, right = (
            timed.filter(lambda value, side=side: value[0] == side).key_by(lambda _: "key")
            for side in ("left", "right")
        )
        bounds = Time.milliseconds(lower), Time.milliseconds(upper)
        return left.interval_join(right).between(*bounds).process(Pairs()).uid("pairs")

    return build


def found(before: Any, after: Any, how: dict[str, Any]) -> set[Pair]:
    results = run_pipeline(before, cuts=[BEFORE], successors=[after], **how).only
    assert len(results) == len(set(results))
    return set(results)


def pairs(lower: int, upper: int, before: bool) -> set[Pair]:
    """The pairs of which the later record is read with these bounds."""
    numbered = [*enumerate(RECORDS)]
    return {
        (left, right)
        for at, (side, left) in numbered
        for other, (other_side, right) in numbered
        if side == "left"
        and other_side == "right"
        and lower <= right - left <= upper
        and (max(at, other) < BEFORE) is before
    }


@pytest.fixture(params=["savepoint", "checkpoint"])
def how(request: pytest.FixtureRequest) -> dict[str, Any]:
    restarts = "savepoint" if request.param == "savepoint" else True
    return {"backends": "paged", "restarts": restarts}


@pytest.mark.parametrize("narrower", [(0, 50), (20, 100), (60, 61), (-10, 5)])
def test_only_pairs_within_narrower_bounds_are_found(
    narrower: tuple[int, int], how: dict[str, Any]
) -> None:
    results = found(joined(-10, 100), joined(*narrower), how)
    assert results == pairs(-10, 100, True) | pairs(*narrower, False)


def test_wider_bounds_are_refused(how: dict[str, Any]) -> None:
    with pytest.raises(CheckpointError, match="has wider bounds than in the checkpoint"):
        found(joined(0, 50), joined(0, 100), how)


def test_accepted_wider_bounds_find_all_that_is_still_there(how: dict[str, Any]) -> None:
    """A record of before that is kept may be found; those within the earlier bounds always are."""
    accepted = joined(-20, 100, **{"headrace.restore.accept-bounds": "true"})
    results = found(joined(0, 50), accepted, how)
    assert pairs(0, 50, True) <= results
    after = results - pairs(0, 50, True)
    assert after <= pairs(-20, 100, False)
    read = {at for _, at in RECORDS[BEFORE:]}
    all_after = {pair for pair in pairs(-20, 100, False) if read.issuperset(pair)}
    assert after >= pairs(0, 50, False) | all_after | {(80, 149), (80, 151)}
