"""What an operator is before it runs: a frozen description with the traits a planner needs."""

from __future__ import annotations

import copy
import io
import pickle
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Self

import cloudpickle

from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.errors import UnpicklableFunctionError

if TYPE_CHECKING:
    from headrace.runtime.chain import Operator


@dataclass(frozen=True)
class Traits:
    """What the planner may know of an operator; it never looks at the class.

    ``keyed``: it must run behind a key exchange. ``state`` and ``timers``: what it keeps.
    ``event_time``: it is of no use without watermarks. ``assigns_time``: it replaces timestamps
    and watermarks. ``side_outputs``: it may emit to tags. ``keeps_emitted``: what it emits stays
    its state.
    """

    keyed: bool = False
    state: bool = False
    event_timers: bool = False
    processing_timers: bool = False
    event_time: bool = False
    assigns_time: bool = False
    side_outputs: bool = False
    keeps_emitted: bool = False


@dataclass(frozen=True)
class UserFunction:
    """A user's function as the operators call it.

    ``target`` is a plain callable (``method`` None) or an object with ``method`` and, perhaps,
    ``open(runtime_context)`` and ``close()``.
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

    def bound(self) -> Any:
        """The callable itself."""
        return self.target if self.method is None else getattr(self.target, self.method)

    @property
    def qualified_name(self) -> str:
        """The name of the function, or of the object's class, within its module."""
        name: str | None = None
        if self.method is None:
            name = getattr(self.target, "__qualname__", None)
        return name or type(self.target).__qualname__

    def copied(self) -> UserFunction:
        """The same with an object of its own; see ``own_copy``."""
        target = own_copy(self.target)
        return self if target is self.target else UserFunction(target, self.method)


def own_copy(target: Any) -> Any:
    """A copy of a function object, for one task; plain functions, builtins and classes themselves.

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
    """Leaves code where it is: ``shared`` has it, and the bytes its position there."""

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


class OperatorSpec(ABC):
    """A frozen description of one operator; subclasses are dataclasses compared by value."""

    traits: Traits = Traits()

    @property
    @abstractmethod
    def label(self) -> str:
        """The operator's default name, such as ``Map`` or ``KeyedProcess``."""

    @abstractmethod
    def build(self) -> Operator:
        """A new, mutable operator: one per task."""

    @property
    def functions(self) -> tuple[UserFunction, ...]:
        """The user functions inside, for checks at build time."""
        return ()

    def copied(self) -> Self:
        """The same with user functions of its own, for one task.

        A spec around another (a test's) keeps that one's.
        """
        made = copy.copy(self)  # keeps what was computed of the traits
        for field in fields(self):  # type: ignore[arg-type]  # subclasses are dataclasses
            value = getattr(self, field.name)
            if isinstance(value, UserFunction):
                vars(made)[field.name] = value.copied()
            elif isinstance(value, WatermarkStrategy):
                assigner = own_copy(value.timestamp_assigner)
                vars(made)[field.name] = replace(value, timestamp_assigner=assigner)
        return made
