"""A keyed operator and the chain after it are one generated function."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from typing import Any

import pytest

from headrace.common._output_tag import OutputTag
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.map import MapSpec
from headrace.operators.reduce import ReduceSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.loops import GENERATED_PREFIX
from headrace.runtime.operator import OperatorSpec
from headrace.runtime.program import VertexProgram
from headrace.runtime.tasks.keyed_task import TaskInput
from headrace.runtime.user_function import UserFunction
from tests.unit.runtime.keyed import Harness
from tests.unit.runtime.programs import block, chain_of, node, to_node, to_sink


def desk_of(head: Any, *after: OperatorSpec) -> Harness:
    """A task of a head and a row of operators after it, which ends in a sink."""
    spec = head
    if not isinstance(head, OperatorSpec):
        spec = KeyedProcessSpec(UserFunction(head, "process_element"))
    specs = [spec, *after]
    last = len(specs)
    nodes = [
        node(number, each, to_sink(0) if number == last else to_node(number + 1))
        for number, each in enumerate(specs, 1)
    ]
    harness = Harness(spec)
    harness.vertex = VertexProgram(0, 1, True, 4, 1, chain_of(*nodes))
    harness.task = harness.new_task()
    return harness


class TwiceThenFails:
    """Yields two results, and fails for a record that says so."""

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value, 1, ctx.get_current_key()
        yield value, 2, ctx.timestamp()
        if value == "bad":
            raise ValueError("after its results")


def mapped(function: Any) -> MapSpec:
    return MapSpec(UserFunction(function))


def test_each_result_goes_on_before_the_next_one_is_made() -> None:
    order: list[Any] = []

    class Noting:
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            for number in range(2):
                order.append(("made", number))
                yield number

    def went(number: int) -> int:
        order.append(("went", number))
        return number

    assert desk_of(Noting(), mapped(went)).advance(block("x", keys=["k"])) == [0, 1]
    assert order == [("made", 0), ("went", 0), ("made", 1), ("went", 1)]


def test_a_generator_that_fails_after_its_results_is_named_with_its_own_record() -> None:
    harness = desk_of(TwiceThenFails(), mapped(lambda result: ("behind", *result)))
    with pytest.raises(ValueError, match="after its results") as raised:
        harness.advance(block("good", "bad", keys=["a", "b"], stamps=[5, 6]))
    (note,) = raised.value.__notes__
    assert note.splitlines() == [
        "operator: node 1 (uid=none), built at job.py:1",
        "key:      'b'",
        "record:   'bad'",
        "time:     6 ms",
    ]


def test_the_timestamp_that_an_operator_after_it_sets_is_not_that_of_the_next_result() -> None:
    later = WatermarkStrategy.no_watermarks().with_timestamp_assigner(
        lambda result, stamp: stamp + 100
    )
    seen: list[Any] = []

    class Seeing:
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            for number in range(3):
                seen.append(ctx.timestamp())
                yield number

    harness = desk_of(Seeing(), TimestampsSpec(later))
    task = harness.task
    stamps = [
        stamp
        for envelope in task.advance(
            TaskInput(0, [block("x", keys=["k"], stamps=[5])], 0), harness.backend(0)
        )
        for stamp in envelope.payload.timestamps
    ]
    assert stamps == [105, 105, 105]
    assert seen == [5, 5, 5]


def test_a_result_of_a_side_output_is_not_taken_for_the_record() -> None:
    tag = OutputTag("aside")

    class Sorting:
        def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
            yield tag, value
            raise ValueError("after it")

    with pytest.raises(ValueError, match="after it") as raised:
        desk_of(Sorting()).advance(block("x", keys=["k"]))
    assert "record:   'x'" in raised.value.__notes__[0]


@pytest.mark.parametrize("head", [TwiceThenFails(), ReduceSpec(UserFunction(max))])
def test_one_function_takes_a_record_from_the_key_to_the_sink(head: Any) -> None:
    """A second generated function is called only after what keeps its results (a copy goes on)."""

    def fail(value: Any) -> Any:
        raise KeyError(value)

    with pytest.raises(KeyError) as raised:
        desk_of(head, mapped(fail)).advance(block("x", keys=["k"]))
    frames = traceback.extract_tb(raised.value.__traceback__)
    generated = [frame for frame in frames if frame.filename.startswith(GENERATED_PREFIX)]
    assert len(generated) == (2 if isinstance(head, ReduceSpec) else 1)
