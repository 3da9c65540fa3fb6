"""A user's function as the operators call it, and copies of it: each task has its own."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import cloudpickle

from headrace.errors import UnpicklableFunctionError


@dataclass(frozen=True)
class UserFunction:
    """A user's function: a plain callable (``method`` None), or an object with ``method``.

    The object, ``target``, may have ``open(runtime_context)`` and ``close()``.
    """

    target: Any
    method: str | None = None

    @property
    def name(self) -> str:
        """A short name for plans and errors."""
        if self.method is not None:
            return type(self.target).__name__
        name: str = getattr(self.target, "__name__", type(self.target).__name__)
        return name

    def as_callable(self) -> Any:
        """Return the callable itself."""
        return self.target if self.method is None else getattr(self.target, self.method)

    def copied(self) -> UserFunction:
        """Return this function with a copy of its object; see ``copy_function_object``."""
        target = copy_function_object(self.target)
        return self if target is self.target else UserFunction(target, self.method)


def copy_function_object(target: Any) -> Any:
    """Copy a function object for one task; plain functions, builtins and classes are not copied.

    Classes, functions and modules that the object refers to are not copied, so what a lambda
    closes over stays shared.

    Raises:
        UnpicklableFunctionError: it holds something that cannot be copied.
    """
    if isinstance(target, FunctionType | BuiltinFunctionType | type):
        return target
    data = io.BytesIO()
    pickler = _Pickler(data)
    try:
        pickler.dump(target)
        unpickler = _Unpickler(io.BytesIO(data.getvalue()))
        unpickler.shared = pickler.shared
        return unpickler.load()
    except Exception as error:  # pickling runs arbitrary code and raises arbitrary errors
        raise UnpicklableFunctionError(
            f"a {type(target).__qualname__} cannot be copied for a task",
            where={"reason": str(error)},
            hint="make what cannot be pickled in open()",
        ) from error


class _Pickler(cloudpickle.Pickler):  # type: ignore[misc]  # cloudpickle has no types
    """Pickles data only; functions, classes and modules are referred to by index in ``shared``."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, protocol=5)
        self.shared: list[Any] = []

    def persistent_id(self, obj: Any) -> int | None:
        if not isinstance(obj, FunctionType | type | ModuleType):
            return None
        self.shared.append(obj)
        return len(self.shared) - 1


class _Unpickler(pickle.Unpickler):
    shared: list[Any]

    def persistent_load(self, pid: Any) -> Any:
        return self.shared[pid]


def open_function(function: UserFunction, context: Any) -> Any:
    """Call a user function's ``open``, if it has one, and return the result."""
    opener = getattr(function.target, "open", None)
    if function.method is not None and callable(opener):
        return opener(context)
    return None


def close_function(function: UserFunction) -> Any:
    """Call a user function's ``close``, if it has one, and return the result."""
    closer = getattr(function.target, "close", None)
    if function.method is not None and callable(closer):
        return closer()
    return None
