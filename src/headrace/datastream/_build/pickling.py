"""Checks that user functions can be pickled, and finds what cannot."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import Any

import cloudpickle

from headrace.errors import UnpicklableFunctionError
from headrace.graph.transformation import CallSite
from headrace.operators.inspection import global_names

_MAX_DEPTH = 6
_HINT = "make it in open(), or inside the function, so that each worker has its own"


def require_picklable(target: Any, role: str, stream: str, site: CallSite) -> None:
    """Check that ``target`` (a function or a connector) can be pickled.

    ``role``: its description in messages, such as ``the function given to map()``.

    Raises:
        UnpicklableFunctionError: pickling fails. The message names the captured variable.
    """
    try:
        cloudpickle.dumps(target)
    except Exception as error:  # pickling runs arbitrary code and raises arbitrary errors
        raise _unpicklable_error(target, role, stream, site, error) from error


def _unpicklable_error(
    target: Any, role: str, stream: str, site: CallSite, error: Exception
) -> UnpicklableFunctionError:
    where = {"stream": stream, "called": str(site)}
    defined = _find_definition(target)
    if defined:
        where["function"] = defined
    culprit = find_unpicklable(target)
    if culprit is None:
        where["reason"] = str(error)
        return UnpicklableFunctionError(f"{role} cannot be sent to a worker", where=where)
    path, value = culprit
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    where["variable"] = f"{path} = {_short_repr(value)}"
    where["reason"] = str(error)
    return UnpicklableFunctionError(
        f"{role} cannot be sent to a worker: it holds {path!r}, a {kind}", where=where, hint=_HINT
    )


def find_unpicklable(target: Any) -> tuple[str, Any] | None:
    """Return the innermost value that cannot be pickled, with the path to it; or None."""
    found: tuple[str, Any] | None = None
    value, path = target, ""
    for _ in range(_MAX_DEPTH):
        for step, part in _list_pickled_parts(value):
            if not _is_picklable(part):
                # an attribute or item continues the path, a captured variable begins a new one
                path = (path or "self") + step if step[0] in ".[" else step
                found, value = (path, part), part
                break
        else:
            return found
    return found


def _is_picklable(value: Any) -> bool:
    try:
        cloudpickle.dumps(value)
    except Exception:  # as in require_picklable
        return False
    return True


def _list_pickled_parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the values that are pickled with a value, each with its variable or ``.attribute``."""
    if isinstance(value, MethodType):
        yield ".__self__", value.__self__
        value = value.__func__
    if isinstance(value, functools.partial):
        yield ".func", value.func
        yield from ((f"argument {index}", part) for index, part in enumerate(value.args))
        yield from value.keywords.items()
    elif isinstance(value, FunctionType):
        yield from _list_captured_variables(value)
    elif isinstance(value, type):
        for member in vars(value).values():
            function = getattr(member, "__func__", member)
            if isinstance(function, FunctionType):
                yield from _list_captured_variables(function)
    elif isinstance(value, dict):
        yield from ((f"[{key!r}]", part) for key, part in value.items())
    elif isinstance(value, list | tuple | set | frozenset):
        yield from ((f"[{index}]", part) for index, part in enumerate(value))
    else:
        yield from ((f".{name}", part) for name, part in getattr(value, "__dict__", {}).items())
        for base in type(value).__mro__:
            for name in _list_slots(base):
                if hasattr(value, name):
                    yield f".{name}", getattr(value, name)
        yield from _list_pickled_parts(type(value))


def _list_slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _list_captured_variables(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a variable not bound yet
            continue
    for name in global_names(function.__code__):
        if name in function.__globals__:
            yield name, function.__globals__[name]
    defaults = function.__defaults__ or ()
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    yield from zip(arguments[len(arguments) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()


def _find_definition(target: Any) -> str | None:
    function = getattr(target, "__func__", target)
    if not isinstance(function, FunctionType):
        return type(target).__qualname__
    code = function.__code__
    return f"{function.__qualname__} at {code.co_filename}:{code.co_firstlineno}"


def _short_repr(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:  # a user's repr must not hide the message
        text = f"<repr failed: {error}>"
    return text if len(text) <= 120 else text[:117] + "..."
