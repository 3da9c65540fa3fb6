"""Copies of user functions, one for each task."""

from __future__ import annotations

import functools
import json
import threading
from typing import Any

import pytest

from headrace.common.watermark_strategy import TimestampAssigner, WatermarkStrategy
from headrace.errors import UnpicklableFunctionError
from headrace.operators.asynchronous.operator import AsyncWaitSpec
from headrace.operators.keyed_process import KeyedProcessSpec
from headrace.operators.map import MapSpec
from headrace.operators.project import ProjectSpec
from headrace.operators.timestamps import TimestampsSpec
from headrace.runtime.user_function import UserFunction, copy_function_object


class Holder:
    def __init__(self, held: Any) -> None:
        self.held = held

    def map(self, value: Any) -> Any:
        return value


@pytest.mark.parametrize(
    "target",
    [len, [].append, Holder, lambda value: value],
    ids=["builtin", "method of a list", "class", "lambda"],
)
def test_functions_builtins_and_classes_stay_what_they_are(target: Any) -> None:
    assert copy_function_object(target) is target


def test_an_object_is_copied_and_its_code_is_not() -> None:
    shared: list[int] = []

    class Local(Holder):
        def note(self, value: int) -> None:
            shared.append(value)

    original = Local({"items": [1], "module": json, "call": lambda: shared.append(2)})
    copied = copy_function_object(original)
    assert type(copied) is Local
    copied.held["items"].append(2)
    assert original.held["items"] == [1]
    assert copied.held["module"] is json
    copied.held["call"]()
    copied.note(3)
    assert shared == [2, 3]


def test_a_bound_method_and_a_partial_hold_objects_too() -> None:
    original = Holder([1])
    assert copy_function_object(original.map).__self__ is not original
    assert copy_function_object(functools.partial(print, original)).args[0] is not original


def test_what_cannot_be_copied_is_reported() -> None:
    with pytest.raises(UnpicklableFunctionError, match="a Holder cannot be copied"):
        copy_function_object(Holder(threading.Lock()))


def test_a_spec_is_copied_with_its_function_and_what_is_known_of_it() -> None:
    function = UserFunction(Holder([1]), "map")
    spec = KeyedProcessSpec(function)
    traits = spec.traits
    copied = spec.copied()
    assert copied.function.target is not function.target
    assert copied.function.method == "map"
    assert copied.traits is traits
    assert spec.function is function


def test_the_functions_of_a_spec_are_its_fields_in_their_order() -> None:
    function, key = UserFunction(len), UserFunction(str)
    spec = AsyncWaitSpec(function, True, 0, 1, key=key)
    assert spec.functions == (function, key)
    assert ProjectSpec((0,)).functions == ()


def test_a_spec_of_a_plain_function_is_equal_to_its_copy() -> None:
    spec = MapSpec(UserFunction(len))
    assert spec.copied() == spec


def test_a_timestamp_assigner_is_copied() -> None:
    class Rising(TimestampAssigner):
        last = 0

        def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
            self.last += 1
            return self.last

    assigner = Rising()
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(assigner)
    timestamp_of = TimestampsSpec(strategy).copied().strategy.timestamp_of
    assert timestamp_of is not None
    assert [timestamp_of("a", None), timestamp_of("b", None)] == [1, 2]
    assert assigner.last == 0
