"""A task that a program has, the next one has not, and the one after it has again.

What it kept is from before: meanwhile the time went on, and splits of its sources ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from headrace.common.time import Duration
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.connector import Budget, Progress, Source, SplitEnumerator, SplitRange, SplitReader
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors._indexed import IndexedReader
from headrace.datastream.window import TumblingEventTimeWindows
from headrace.testing import run_pipeline

TIMES = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(5)
).with_timestamp_assigner(lambda value: value[1])
LOGS = {
    "short": tuple((0, 1000 + 10 * number) for number in range(2)),
    "long": tuple((0, 1000 + 10 * number) for number in range(9)),
}


@dataclass(frozen=True)
class Logs(Source):
    """Several logs: a split each, of which a micro-batch reads one record."""

    records: Mapping[str, tuple[Any, ...]]

    @property
    def bounded(self) -> bool:
        return True

    def enumerator(self, directory: str) -> SplitEnumerator:
        return _Enumerator({split: len(found) for split, found in self.records.items()})

    def reader(self) -> SplitReader:
        return IndexedReader(lambda r, at, to: list(self.records[r.split][at:to]))


@dataclass
class _Enumerator(SplitEnumerator):
    lengths: dict[str, int]

    def initial(self, now_ms: int) -> dict[str, Any]:
        return dict.fromkeys(self.lengths, 0)

    def advance(
        self, positions: Mapping[str, Any], budget: Budget, now_ms: int, paused: frozenset[str]
    ) -> Progress:
        after = {split: at + 1 for split, at in positions.items()}
        finished = {split: at for split, at in after.items() if at == self.lengths[split]}
        left = {split: at for split, at in after.items() if split not in finished}
        return Progress(left, finished, not left)

    def ranges(
        self, start: Mapping[str, Any], end: Mapping[str, Any], finished: frozenset[str]
    ) -> Sequence[SplitRange]:
        return [SplitRange(split, start[split], end[split], records=1) for split in end]


def version(spread: bool) -> Any:
    """``spread``: there is one more task, between the source and the windows."""

    def build(env: StreamExecutionEnvironment) -> DataStream:
        stream = env.from_source(Logs(LOGS), TIMES, "logs")
        if spread:
            stream = stream.rebalance().map(lambda value: value).set_parallelism(2)
        windows = stream.key_by(lambda value: value[0]).window(TumblingEventTimeWindows.of(10))
        return windows.sum(1).uid("windows")

    return build


@pytest.mark.parametrize("restarts", [True, "savepoint"])
def test_a_split_that_ended_meanwhile_holds_nothing_back(restarts: Any) -> None:
    versions = [version(False), *[version(True)] * 9]
    found = run_pipeline(version(True), backends="paged", restarts=restarts, successors=versions)
    short, long = LOGS.values()
    assert found.only == [*[(key, 2 * at) for key, at in short], *long[2:]]
