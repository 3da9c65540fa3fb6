"""Finds out from byte code how a user's function uses its context.

The planner must know before the job runs whether a function uses keyed state or timers. Nothing is
called. The code of the function's class, and the user's code that it refers to, is searched for the
names of context methods.
"""

from __future__ import annotations

import dis
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

STATE_METHODS = frozenset(
    {
        "get_state",
        "get_list_state",
        "get_map_state",
        "get_reducing_state",
        "get_aggregating_state",
    }
)
_EVENT_TIMER = "register_event_time_timer"
_PROCESSING_TIMER = "register_processing_time_timer"
_MAX_CODES = 2000
_MAX_OBJECTS = 20_000


@dataclass(frozen=True)
class ContextUsage:
    """What a function uses: ``RuntimeContext`` methods for keyed state, and kinds of timers."""

    keyed_state: frozenset[str] = frozenset()
    event_timers: bool = False
    processing_timers: bool = False

    @property
    def keyed(self) -> bool:
        """Whether the function needs a keyed stream."""
        return bool(self.keyed_state) or self.event_timers or self.processing_timers


def inspect_function(target: Any) -> ContextUsage:
    """Return what a function object uses; nothing for a plain callable, without a context.

    Calls by ``getattr`` with a computed name, or from installed packages, are not found. If there
    is an ``on_timer`` method and no timer is found, processing-time timers are assumed.
    """
    if isinstance(target, FunctionType | MethodType | type) or not hasattr(target, "open"):
        return ContextUsage()
    names = reachable_attributes(target)
    event, processing = _EVENT_TIMER in names, _PROCESSING_TIMER in names
    return ContextUsage(
        keyed_state=_keyed_state_methods(target, names),
        event_timers=event,
        processing_timers=processing or (not event and overrides(type(target), "on_timer")),
    )


def reachable_attributes(target: Any) -> set[str]:
    """Return the names of attributes that an object's code reads, with all code it refers to."""
    return {name for code in _reachable_code(target) for name in loaded_attributes(code)}


def defines(kind: type, name: str) -> bool:
    """Return whether a class has a method that is not Headrace's own."""
    owner = next((base for base in kind.__mro__ if name in vars(base)), None)
    return owner is not None and not _is_headrace_class(owner)


def overrides(kind: type, name: str) -> bool:
    """Return whether a user's class overrides a method of a Headrace class."""
    owners = (base for base in kind.__mro__ if name in vars(base))
    return defines(kind, name) and any(map(_is_headrace_class, owners))


def _keyed_state_methods(target: Any, names: set[str]) -> frozenset[str]:
    # A user's own `self.client.get_state()` is no keyed state. As long as `open` only reads
    # attributes of its context, these are all that count. If it passes the context on (to a
    # helper, to super, to self), the name may be read anywhere.
    opens = list(_method_codes(type(target), "open"))
    if not opens:
        return frozenset()
    direct: set[str] = set()
    for code in opens:
        parameters = code.co_varnames[: code.co_argcount]
        if len(parameters) < 2:
            return frozenset(names & STATE_METHODS)
        attributes, escapes = _attributes_of(code, parameters[1])
        if escapes:
            return frozenset(names & STATE_METHODS)
        direct |= attributes
    return frozenset(direct & STATE_METHODS)


def loaded_attributes(code: CodeType) -> set[str]:
    """Return the names of the attributes that a code object reads, without nested code."""
    return set(_loaded_attributes(code))


@lru_cache(maxsize=1 << 14)
def _loaded_attributes(code: CodeType) -> frozenset[str]:
    return frozenset(
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if _reads_attribute(instruction.opname)
    )


def _reads_attribute(opname: str) -> bool:
    # 3.11 has LOAD_METHOD beside LOAD_ATTR, 3.12 adds LOAD_SUPER_ATTR
    return opname in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR")


def _attributes_of(code: CodeType, variable: str) -> tuple[set[str], bool]:
    """Return the attributes read from a variable, and whether it has other uses too."""
    attributes: set[str] = set()
    instructions = list(dis.get_instructions(code))
    for index, instruction in enumerate(instructions):
        loaded = _variables_loaded(instruction)
        if variable not in loaded:
            continue
        if loaded[-1] != variable or variable in loaded[:-1]:
            return attributes, True
        steps_after = instructions[index + 1]
        if not _reads_attribute(steps_after.opname) or steps_after.opname == "LOAD_SUPER_ATTR":
            return attributes, True
        attributes.add(str(steps_after.argval))
    return attributes, False


def _variables_loaded(instruction: dis.Instruction) -> tuple[str, ...]:
    # LOAD_FAST_LOAD_FAST (3.13) loads two; LOAD_CLOSURE hands the variable to nested code;
    # MAKE_CELL only says that nested code will want it
    name = instruction.opname
    if name == "STORE_FAST_LOAD_FAST":
        return (instruction.argval[1],)
    if name.startswith("LOAD_FAST") or name in ("LOAD_DEREF", "LOAD_CLOSURE"):
        argval = instruction.argval
        return argval if isinstance(argval, tuple) else (str(argval),)
    return ()


def _method_codes(kind: type, name: str) -> Iterator[CodeType]:
    """Yield the code of a method and, if it uses ``super``, of the methods that it overrides."""
    for base in kind.__mro__:
        if _is_headrace_class(base):
            continue
        method = _plain_function(vars(base).get(name))
        if method is None:
            continue
        yield method.__code__
        if "super" not in method.__code__.co_names:
            return


def _plain_function(value: Any) -> FunctionType | None:
    """Return the Python function inside a method, static method, property or decorator."""
    for _ in range(8):
        if isinstance(value, FunctionType):
            wrapped = getattr(value, "__wrapped__", None)
            if wrapped is None:
                return value
            value = wrapped
        elif isinstance(value, MethodType | classmethod | staticmethod):
            value = value.__func__
        elif isinstance(value, property):
            value = value.fget
        else:
            return None
    return None


def _is_headrace_class(kind: type) -> bool:
    return kind is object or kind.__module__.startswith(
        ("headrace.datastream.", "headrace.common.")
    )


def _reachable_code(target: Any) -> Iterator[CodeType]:
    """Yield the code of the target's class, then the user's code it refers to, breadth first."""
    package = _root_package(type(target).__module__)
    waiting: deque[Any] = deque([target])
    seen: set[int] = set()
    count = 0
    while waiting and count < _MAX_CODES and len(seen) < _MAX_OBJECTS:
        item = waiting.popleft()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, CodeType):
            count += 1
            yield item
            waiting.extend(const for const in item.co_consts if isinstance(const, CodeType))
        elif isinstance(item, FunctionType):
            waiting.append(item.__code__)
            waiting.extend(_list_references(item, package))
        elif isinstance(item, type):
            for base in item.__mro__:
                if not _is_headrace_class(base) and _root_package(base.__module__) != "builtins":
                    waiting.extend(vars(base).values())
        elif (function := _plain_function(item)) is not None:
            waiting.append(function)
            # the object of a bound method may use the context too
            if isinstance(item, MethodType):
                waiting.append(item.__self__)
        elif _is_user_module(type(item).__module__, package):
            waiting.append(type(item))
            waiting.extend(getattr(item, "__dict__", {}).values())


def _list_references(function: FunctionType, package: str) -> Iterator[Any]:
    """Yield the user's functions and classes that a function's code names or closes over."""
    referenced = [
        function.__globals__[name]
        for name in global_names(function.__code__)
        if name in function.__globals__
    ]
    for cell in function.__closure__ or ():
        try:
            referenced.append(cell.cell_contents)
        except ValueError:  # a variable not bound yet
            continue
    attributes: set[str] | None = None
    for value in referenced:  # grows: a package has modules
        if isinstance(value, ModuleType):
            if _is_user_module(value.__name__, package):
                attributes = attributes or _attributes_read(function.__code__)
                inner = (vars(value).get(name) for name in attributes)
                referenced.extend(
                    one for one in inner if not any(one is known for known in referenced)
                )
        elif isinstance(value, FunctionType | type) and _is_user_module(
            str(value.__module__), package
        ):
            yield value
    wrapped = getattr(function, "__wrapped__", None)
    if wrapped is not None:
        yield wrapped


def _attributes_read(code: CodeType) -> set[str]:
    """Return the names of the attributes that a code object reads, with nested code."""
    names = loaded_attributes(code)
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names |= _attributes_read(const)
    return names


def _is_user_module(module: str, package: str) -> bool:
    """Return whether a module is a user's: in the target's own package, or not installed."""
    name = _root_package(module)
    if name == package:
        return True
    if name in sys.stdlib_module_names or name == "headrace" or name.startswith("headrace."):
        return name == "__main__"
    path = getattr(sys.modules.get(module), "__file__", None) or ""
    return "site-packages" not in path and "dist-packages" not in path


@lru_cache(maxsize=1 << 14)
def global_names(code: CodeType) -> tuple[str, ...]:
    """Return the names of the globals that a code object reads, with nested code."""
    read = [
        str(instruction.argval)
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    ]
    nested = (global_names(const) for const in code.co_consts if isinstance(const, CodeType))
    return tuple(dict.fromkeys(chain(read, *nested)))


def _root_package(module: str) -> str:
    # each module of Headrace counts as a package: `headrace.demo` is a user's program
    return module.partition(".")[0] if not module.startswith("headrace.") else module
