"""What the bytecode shows of a function's use of its context."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headrace.datastream.functions import (
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    ReduceFunction,
)
from headrace.datastream.state import ListStateDescriptor, ValueStateDescriptor
from headrace.operators.inspection import ContextUsage, inspect_function

VALUE = ValueStateDescriptor("v")


class Quiet(MapFunction):
    def map(self, value: Any) -> Any:
        return value


class Direct(Quiet):
    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(VALUE)
        self.items = runtime_context.get_list_state(ListStateDescriptor("l"))


class Inherited(Direct):
    pass


class Overridden(Direct):
    def open(self, runtime_context: Any) -> None:
        self.name = runtime_context.get_task_name()


class CallsSuper(Direct):
    def open(self, runtime_context: Any) -> None:
        super().open(runtime_context)


class Helped(Quiet):
    def open(self, ctx: Any) -> None:
        self.prepare(ctx)

    def prepare(self, context: Any) -> None:
        self.value = context.get_map_state(VALUE)


class Keeps(Quiet):
    def open(self, runtime_context: Any) -> None:
        self.context = runtime_context

    def map(self, value: Any) -> Any:
        return self.context.get_reducing_state(VALUE)


class Aliased(Quiet):
    def open(self, runtime_context: Any) -> None:
        context = runtime_context
        self.value = context.get_state(VALUE)


class Nested(Quiet):
    def open(self, runtime_context: Any) -> None:
        self.make = lambda: runtime_context.get_aggregating_state(VALUE)


class Twice(Quiet):
    def open(self, runtime_context: Any) -> None:
        self.both = [runtime_context.get_state(d) for d in (VALUE, VALUE)]


class Client:
    def get_state(self) -> int:
        return 1


class Unrelated(Quiet):
    def open(self, runtime_context: Any) -> None:
        self.task = runtime_context.get_task_name()
        self.client = Client()
        self.start = self.client.get_state()


def prepare(function: Any, context: Any) -> None:
    function.value = context.get_state(VALUE)


class ByGlobalFunction(Quiet):
    def open(self, runtime_context: Any) -> None:
        prepare(self, runtime_context)


@pytest.mark.parametrize(
    ("function", "states"),
    [
        (Quiet(), set()),
        (Direct(), {"get_state", "get_list_state"}),
        (Inherited(), {"get_state", "get_list_state"}),
        (Overridden(), set()),
        (CallsSuper(), {"get_state", "get_list_state"}),
        (Helped(), {"get_map_state"}),
        (Keeps(), {"get_reducing_state"}),
        (Aliased(), {"get_state"}),
        (Nested(), {"get_aggregating_state"}),
        (Twice(), {"get_state"}),
        (Unrelated(), set()),
        (ByGlobalFunction(), {"get_state"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_keyed_state(function: Any, states: set[str]) -> None:
    uses = inspect_function(function)
    assert uses.keyed_state == states
    assert uses.keyed is bool(states)


class EventTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)


class FromTimer(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        return None

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        service = ctx.timer_service()
        register = service.register_processing_time_timer
        yield from (register(timestamp + n) for n in range(3))


def arm(ctx: Any) -> None:
    ctx.timer_service().register_event_time_timer(1)


class ByFunction(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        arm(ctx)


class Alarm:
    def arm(self, ctx: Any) -> None:
        ctx.timer_service().register_processing_time_timer(1)


class ByAttribute(KeyedProcessFunction):
    def __init__(self) -> None:
        self.alarm = Alarm()

    def process_element(self, value: Any, ctx: Any) -> None:
        self.alarm.arm(ctx)


def traced(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def wrapper(*args: Any) -> Any:
        return method(*args)

    return wrapper


class Decorated(KeyedProcessFunction):
    @traced
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)


class OnlyDeletes(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().delete_event_time_timer(1)


class Unseen(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        getattr(ctx.timer_service(), "register_" + "processing_time_timer")(1)

    def on_timer(self, timestamp: int, ctx: Any) -> None:
        return None


class EventTimerTaken(EventTimer):
    def on_timer(self, timestamp: int, ctx: Any) -> None:
        return None


class NoTimers(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        return None

    def on_timer(self) -> None:  # a name like another: this kind of function has no timers
        return None


@pytest.mark.parametrize(
    ("function", "event", "processing"),
    [
        (EventTimer(), True, False),
        (FromTimer(), False, True),
        (ByFunction(), True, False),
        (ByAttribute(), False, True),
        (Decorated(), True, False),
        (OnlyDeletes(), False, False),
        (Unseen(), False, True),
        (EventTimerTaken(), True, False),
        (NoTimers(), False, False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_timers(function: Any, event: bool, processing: bool) -> None:
    uses = inspect_function(function)
    assert (uses.event_timers, uses.processing_timers) == (event, processing)
    assert uses.keyed is (event or processing)


def test_a_local_class_and_a_closure() -> None:
    def set_timer(ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)

    class Local(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            set_timer(ctx)

    assert inspect_function(Local()).event_timers


@pytest.mark.parametrize(
    "target",
    [len, lambda ctx: ctx.get_state(VALUE), Direct().map, Direct, functools.partial(print)],
)
def test_plain_callables_have_no_context(target: Any) -> None:
    assert inspect_function(target) == ContextUsage()


def test_a_function_without_a_context_parameter_name() -> None:
    class Odd(ReduceFunction):
        def open(self, *args: Any) -> None:
            self.value = args[0].get_state(VALUE)

        def reduce(self, value1: Any, value2: Any) -> Any:
            return value1

    assert inspect_function(Odd()).keyed_state == {"get_state"}


def test_a_function_that_refers_to_itself() -> None:
    class Loop(Quiet):
        def __init__(self) -> None:
            self.me = self

    assert inspect_function(Loop()) == ContextUsage()


CONTEXT_CALLS = """
from headrace.datastream.state import ValueStateDescriptor

def counter(ctx):
    return ctx.get_state(ValueStateDescriptor("n"))

def later(ctx):
    ctx.timer_service().register_event_time_timer(1)
"""


@pytest.fixture
def other_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package of the user's, apart from this one, that uses contexts."""
    package = tmp_path / "others_package"
    package.mkdir()
    (package / "__init__.py").write_text("from . import calls\n")
    (package / "calls.py").write_text(CONTEXT_CALLS)
    monkeypatch.syspath_prepend(tmp_path)
    yield importlib.import_module("others_package")
    for name in ("others_package", "others_package.calls"):
        sys.modules.pop(name)


def test_functions_of_another_file(other_file: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = other_file.calls
    later = calls.later

    class ByModule(KeyedProcessFunction):
        def open(self, ctx: Any) -> None:
            self.count = calls.counter(ctx)

        def process_element(self, value: Any, ctx: Any) -> None:
            other_file.calls.later(ctx)

    class ByName(KeyedProcessFunction):
        def process_element(self, value: Any, ctx: Any) -> None:
            later(ctx)

    assert inspect_function(ByModule()) == ContextUsage(frozenset({"get_state"}), event_timers=True)
    assert inspect_function(ByName()) == ContextUsage(event_timers=True)
    monkeypatch.setattr(calls, "__file__", "lib/site-packages/others_package/calls.py")
    assert inspect_function(ByName()) == ContextUsage()
