"""Finds the broadcast states that a function uses, by its bytecode."""

from __future__ import annotations

import dis
import inspect
import itertools
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import Any

from headrace.datastream.state import MapStateDescriptor
from headrace.graph.transformation import CallSite
from headrace.operators.broadcast.states import undeclared_state_error

_METHODS = ("process_element", "process_broadcast_element", "on_timer")
_ASKS = "get_broadcast_state"
_UNKNOWN: Any = object()
_BETWEEN = frozenset({"CACHE", "EXTENDED_ARG", "NOP", "PRECALL", "PUSH_NULL"})
"""Instructions that some versions of Python put between an argument and its call."""


def require_declared(function: Any, declared: Sequence[str], stream: str, site: CallSite) -> None:
    """Check that the broadcast states that a function uses are declared.

    Descriptors are found in the function's attributes, in globals and in enclosing functions. All
    other descriptors are checked when the function uses them.

    Raises:
        PlanError: a broadcast state is not declared.
    """
    for descriptor in _find_descriptors(function):
        if descriptor.name not in declared:
            name = type(function).__name__
            raise undeclared_state_error(
                descriptor.name, declared, f"{name} on {stream}, given at {site}"
            )


def _find_descriptors(function: Any) -> Iterator[MapStateDescriptor]:
    for name in _METHODS:
        method = getattr(type(function), name, None)
        if isinstance(method, FunctionType):
            for value in _find_arguments(method.__code__, method, function):
                if isinstance(value, MapStateDescriptor):
                    yield value


def _find_arguments(code: CodeType, method: FunctionType, function: Any) -> Iterator[Any]:
    """Yield the arguments of ``get_broadcast_state`` in a method, as far as they are known."""
    found = [each for each in dis.get_instructions(code) if each.opname not in _BETWEEN]
    for index, instruction in enumerate(found):
        if instruction.argval != _ASKS or instruction.opname not in ("LOAD_ATTR", "LOAD_METHOD"):
            continue
        loads = [*itertools.takewhile(_is_load, found[index + 1 :])]
        is_called = found[index + 1 + len(loads)].opname.startswith("CALL")
        if is_called and loads and all(each.opname == "LOAD_ATTR" for each in loads[1:]):
            value = _loaded_value(loads[0], method, function)
            for each in loads[1:]:
                value = inspect.getattr_static(value, str(each.argval), _UNKNOWN)
            yield value


def _is_load(instruction: dis.Instruction) -> bool:
    return instruction.opname.startswith("LOAD")


def _loaded_value(instruction: dis.Instruction, method: FunctionType, function: Any) -> Any:
    name = instruction.argval
    if instruction.opname == "LOAD_GLOBAL":
        return method.__globals__.get(name, _UNKNOWN)
    if instruction.opname == "LOAD_DEREF" and name in method.__code__.co_freevars:
        cell = (method.__closure__ or ())[method.__code__.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:  # not set yet
            return _UNKNOWN
    if instruction.opname.startswith("LOAD_FAST") and name == method.__code__.co_varnames[0]:
        return function
    return _UNKNOWN
