"""What cannot be sent to a worker is named while the program is built."""

from __future__ import annotations

import functools
import threading
from typing import Any

import pytest

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream import (
    DataStream,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    StreamExecutionEnvironment,
)
from headrace.datastream._build.pickling import find_unpicklable
from headrace.datastream.connectors.function import FunctionSink
from headrace.errors import UnpicklableFunctionError


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held


class Slotted:
    __slots__ = ("held",)

    def __init__(self, held: Any) -> None:
        self.held = held


class Mapping(MapFunction):
    def __init__(self, held: Any) -> None:
        self.fine = 1
        self.connection = held

    def map(self, value: Any) -> Any:
        return value


@pytest.fixture
def stream() -> DataStream:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env.from_collection([1, 2]).name("numbers").uid("n")


def message_of(call: Any) -> str:
    with pytest.raises(UnpicklableFunctionError) as raised:
        call()
    assert raised.value.__cause__ is not None
    return str(raised.value)


def test_a_captured_variable(stream: DataStream) -> None:
    lock, fine = threading.Lock(), [1]

    def guarded(value: int) -> Any:
        with lock:
            return value + len(fine)

    text = message_of(lambda: stream.map(guarded))
    assert "'guarded', given to map(), cannot be sent to a worker" in text
    assert "it holds 'lock', a _thread.lock" in text
    assert "numbers (uid=n), built at" in text
    assert f"called:   {__file__}:" in text
    assert "guarded at " in text and "open()" in text


def test_an_attribute(stream: DataStream) -> None:
    assert "'self.connection', a _thread.lock" in message_of(
        lambda: stream.map(Mapping(threading.Lock()))
    )
    assert "'self.connection.held[2]', a _thread.lock" in message_of(
        lambda: stream.map(Mapping(Holder([1, 2, threading.Lock()])))
    )


@pytest.mark.parametrize(
    ("make", "path"),
    [
        (lambda lock: lambda v: lock, "lock"),
        (lambda lock: lambda v: [lock for _ in range(v)], "lock"),
        (lambda lock: lambda v, default=lock: default, "default"),
        (lambda lock: lambda v, *, default=lock: default, "default"),
        (lambda lock: functools.partial(pow, lock), "argument 0"),
        (lambda lock: functools.partial(pow, exp=lock), "exp"),
        (lambda lock: Holder({"a": lock}), "self.held['a']"),
        (lambda lock: Slotted((0, lock)), "self.held[1]"),
        (lambda lock: Mapping(lock).map, "self.__self__.connection"),
        (lambda lock: [Holder(lock)], "self[0].held"),
        (lambda lock: lambda v: (lambda: lock)(), "lock"),
    ],
)
def test_how_the_culprit_is_reached(make: Any, path: str) -> None:
    lock = threading.Lock()
    assert find_unpicklable(make(lock)) == (path, lock)


def test_a_class_of_the_program_itself() -> None:
    lock = threading.Lock()

    class Local(MapFunction):
        def map(self, value: Any) -> Any:
            return lock

    assert find_unpicklable(Local()) == ("lock", lock)


def test_what_can_be_pickled_has_no_culprit() -> None:
    assert find_unpicklable(Mapping(3)) is None


def test_an_object_that_refuses_by_itself(stream: DataStream) -> None:
    class Refusing(MapFunction):
        def map(self, value: Any) -> Any:
            return value

        def __reduce__(self) -> Any:
            raise RuntimeError("not me")

    text = message_of(lambda: stream.map(Refusing()))
    assert "cannot be sent to a worker\n" in text and "not me" in text


def test_every_call_is_checked(stream: DataStream) -> None:
    lock = threading.Lock()

    class Selector(KeySelector):
        def get_key(self, value: Any) -> Any:
            return lock

    class Process(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            lock.acquire()

    keyed = stream.key_by(lambda v: v)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    env = stream.get_execution_environment()
    for call in (
        lambda: stream.filter(lambda v: bool(lock)),
        lambda: stream.flat_map(lambda v: [lock]),
        lambda: stream.key_by(Selector()),
        lambda: stream.key_by(lambda v: lock),
        lambda: stream.partition_custom(lambda k, n: lock.acquire(), lambda v: v),
        lambda: stream.partition_custom(lambda k, n: 0, lambda v: lock),
        lambda: keyed.process(Process()),
        lambda: keyed.reduce(lambda a, b: lock),
        lambda: keyed.map(lambda a: lock),
        lambda: stream.sink_to(FunctionSink(lambda values: lock.acquire())),
        lambda: stream.assign_timestamps_and_watermarks(
            strategy.with_timestamp_assigner(lambda v, t: int(lock.acquire()))
        ),
        lambda: env.from_collection([lock]),
    ):
        assert "_thread.lock" in message_of(call)
