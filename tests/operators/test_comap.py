"""An operator without keys that has two inputs, alone and in a chain with what feeds it."""

from __future__ import annotations

from typing import Any

from headrace.common.watermark_strategy import MAX_WATERMARK, MIN_WATERMARK, WatermarkStrategy
from headrace.datastream import DataStream, StreamExecutionEnvironment
from headrace.runtime.user_function import UserFunction
from headrace.testing import ProcessHarness, run_pipeline

from .comap import CoMapSpec
from .connecting import connected

BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v)


def described(value: Any, seen: int, times: tuple[int, int]) -> Any:
    return value, seen, times


def changing(value: list[int], seen: int, times: Any) -> list[int]:
    value.append(-1)
    return value


def test_each_input_has_its_function_and_its_watermark() -> None:
    spec = CoMapSpec(UserFunction(described), UserFunction(lambda *given: described(*given)[::-1]))
    with ProcessHarness(spec) as task:
        task.process("a", input=0)
        task.advance_watermark(5, input=1)
        task.process("b", input=1)
        assert task.output() == [
            ("a", 0, (MIN_WATERMARK, MIN_WATERMARK)),
            ((MIN_WATERMARK, 5), 1, "b"),
        ]
        assert task.watermarks() == []
        task.advance_watermark(9, input=0)
        assert task.watermarks() == [5]


def test_both_see_the_record_as_it_came() -> None:
    env = StreamExecutionEnvironment()
    source = env.from_collection([[1], [2]])
    spec = CoMapSpec(UserFunction(changing), UserFunction(changing))
    assert run_pipeline(connected(spec, source, source)).only == [
        [1, -1],
        [1, -1],
        [2, -1],
        [2, -1],
    ]


def chained(env: StreamExecutionEnvironment) -> DataStream:
    """The second input's time is ten later."""
    source = env.from_collection([10, 20, 30])
    later = BY_TIME.with_timestamp_assigner(lambda value: value + 10)
    spec = CoMapSpec(UserFunction(described), UserFunction(described))
    return connected(
        spec,
        source.assign_timestamps_and_watermarks(BY_TIME),
        source.assign_timestamps_and_watermarks(later),
    )


def test_in_a_chain_each_input_has_its_time_over_micro_batches_and_restarts() -> None:
    for how in ({}, {"backends": "paged", "restarts": True}):
        results = run_pipeline(chained, cuts=[1, 1, 1], **how).only
        assert [times for value, _, times in results] == [
            (MIN_WATERMARK, MIN_WATERMARK),
            (MIN_WATERMARK, MIN_WATERMARK),
            (9, 19),
            (9, 19),
            (19, 29),
            (19, 29),
        ], how


def test_a_vertex_of_two_inputs_without_keys_over_restarts() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        streams = [
            env.from_collection(values).assign_timestamps_and_watermarks(BY_TIME)
            for values in ([10, 20, 30], [11, 21, 31])
        ]
        return connected(CoMapSpec(UserFunction(described), UserFunction(described)), *streams)

    results = run_pipeline(program, cuts=[2, 2, 2], backends="paged", restarts=True).only
    assert sorted((value, times) for value, _, times in results)[2:] == [
        (20, (9, 10)),
        (21, (19, 10)),  # the first input's mark was next
        (30, (19, 20)),
        (31, (MAX_WATERMARK, 20)),  # and then its end
    ]
