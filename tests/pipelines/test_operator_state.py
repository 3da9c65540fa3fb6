"""State without keys: it is there again after anything, and nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from headrace.common import Types
from headrace.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from headrace.datastream.functions import (
    CheckpointedFunction,
    FlatMapFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)
from headrace.datastream.state import ListStateDescriptor
from headrace.errors import PlanError, TypeMismatchError, UnsupportedError
from headrace.testing import ProcessHarness, run_pipeline


class Buffering(FlatMapFunction, CheckpointedFunction):
    """Gives out records in lists of a size; the others wait, as in a sink that buffers."""

    kind: Any = None

    def __init__(self, size: int) -> None:
        self.size = size
        self.waiting: list[Any] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting", self.kind))
        if context.is_restored():
            self.waiting += self.state.get()

    def flat_map(self, value: Any) -> Iterable[Any]:
        self.waiting.append(value)
        if len(self.waiting) >= self.size:
            yield [*self.waiting]
            self.waiting.clear()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.waiting)


def buffered(count: int, size: int, parallelism: int = 1) -> DataStream:
    numbers = StreamExecutionEnvironment().from_sequence(1, count)
    return numbers.flat_map(Buffering(size)).set_parallelism(parallelism)


CUTS = [1, 1, 3, 2, 1]


@pytest.mark.parametrize(
    ("backends", "restarts"),
    [
        ("heap", False),
        ("paged", False),
        ("paged", True),
        ("heap", "savepoint"),
        ("paged", "savepoint"),
    ],
)
def test_elements_wait_from_one_micro_batch_to_the_next(restarts: Any, backends: Any) -> None:
    how: dict[str, Any] = {"cuts": CUTS, "backends": backends, "restarts": restarts}
    found = run_pipeline(buffered(10, 3), **how).only
    assert found == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


@pytest.mark.parametrize("restarts", [False, True])
def test_each_instance_has_its_own(restarts: Any) -> None:
    assert records(run_pipeline(buffered(24, 4, 3)).only) == [*range(1, 25)]
    how: dict[str, Any] = {"cuts": CUTS, "backends": "paged", "restarts": restarts}
    given = records(run_pipeline(buffered(24, 4, 3), **how).only)
    # Cuts decide which instance gets a record, and so how many still wait.
    assert len(given) == len({*given}) and 24 - len(given) <= 3 * 3


def records(lists: list[list[int]]) -> list[int]:
    return sorted(value for each in lists for value in each)


class Ending(Buffering):
    """Gives out all that waits once the last record is there."""

    last = 30

    def flat_map(self, value: Any) -> Iterable[Any]:
        yield from super().flat_map(value)
        if value == self.last:
            yield [*self.waiting]


def test_instances_fewer_or_more_share_the_elements_out() -> None:
    def build(env: StreamExecutionEnvironment, parallelism: int) -> dict[str, DataStream]:
        ending = env.from_sequence(1, Ending.last).flat_map(Ending(5)).uid("buffer")
        return {"": ending.set_parallelism(parallelism)}

    versions = [lambda env, n=n: build(env, n) for n in (2, 4, 3, 1, 6, 1)]
    found = run_pipeline(
        versions[0], cuts=[5] * 5, restarts="savepoint", successors=versions[1:]
    ).only
    assert records(found) == [*range(1, Ending.last + 1)]


class Largest(ProcessFunction, CheckpointedFunction):
    """Emits records above all before, and what its contexts say."""

    def __init__(self) -> None:
        self.largest = 0
        self.log: list[Any] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_union_list_state(ListStateDescriptor("largest", Types.LONG()))
        self.log.append(("restored", context.is_restored()))
        self.largest = max(self.state.get(), default=0)
        assert store.get_registered_state_names() == {"largest"}

    def open(self, runtime_context: RuntimeContext) -> None:
        self.log.append(("opened", runtime_context.get_index_of_this_subtask()))

    def process_element(self, value: Any, ctx: ProcessFunction.Context) -> Any:
        if value > self.largest:
            self.largest = value
            yield value, [*self.log]
        self.log.clear()

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.clear()
        self.state.add(self.largest)
        self.log.append(("snapshot", context.get_checkpoint_id()))


class Keeping(MapFunction, CheckpointedFunction):
    """Keeps all records; gives each with how many its instance has."""

    def __init__(self, union: bool) -> None:
        self.union = union
        self.kept: list[int] = []

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        descriptor = ListStateDescriptor("kept", Types.LONG())
        if self.union:
            self.state = store.get_union_list_state(descriptor)
        else:
            self.state = store.get_list_state(descriptor)
        self.kept += self.state.get()

    def map(self, value: int) -> tuple[int, int]:
        self.kept.append(value)
        return value, len(self.kept)

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.state.update(self.kept)


@pytest.mark.parametrize("backends", ["heap", "paged"])
def test_a_list_becomes_a_union_list_and_a_list_again(backends: Any) -> None:
    """Over savepoints: no element is lost or doubled, however many instances have them."""

    def version(parallelism: int, union: bool) -> Any:
        def build(env: StreamExecutionEnvironment) -> dict[str, DataStream]:
            kept = env.from_sequence(1, 36).map(Keeping(union)).uid("kept")
            return {"": kept.set_parallelism(parallelism)}

        return build

    shapes = [(3, False), (1, True), (1, True), (4, False), (1, False), (1, True)]
    versions = [version(*shape) for shape in shapes]
    found = run_pipeline(
        versions[0],
        cuts=[6] * 6,
        backends=backends,
        restarts="savepoint",
        successors=[*versions[1:], versions[0]],
    ).only
    assert sorted(value for value, _ in found) == [*range(1, 37)]
    counts = [[count for _, count in found[at : at + 6]] for at in range(0, 36, 6)]
    for at, (parallelism, _) in enumerate(shapes):
        if parallelism == 1:  # the only instance has all records of before
            assert counts[at] == [*range(6 * at + 1, 6 * at + 7)]
        else:
            assert max(counts[at]) < 6 * at + 6


def test_an_instance_lives_on_where_it_is() -> None:
    stream = StreamExecutionEnvironment().from_sequence(1, 3).process(Largest())
    assert run_pipeline(stream, cuts=[1, 1, 1]).only == [
        (1, [("restored", False), ("opened", 0)]),
        (2, [("snapshot", 1)]),
        (3, [("snapshot", 2)]),
    ]


def test_an_instance_is_made_anew_after_a_restart() -> None:
    stream = StreamExecutionEnvironment().from_sequence(1, 2).process(Largest())
    assert run_pipeline(stream, cuts=[1, 1], backends="paged", restarts=True).only == [
        (1, [("restored", False), ("opened", 0)]),
        (2, [("restored", True), ("opened", 0)]),
    ]


def test_an_operator_with_a_union_has_one_instance() -> None:
    numbers = StreamExecutionEnvironment().from_sequence(1, 9)
    values = run_pipeline(numbers.process(Largest()), cuts=[2, 2], parallelism=3).only
    assert [value for value, _ in values] == [*range(1, 10)]
    several = numbers.process(Largest()).set_parallelism(2)
    with pytest.raises(PlanError, match="union list state 'largest'"):
        run_pipeline(several)


def test_in_a_harness_state_goes_from_one_to_the_next() -> None:
    with ProcessHarness(Buffering(2)) as harness:
        harness.process("a")
        snapshot = harness.snapshot()
        harness.process("b")
        assert harness.output() == [["a", "b"]]
    with ProcessHarness(Buffering(2)) as harness:
        harness.restore(snapshot)
        harness.process("c")
        assert harness.output() == [["a", "c"]]


def test_a_failed_call_leaves_nothing_in_the_instance() -> None:
    class Failing(Buffering):
        def flat_map(self, value: Any) -> Iterable[Any]:
            yield from super().flat_map(value)
            if value == "fails":
                raise ValueError(value)

    with ProcessHarness(Failing(2)) as harness:
        harness.process("a")
        with pytest.raises(ValueError, match="fails"):
            harness.process("fails")
        harness.clear_output()
        harness.process("b")
        assert harness.output() == [["a", "b"]]


def test_only_a_process_function_has_side_outputs() -> None:
    numbers = StreamExecutionEnvironment().from_sequence(1, 3)
    numbers.process(Largest()).get_side_output(OutputTag("aside"))
    with pytest.raises(PlanError, match="has no side output 'aside'"):
        numbers.flat_map(Buffering(2)).get_side_output(OutputTag("aside"))


def test_elements_fit_their_type() -> None:
    class Typed(Buffering):
        kind = Types.LONG()

    with ProcessHarness(Typed(9)) as harness, pytest.raises(TypeMismatchError):
        harness.process("a")


def test_state_without_a_key_has_no_place_after_one() -> None:
    class OfKeys(KeyedProcessFunction, CheckpointedFunction):
        def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Any:
            yield value

        def initialize_state(self, context: FunctionInitializationContext) -> None:
            pass

        def snapshot_state(self, context: FunctionSnapshotContext) -> None:
            pass

    class Mapped(OfKeys, MapFunction):  # type: ignore[misc]
        def map(self, value: Any) -> Any:
            return value

    keyed = StreamExecutionEnvironment().from_sequence(1, 3).key_by(lambda value: value)
    with pytest.raises(UnsupportedError, match="no place in process"):
        keyed.process(OfKeys())
    with pytest.raises(UnsupportedError, match="no place in map"):
        keyed.map(Mapped())
