"""Patterns on Spark: a job that goes on with the same stages, with others, and at another size."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from headrace.cep import CEP, Pattern, PatternProcessFunction
from headrace.common import Configuration, Types, WatermarkStrategy
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import CheckpointError
from headrace.table.expressions import col
from tests.pipelines.log import Log

pytestmark = pytest.mark.spark

KEYS = 20
RECORDS = tuple(
    (key, name, 100 * turn + key) for turn, name in enumerate("axab") for key in range(KEYS)
)
"""Each key has an a, something else, an a and a b; keys in turn, so in order of time."""

CUT = 3 * KEYS - 5
"""Then all keys have an open a, and most a second one, of which the last waits."""


class Times(PatternProcessFunction):
    def process_match(self, match: Any, ctx: Any) -> Iterable[Any]:
        (a,), (b,) = match.values()
        yield a[0], a[2] // 100, b[2] // 100


def run(
    folder: Path, stop: int | None, last: str, over_columns: bool = False, **settings: str
) -> list[Any]:
    """The matches of one run, from where the one before has stopped."""

    def named(name: str) -> Any:
        return col("f1") == name if over_columns else lambda value: value[1] == name

    given = {
        "pipeline.name": "patterns",
        "parallelism.default": "2",
        "execution.checkpointing.dir": str(folder / "checkpoint"),
        "headrace.stop.drain": str(stop is None).lower(),
        **settings,
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(given))
    times = WatermarkStrategy.for_monotonous_timestamps()
    log = env.from_source(
        Log(RECORDS, stop),
        times.with_timestamp_assigner(lambda value: value[2]),
        "log",
        Types.TUPLE([Types.LONG(), Types.STRING(), Types.LONG()]),
    )
    pattern = Pattern.begin("first").where(named("a"))
    pattern = pattern.followed_by(last).where(named("b")).within(1_000)
    keyed = log.uid("log").key_by(lambda value: value[0])
    matches = CEP.pattern(keyed, pattern).process(Times()).uid("pattern")
    with matches.execute_and_collect() as found:  # type: ignore[attr-defined]
        return [*found]


def test_a_job_goes_on_with_partial_matches_or_without_those_of_other_stages(
    tmp_path: Path,
) -> None:
    assert run(tmp_path, CUT, "second") == []
    with pytest.raises(CheckpointError, match="has other stages than in the checkpoint") as error:
        run(tmp_path, None, "third")
    assert error.value.where["gone"] == "second"
    assert error.value.where["new"] == "third"
    more = {"parallelism.default": "3", "headrace.restore.drop-partial-matches": "true"}
    found = run(tmp_path, CUT + 15, "third", **more)
    found += run(tmp_path, None, "third")  # of the same stages by now
    # Those a are left that waited, or had not been read: the watermark is before the last one.
    assert sorted(found) == [(key, 2, 3) for key in range(KEYS - 6, KEYS)]


@pytest.mark.parametrize("over_columns", [False, True])
def test_a_job_goes_on_in_the_same_way(tmp_path: Path, over_columns: bool) -> None:
    assert run(tmp_path, CUT, "second", over_columns) == []
    found = run(tmp_path, None, "second", over_columns, **{"parallelism.default": "3"})
    assert sorted(found) == [(key, turn, 3) for key in range(KEYS) for turn in (0, 2)]
