"""Every state has its kind and its declared type in the checkpoint and in the savepoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from headrace.common import Duration, Types, WatermarkStrategy
from headrace.common._types.data import type_data
from headrace.datastream import (
    AggregateFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream.functions import CheckpointedFunction, FlatMapFunction
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from headrace.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from headrace.errors import CheckpointError
from headrace.runners import local
from headrace.runtime.savepoint.manifest import Manifest, OperatorEntry
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.testing import run_pipeline

LONG, STRING = Types.LONG(), Types.STRING()
RULES = MapStateDescriptor("rules", STRING, LONG)
LISTED, MAPPED = Types.LIST(LONG), Types.MAP(STRING, Types.ROW_NAMED(["a"], [LONG]))


class Keyed(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", LONG))
        self.all = runtime_context.get_list_state(ListStateDescriptor("all", LONG))
        self.by_name = runtime_context.get_map_state(
            MapStateDescriptor("by name", STRING, Types.ROW_NAMED(["a"], [LONG]))
        )
        self.sum = runtime_context.get_reducing_state(
            ReducingStateDescriptor("sum", lambda one, other: one + other, LONG)
        )
        self.anything = runtime_context.get_state(ValueStateDescriptor("anything"))

    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        self.last.update(value)
        self.all.add(value)
        self.by_name.put("x", (value,))
        self.sum.add(value)
        self.anything.update(value)
        yield value


class Sum(AggregateFunction):
    def create_accumulator(self) -> Any:
        return (0,)

    def add(self, value: Any, accumulator: Any) -> Any:
        return (accumulator[0] + value,)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return (acc_a[0] + acc_b[0],)


class Counting(ProcessWindowFunction):
    """Counts how often a window fired, in state of the window."""

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[Any]:
        fired = context.window_state().get_state(ValueStateDescriptor("fired", LONG))
        fired.update((fired.value() or 0) + 1)
        yield from elements


class Waiting(FlatMapFunction, CheckpointedFunction):
    kind: Any = LONG

    def initialize_state(self, context: Any) -> None:
        store = context.get_operator_state_store()
        self.state = store.get_list_state(ListStateDescriptor("waiting", self.kind))
        self.values = [*self.state.get()]

    def flat_map(self, value: Any) -> Iterable[Any]:
        self.values.append(value)
        yield value

    def snapshot_state(self, context: Any) -> None:
        self.state.update(self.values)


class Ruled(KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        yield value

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterator[Any]:
        ctx.get_broadcast_state(RULES).put("least", value)
        return iter(())


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    by_time = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(
        lambda value, _: value * 1000
    )
    return env.from_sequence(1, 6).assign_timestamps_and_watermarks(by_time)


def keyed(env: StreamExecutionEnvironment) -> Any:
    return numbers(env).key_by(lambda value: value % 2)


def tumbling(env: StreamExecutionEnvironment) -> Any:
    return keyed(env).window(TumblingEventTimeWindows.of(Duration.of_seconds(60)))


def sessions(env: StreamExecutionEnvironment) -> Any:
    return keyed(env).window(EventTimeSessionWindows.with_gap(Duration.of_seconds(60)))


def windowed(env: StreamExecutionEnvironment) -> DataStream:
    windows = keyed(env).window(TumblingEventTimeWindows.of(Duration.of_seconds(2)))
    stream: DataStream = windows.allowed_lateness(60_000).process(Counting())
    return stream


def ruled(env: StreamExecutionEnvironment) -> DataStream:
    stream: DataStream = keyed(env).connect(numbers(env).broadcast(RULES)).process(Ruled())
    return stream


def of(kind: str, declared: Any = None) -> tuple[str, Any, bool]:
    return kind, None if declared is None else declared.to_data(), False


SCHEMAS: dict[str, tuple[Any, str, Mapping[str, Any]]] = {
    "of keys": (
        lambda env: keyed(env).process(Keyed()),
        "states",
        {
            "last": of("value", LONG),
            "all": of("list", LISTED),
            "by name": of("map", MAPPED),
            "sum": of("reducing", LONG),
            "anything": of("value"),
        },
    ),
    "of windows' contents": (
        lambda env: tumbling(env).aggregate(Sum(), accumulator_type=Types.TUPLE([LONG])),
        "tables",
        {"headrace.window-contents": of("aggregating", Types.TUPLE([LONG]))},
    ),
    "of sessions": (
        lambda env: sessions(env).aggregate(Sum(), accumulator_type=Types.TUPLE([LONG])),
        "states",
        {
            "headrace.sessions": (
                "value",
                type_data("SESSIONS", Types.TUPLE([LONG]).to_data()),
                False,
            )
        },
    ),
    "of windows": (windowed, "namespaced", {"fired": of("value", LONG)}),
    "of instances": (
        lambda env: numbers(env).flat_map(Waiting()),
        "states",
        {"waiting": of("value", LONG)},
    ),
    "broadcast": (
        ruled,
        "shared",
        {"rules": of("value", Types.MAP(STRING, LONG))},
    ),
}


@pytest.fixture
def savepoints(monkeypatch: pytest.MonkeyPatch) -> list[Manifest]:
    """The manifests of all savepoints, read back from their text."""
    found: list[Manifest] = []
    original = local.create_savepoint

    def noted(*given: Any) -> Savepoint:
        form = original(*given)
        found.append(Manifest.from_json(form.manifest.to_json()))
        return form

    monkeypatch.setattr(local, "create_savepoint", noted)
    return found


@pytest.mark.parametrize("backends", ["heap", "paged"])
@pytest.mark.parametrize("what", SCHEMAS)
def test_states_have_their_types_in_the_savepoint(
    what: str, backends: Any, savepoints: list[Manifest]
) -> None:
    build, field, expected = SCHEMAS[what]
    run_pipeline(build, cuts=[3, 2, 2], backends=backends, restarts="savepoint")
    assert len(savepoints) > 1
    # What comes of a savepoint says the same of its states as what the program declared.
    for manifest in savepoints[1:]:
        entries = [entry for entry in manifest.operators if entry.kinds()]
        found: dict[str, Any] = {}
        for entry in entries:
            found |= _of(entry, field)
        assert {name: found[name][:3] for name in expected} == expected


def _of(entry: OperatorEntry, field: str) -> Mapping[str, Any]:
    kinds: Mapping[str, Any] = getattr(entry, field)
    return kinds


def test_a_list_of_instances_whose_type_changed_is_refused() -> None:
    class Texts(Waiting):
        kind = STRING

    def program(function: Waiting) -> Any:
        return lambda env: numbers(env).flat_map(function).uid("waiting")

    with pytest.raises(CheckpointError, match=r"'waiting'.* stored as value of LONG .* of STRING"):
        run_pipeline(
            program(Waiting()),
            cuts=[3, 3],
            backends="paged",
            restarts=True,
            successors=[program(Texts())],
        )


class Held(Waiting):
    """Keeps what a function makes of each value, and emits all that it keeps."""

    def __init__(self, make: Any, kind: Any, migrate: Any = None) -> None:
        self._make, self._kind, self._migrate = make, kind, migrate

    def initialize_state(self, context: Any) -> None:
        described = ListStateDescriptor("waiting", self._kind)
        if self._migrate is not None:
            described.migrate(self._migrate)
        self.state = context.get_operator_state_store().get_list_state(described)
        self.values = [*self.state.get()]

    def flat_map(self, value: Any) -> Iterable[Any]:
        self.values.append(self._make(value))
        yield [*self.values]


@pytest.mark.parametrize("restarts", [True, "savepoint"])
def test_lists_of_instances_are_migrated(restarts: Any) -> None:
    def program(function: Waiting) -> Any:
        return lambda env: numbers(env).flat_map(function).uid("waiting").set_parallelism(1)

    later = program(Held(str, STRING, migrate=lambda number: f"was {number}"))
    results = run_pipeline(
        program(Held(int, LONG)),
        cuts=[2, 2, 2],
        backends="paged",
        restarts=restarts,
        successors=[later] * 9,
    )
    longest = max(results.only, key=len)
    assert longest == ["was 1", "was 2", "3", "4", "5", "6"]
