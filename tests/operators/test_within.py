"""An operator without state: alone, and in a chain."""

from __future__ import annotations

from headrace.datastream import StreamExecutionEnvironment
from headrace.runtime.user_function import UserFunction
from headrace.testing import ProcessHarness, run_pipeline

from .connecting import connected
from .within import WithinSpec

SPEC = WithinSpec(UserFunction(lambda value: value[1]), 2, 4)
RECORDS = [(name, number) for number, name in enumerate("abcdef", 1)]


def test_alone() -> None:
    with ProcessHarness(SPEC) as task:
        for record in RECORDS:
            task.process(record, record[1])
        task.advance_watermark(9)
        assert task.output_with_timestamps() == [(("b", 2), 2), (("c", 3), 3), (("d", 4), 4)]
        assert task.watermarks() == [9]


def test_in_a_chain() -> None:
    source = StreamExecutionEnvironment().from_collection(RECORDS)
    stream = connected(SPEC, source.map(lambda v: (v[0], v[1] + 1))).map(lambda v: v[0])
    for how in ({}, {"cuts": [1] * 6}, {"mode": "batch"}):
        assert run_pipeline(stream, **how).only == ["a", "b", "c"]
