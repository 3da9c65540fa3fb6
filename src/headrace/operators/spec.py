"""What an operator is before it runs: a frozen description with the traits a planner needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.runtime.chain import Operator


@dataclass(frozen=True)
class Traits:
    """What the planner may know of an operator; it never looks at the class.

    ``keyed``: it must run behind a key exchange. ``state`` and ``timers``: what it keeps.
    ``event_time``: it is of no use without watermarks. ``assigns_time``: it replaces timestamps
    and watermarks. ``side_outputs``: it may emit to tags.
    """

    keyed: bool = False
    state: bool = False
    event_timers: bool = False
    processing_timers: bool = False
    event_time: bool = False
    assigns_time: bool = False
    side_outputs: bool = False


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
