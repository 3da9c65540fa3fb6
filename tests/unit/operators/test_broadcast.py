"""Functions with a broadcast side: in a harness, then in programs however they are run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from headrace.common import WatermarkStrategy
from headrace.common.typeinfo import Types
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.datastream import (
    BroadcastProcessFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from headrace.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ValueStateDescriptor,
)
from headrace.errors import CheckpointError, NotKeyedError, PlanError, TypeMismatchError
from headrace.testing import KeyedHarness, ProcessHarness, run_pipeline

RULES = MapStateDescriptor("rules", Types.STRING(), Types.DOUBLE())
ORDER = MapStateDescriptor("order")
SEEN = ValueStateDescriptor("seen", Types.INT())
LATEST = ListStateDescriptor("latest", Types.INT())
LEARNED = OutputTag("learned")
BY_TIME = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda v: v[-1])


def first(record: Any) -> Any:
    return record[0]


def learn(rule: Any, ctx: Any) -> None:
    state = ctx.get_broadcast_state(RULES)
    name, amount, *_ = rule
    if amount is None:
        state.remove(name)
    else:
        state.put(name, amount)


class Rated(BroadcastProcessFunction[Any, Any, Any]):
    def process_element(self, value: Any, ctx: Any) -> Any:
        state = ctx.get_broadcast_state(RULES)
        yield value, list(state.items()), state.contains("a"), state.get("none"), state.is_empty()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        learn(value, ctx)
        yield LEARNED, (value, ctx.timestamp(), ctx.current_watermark())
        return ctx.current_processing_time()


class KeyedRated(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Records wait for their time."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(SEEN)
        self.latest = runtime_context.get_list_state(LATEST)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.seen.update((self.seen.value() or 0) + 1)
        self.latest.add(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        learn(value, ctx)
        yield "learned", value[0]

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        rules = dict(ctx.get_broadcast_state(RULES).items())
        yield ctx.get_current_key(), self.seen.value(), rules, self.latest.get()
        self.latest.clear()


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_with_keys(backend: Any) -> None:
    make: Any = dict(key_by=0, backend=backend, broadcast_states=[RULES, ORDER])
    with KeyedHarness(KeyedRated(), **make) as task, KeyedHarness(KeyedRated(), **make) as other:
        task.process(("ann", 5), 10)
        task.process(("a", 1), 11, input=1)
        task.process(("ann", 7), 12)
        assert task.output_with_timestamps() == [(("learned", "a"), 11)]
        assert task.broadcast_state("rules") == {"a": 1.0}
        other.restore(task.snapshot())  # what a task sees after a restart
        other.process(("b", 2), 13, input=1)
        other.process(("a", None), 13, input=1)
        other.end_input()
        assert other.output()[2:] == [("ann", 2, {"b": 2.0}, [5, 7]), ("ann", 2, {"b": 2.0}, [])]
        assert (other.state("seen", "ann"), other.broadcast_state("order")) == (2, {})


def test_without_keys() -> None:
    with ProcessHarness(Rated(), broadcast_states=[RULES]) as task:
        task.process("x")
        task.process(("b", 2), 4, input=1)
        task.process(("a", 1.5), input=1)
        task.process(("b", 3), input=1)
        task.process("y")
        assert task.output() == [
            ("x", [], False, None, True),
            ("y", [("b", 3.0), ("a", 1.5)], True, None, False),
        ]
        assert task.side_output(LEARNED)[0] == (("b", 2), 4, MIN_WATERMARK)
        assert task.broadcast_state("rules") == {"b": 3.0, "a": 1.5}
        with pytest.raises(TypeMismatchError, match="a map value of state 'rules'"):
            task.process(("a", "many"), input=1)


class Subscripts(BroadcastProcessFunction[Any, Any, Any]):
    """Uses the state like a dict."""

    def __init__(self, descriptor: MapStateDescriptor) -> None:
        self.descriptor = descriptor

    def process_element(self, value: Any, ctx: Any) -> Any:
        state = ctx.get_broadcast_state(self.descriptor)
        yield [*state], "a" in state, "b" in state, state["a"]

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        state = ctx.get_broadcast_state(self.descriptor)
        state["a"] = state["b"] = value
        del state["b"]
        yield [*state], "a" in state, "b" in state, state["a"]


@pytest.mark.parametrize("descriptor", [RULES, ORDER])
def test_the_state_reads_like_a_dict_on_both_sides(descriptor: MapStateDescriptor) -> None:
    with ProcessHarness(Subscripts(descriptor), broadcast_states=[descriptor]) as task:
        task.process(2.0, input=1)
        task.process("x")
        assert task.output() == [(["a"], True, False, 2.0)] * 2


class Probe(BroadcastProcessFunction[Any, Any, Any]):
    """Calls one of its functions, on the side that the function's name came by."""

    def __init__(self, **functions: Any) -> None:
        self.functions = functions

    def process_element(self, value: Any, ctx: Any) -> Any:
        return [self.functions[value](ctx)]

    process_broadcast_element = process_element


def put_two(ctx: Any) -> None:
    ctx.get_broadcast_state(RULES).put("b", 2)


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state.put("a", 1),
        lambda state: state.put_all({"a": 1}),
        lambda state: state.remove("a"),
        lambda state: state.clear(),
    ],
    ids=["put", "put_all", "remove", "clear"],
)
def test_the_side_that_reads_cannot_change_the_state(change: Any) -> None:
    probe = Probe(put=put_two, change=lambda ctx: change(ctx.get_broadcast_state(RULES)))
    with ProcessHarness(probe, broadcast_states=[RULES]) as task:
        task.process("put", input=1)
        with pytest.raises(PlanError, match="'rules' is changed on the side that may only read"):
            task.process("change")
        assert task.broadcast_state("rules") == {"b": 2.0}
        task.process("change", input=1)
        assert len(task.output()) == 2


def test_a_state_kept_from_the_other_side_cannot_be_changed() -> None:
    class Keeping(BroadcastProcessFunction[Any, Any, Any]):
        def process_element(self, value: Any, ctx: Any) -> Any:
            self.state.put("a", 2)

        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            self.state = ctx.get_broadcast_state(ORDER)
            self.state.put("a", 1)

    with ProcessHarness(Keeping(), broadcast_states=[ORDER]) as task:
        task.process(1, input=1)
        with pytest.raises(PlanError, match="changed for a record that was not broadcast"):
            task.process(1)
        assert task.broadcast_state("order") == {"a": 1}


def test_all_of_a_broadcast_state() -> None:
    def use(ctx: Any) -> Any:
        state = ctx.get_broadcast_state(ORDER)
        state.put_all({"x": 1, "y": None})
        state.put_all([("z", [3])])
        state.get("z").append(4)  # a copy: it must be put again
        found = [[*state.keys()], [*state.values()], [*state.items()], state.is_empty()]
        state.clear()
        state.remove("x")
        return [*found, state.is_empty(), state.contains("x"), state.get("x")]

    with ProcessHarness(Probe(use=use), broadcast_states=[ORDER]) as task:
        task.process("use", input=1)
        keys, values, items, *rest = task.output()[0]
        assert keys == ["x", "y", "z"] and values == [1, None, [3]]
        assert items == [*zip(keys, values, strict=True)]
        assert rest == [False, True, False, None]


def test_states_are_those_that_were_declared() -> None:
    untyped, other = MapStateDescriptor("rules"), MapStateDescriptor("other")
    wrong = MapStateDescriptor("rules", Types.STRING(), Types.INT())
    probe = Probe(
        untyped=lambda ctx: ctx.get_broadcast_state(untyped).put("a", 1),
        other=lambda ctx: ctx.get_broadcast_state(other),
        wrong=lambda ctx: ctx.get_broadcast_state(wrong),
    )
    with ProcessHarness(probe, broadcast_states=[RULES]) as task:
        task.process("untyped", input=1)
        assert task.broadcast_state("rules") == {"a": 1.0}
        for number in (0, 1):
            with pytest.raises(PlanError, match="'other' is not declared") as error:
                task.process("other", input=number)
            assert "'rules'" in str(error.value)
        with pytest.raises(PlanError, match="asked for as MAP<STRING, INT>, but declared as MAP"):
            task.process("wrong")


def test_a_state_that_changed_its_type_is_refused() -> None:
    texts = MapStateDescriptor("rules", Types.STRING(), Types.STRING())
    with (
        ProcessHarness(Probe(put=put_two), broadcast_states=[RULES]) as task,
        ProcessHarness(Probe(put=put_two), broadcast_states=[texts]) as changed,
    ):
        task.process("put", input=1)
        changed.restore(task.snapshot())
        with pytest.raises(CheckpointError, match="'rules' of operator 'Co-Process-Broadcast'"):
            changed.process("put")


class Reaching(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Counts by key; what is broadcast raises the counts of all keys that have one."""

    def open(self, runtime_context: Any) -> None:
        self.seen = runtime_context.get_state(SEEN)
        self.latest = runtime_context.get_list_state(LATEST)

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value[1] is None:
            self.latest.add(1)
        else:
            self.seen.update((self.seen.value() or 0) + value[1])

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        found: list[Any] = []

        def raised(key: Any, state: Any) -> Any:
            found.append((key, state.value()))
            state.update(state.value() + value[0])
            yield "yielded", key

        ctx.get_broadcast_state(ORDER).put(value[0], ctx.get_broadcast_state(ORDER).get("last"))
        ctx.get_broadcast_state(ORDER).put("last", value[0])
        yield "seen", value[0]
        ctx.apply_to_keyed_state(SEEN, raised)
        yield from found


@pytest.mark.parametrize("backend", ["heap", "paged"])
def test_the_broadcast_side_reaches_for_all_keys(backend: Any) -> None:
    class Cleared(Reaching):
        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            class Clear:
                def process(self, key: Any, state: Any) -> None:
                    state.clear()

            ctx.apply_to_keyed_state(SEEN, Clear())

    with KeyedHarness(Reaching(), key_by=0, backend=backend, broadcast_states=[ORDER]) as task:
        for record in (("ann", 1), ("bob", 2), ("ann", 3), ("cy", None)):
            task.process(record)
        task.process((10,), input=1)
        first, *rest = task.output()
        assert first == ("seen", 10)
        assert sorted(rest) == [("ann", 4), ("bob", 2), ("yielded", "ann"), ("yielded", "bob")]
        assert [task.state("seen", key) for key in ("ann", "bob", "cy")] == [14, 12, None]
        with KeyedHarness(Cleared(), key_by=0, backend=backend, broadcast_states=[ORDER]) as other:
            other.restore(task.snapshot())
            other.process((0,), input=1)
            assert (other.keys(), other.output()) == (["cy"], [])


def test_the_broadcast_side_has_no_key() -> None:
    class Careless(Reaching):
        def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
            if value[0]:
                getattr(ctx.timer_service(), "register_event_time_timer")(1)  # noqa: B009
            self.seen.value()

    with KeyedHarness(Careless(), key_by=0, broadcast_states=[ORDER]) as task:
        with pytest.raises(NotKeyedError, match="which has no key") as error:
            task.process((1,), input=1)
        (note,) = error.value.__notes__
        assert "Keyed-Co-Process-Broadcast" in note and "(1,)" in note
        with pytest.raises(NotKeyedError, match="outside of a keyed record"):
            task.process((0,), input=1)
    with pytest.raises(NotKeyedError, match="is for keyed streams"):
        ProcessHarness(KeyedRated(), broadcast_states=[RULES])
    with pytest.raises(NotKeyedError, match="is for unkeyed streams"):
        KeyedHarness(Rated(), 0, broadcast_states=[RULES])


RECORDS = [(f"key {n % 7}", n, 1_000 + 10 * n) for n in range(40)]
CHANGES = [("ab"[n % 2], None if n % 5 == 4 else n, 1_005 + 40 * n) for n in range(10)]
SPREAD = {"key_groups": 5, "parallelism": 2}


def applied(changes: Any) -> dict[str, int]:
    rules: dict[str, int] = {}
    for name, amount, _ in sorted(changes, key=lambda change: change[-1]):
        if amount is None:
            rules.pop(name, None)
        else:
            rules[name] = amount
    return rules


class Dated(KeyedBroadcastProcessFunction[Any, Any, Any, Any]):
    """Records wait for their time, and then see the rules of that time."""

    def open(self, runtime_context: Any) -> None:
        self.waiting = runtime_context.get_map_state(MapStateDescriptor("waiting"))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.waiting.put(ctx.timestamp(), value)
        ctx.timer_service().register_event_time_timer(ctx.timestamp())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        ctx.get_broadcast_state(ORDER).put(ctx.timestamp(), value)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        changes = ctx.get_broadcast_state(ORDER).items()
        yield (
            self.waiting.get(timestamp),
            applied(change for at, change in changes if at <= timestamp),
        )
        self.waiting.remove(timestamp)


def dated(env: StreamExecutionEnvironment) -> DataStream:
    records, changes = (
        env.from_collection(values).assign_timestamps_and_watermarks(BY_TIME)
        for values in (RECORDS, CHANGES)
    )
    return records.key_by(first).connect(changes.broadcast(ORDER)).process(Dated())


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"mode": "batch", **SPREAD},
        {"cuts": [3, 1, 4, 1, 5, 9], "restarts": True, "backends": "paged", **SPREAD},
        {"cuts": [30, 15], "restarts": "savepoint", "regroup": [(3, 1), (4, 3)], **SPREAD},
    ],
    ids=["at once", "batch", "cut and begun anew", "spread otherwise"],
)
def test_records_see_the_rules_of_their_time_however_they_are_run(how: dict[str, Any]) -> None:
    found = sorted(run_pipeline(dated, **how).only, key=lambda result: result[0][1])
    assert found == [
        (record, applied(change for change in CHANGES if change[-1] <= record[-1]))
        for record in RECORDS
    ]


def test_in_a_batch_the_rules_come_first() -> None:
    def program(env: StreamExecutionEnvironment) -> DataStream:
        rules = env.from_collection([("b", 2), ("a", 1)])
        return env.from_collection([1, 2]).connect(rules.broadcast(RULES)).process(Rated())

    for how in ({}, {"parallelism": 2}):
        found = run_pipeline(program, mode="batch", **how).only
        assert [seen[:2] for seen in sorted(found)] == [
            (number, [("b", 2.0), ("a", 1.0)]) for number in (1, 2)
        ]


@pytest.mark.parametrize(
    "how",
    [
        {"cuts": [21, 1]},
        {"cuts": [21, 1], **SPREAD},
        {"cuts": [7, 7, 7, 1], "restarts": True, "backends": "paged", **SPREAD},
    ],
)
def test_all_keys_are_reached_in_every_key_group(how: dict[str, Any]) -> None:
    records = [(f"key {n % 7}", 1) for n in range(21)]
    asks = [("ask", 100), ("ask", 1_000)]

    def program(env: StreamExecutionEnvironment) -> DataStream:
        source = env.from_collection([*records, *asks])
        asking = source.filter(lambda v: v[0] == "ask").map(lambda v: v[1:]).broadcast(ORDER)
        keyed = source.filter(lambda v: v[0] != "ask").key_by(first)
        return keyed.connect(asking).process(Reaching())

    found = Counter(run_pipeline(program, **how).only)
    keys = {key for key, _ in records}
    assert found == Counter(
        [
            *[("seen", amount) for amount in (100, 1_000)],
            *[("yielded", key) for key in keys] * 2,
            *[(key, 3) for key in keys],
            *[(key, 103) for key in keys],
        ]
    )
