"""An operator with two inputs: alone, planned, as a stream and a batch, cut and begun anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headrace.common.time import Duration
from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.datastream.connectors.file_system import FileSource, StreamFormat
from headrace.errors import PlanError
from headrace.runtime.user_function import UserFunction
from headrace.testing import KeyedHarness, run_pipeline

from .connecting import connected
from .enrich import EnrichSpec

BOUND_MS = 20
STRATEGY = WatermarkStrategy.for_bounded_out_of_orderness(
    Duration.of_millis(BOUND_MS)
).with_timestamp_assigner(lambda value: value[-1])


def join(record: Any, fact: Any, age_ms: int) -> Any:
    return (*record, None if fact is None else fact[1], age_ms)


SPEC = EnrichSpec(UserFunction(join))


def harness(**how: Any) -> KeyedHarness:
    return KeyedHarness(SPEC, (0, 0), **how)


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_a_record_waits_for_both_inputs(backend: Any) -> None:
    with harness(backend=backend) as task:
        task.process(("ann", 1), 100)
        task.process(("ann", "red"), 90, input=1)
        task.advance_watermark(200, input=0)
        assert task.output() == []
        assert (task.watermark, task.input_watermark(0), task.input_watermark(1)) == (
            MIN_WATERMARK,
            200,
            MIN_WATERMARK,
        )
        task.process(("ann", "blue"), 95, input=1)
        task.process(("bob", "green"), 95, input=1)
        task.advance_watermark(150, input=1)
        assert task.output_with_timestamps() == [(("ann", 1, "blue", 5), 100)]
        assert (task.watermark, task.input_watermark(0), task.input_watermark(1)) == (150, 200, 150)


def test_an_idle_input_holds_nobody_back() -> None:
    with harness() as task:
        task.process(("ann", 1), 100)
        task.advance_watermark(50, input=1)
        task.advance_watermark(200, input=0)
        assert task.watermark == 50
        task.mark_idle(1)
        assert task.watermark == 200
        assert task.output() == [("ann", 1, None, 0)]
        task.advance_watermark(60, input=1)
        assert (task.watermark, task.input_watermark(1)) == (200, 60)


def test_the_watermark_of_an_input_outlives_a_snapshot() -> None:
    with harness(backend="paged") as task, harness(backend="heap") as other:
        task.process(("ann", 1), 100)
        task.advance_watermark(70, input=1)
        task.advance_watermark(200, input=0)
        other.restore(task.snapshot())
        assert (other.input_watermark(0), other.input_watermark(1)) == (200, 70)
        other.end_input(1)
        assert other.output() == [("ann", 1, None, 0)]
        with pytest.raises(PlanError, match="after the end of input 1"):
            other.process(("ann", "red"), 300, input=1)
        other.process(("ann", 2), 300)
        with pytest.raises(PlanError, match="no input 2"):
            other.process(("ann", 2), 300, input=2)


def test_as_a_batch() -> None:
    with harness(batch=True) as task:
        task.process(("ann", "red"), 90, input=1)
        task.process(("ann", 2), 110)
        task.process(("ann", 1), 80)
        task.end_input(0)
        assert task.output() == []
        assert task.input_watermark(0) == MAX_WATERMARK
        task.process(("ann", "blue"), 100, input=1)
        task.end_input(1)
        assert task.output() == [("ann", 1, None, 0), ("ann", 2, "blue", 10)]


RECORDS = [(f"k{n * 7 % 5}", n, 1_000 + n * 10 - n * 13 % 19) for n in range(60)]
FACTS = [(f"k{n * 3 % 5}", f"f{n}", 1_001 + n * 17 - n * 11 % 17) for n in range(40)]


def expected() -> list[Any]:
    found = []
    for key, number, at in RECORDS:
        facts = [(moment, fact) for k, fact, moment in FACTS if k == key and moment <= at]
        since, fact = max(facts, default=(at, None))
        found.append((key, number, at, fact, at - since))
    return sorted(found)


def program(env: StreamExecutionEnvironment) -> DataStream:
    records = env.from_collection(RECORDS).assign_timestamps_and_watermarks(STRATEGY)
    # the key lies elsewhere in the facts
    facts = env.from_collection([(fact, key, at) for key, fact, at in FACTS])
    facts = facts.assign_timestamps_and_watermarks(STRATEGY)
    keyed = facts.map(lambda fact: (fact[0], fact[0], fact[1])).key_by(lambda fact: fact[2])
    return connected(SPEC, records.key_by(lambda record: record[0]), keyed)


SPREAD = {"key_groups": 7, "parallelism": 3}


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"mode": "batch"},
        {"mode": "batch", **SPREAD},
        {"cuts": [1] * 100},
        {"cuts": [3, 1, 7, 2] * 10, **SPREAD},
        {"cuts": [3, 1, 7, 2] * 10, "backends": "paged", "restarts": True},
        {"cuts": [5] * 20, "backends": "paged", "restarts": True, **SPREAD},
        {"cuts": [5] * 20, "restarts": "savepoint", "regroup": [(3, 1), (11, 2)], **SPREAD},
    ],
)
def test_however_it_is_run(how: Any) -> None:
    assert sorted(run_pipeline(program, **how).only) == expected()


@pytest.mark.parametrize("mode", ["streaming", "batch"])
@pytest.mark.parametrize("spread", [False, True])
def test_an_input_without_a_split_ends(tmp_path: Path, mode: Any, spread: bool) -> None:
    """Nobody waits for ever for a folder that is empty, also where a vertex lies between."""

    def program(env: StreamExecutionEnvironment) -> DataStream:
        records = env.from_collection(RECORDS).assign_timestamps_and_watermarks(STRATEGY)
        lines = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path))
        facts = env.from_source(lines.build(), WatermarkStrategy.no_watermarks(), "facts")
        if spread:
            facts = facts.rebalance().map(lambda line: line)
        return connected(SPEC, records.key_by(lambda r: r[0]), facts.key_by(lambda line: line))

    found = run_pipeline(program, mode).only
    assert sorted(found) == sorted((*record, None, 0) for record in RECORDS)


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_on_spark(mode: str) -> None:
    from headrace.common.configuration import Configuration

    settings = {
        "execution.runtime-mode": mode,
        "parallelism.default": "2",
        "headrace.source.max-records-per-batch": "17",
    }
    env = StreamExecutionEnvironment(Configuration.from_dict(settings))
    results: Any = program(env).execute_and_collect()
    with results:
        assert sorted(results) == expected()
