"""Conditions of a pattern's stages, and how they are combined."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Protocol

from headrace.runtime.user_function import UserFunction


class ConditionContext(Protocol):
    """What a condition can ask about the partial match that an event may continue."""

    def get_events_for_pattern(self, name: str) -> Sequence[Any]:
        """Return the events that a stage has matched so far, in order."""

    def timestamp(self) -> int:
        """Return the event's timestamp (ms)."""

    def current_processing_time(self) -> int:
        """Return the processing time (ms) of the micro-batch."""


Predicate = Callable[[Any, Any], Any]
"""Takes an event and a ``ConditionContext``; what it returns is true or not."""


@dataclass(frozen=True)
class Condition:
    """A condition; subclasses are its forms."""

    def compile(self) -> Predicate:
        """Return the function that evaluates it."""
        raise NotImplementedError

    @property
    def functions(self) -> Iterator[UserFunction]:
        """The user's functions in it."""
        yield from ()

    def with_leaves(self, change: Callable[[Condition], Condition]) -> Condition:
        """Return a copy in which the conditions that are not combined of others are changed."""
        return change(self)

    def copied(self) -> Condition:
        """Return a copy with its own user functions, for one task."""
        return self.with_leaves(_with_own_function)


@dataclass(frozen=True)
class Always(Condition):
    """Every event."""

    def compile(self) -> Predicate:
        return lambda event, context: True

    def __str__(self) -> str:
        return "any event"


@dataclass(frozen=True)
class Call(Condition):
    """A user's function of the event, or of the event and a ``ConditionContext``."""

    function: UserFunction
    takes_context: bool = False

    def compile(self) -> Predicate:
        call: Any = self.function.as_callable()
        if self.takes_context:
            taking_both: Predicate = call
            return taking_both
        return lambda event, context: call(event)

    @property
    def functions(self) -> Iterator[UserFunction]:
        yield self.function

    def __str__(self) -> str:
        name = self.function.name
        code = getattr(self.function.target, "__code__", None)
        if name != "<lambda>" or code is None:
            return name
        return f"lambda at {PurePath(code.co_filename).name}:{code.co_firstlineno}"


@dataclass(frozen=True)
class Subtype(Condition):
    """Instances of a class."""

    of: type

    def compile(self) -> Predicate:
        of = self.of
        return lambda event, context: isinstance(event, of)

    def __str__(self) -> str:
        return f"is {self.of.__name__}"


@dataclass(frozen=True)
class Not(Condition):
    """The events for which another condition does not hold."""

    condition: Condition

    def compile(self) -> Predicate:
        holds = self.condition.compile()
        return lambda event, context: not holds(event, context)

    @property
    def functions(self) -> Iterator[UserFunction]:
        yield from self.condition.functions

    def with_leaves(self, change: Callable[[Condition], Condition]) -> Condition:
        return Not(self.condition.with_leaves(change))

    def __str__(self) -> str:
        return f"not ({self.condition})"


@dataclass(frozen=True)
class _Combined(Condition):
    """Two or more conditions, in the order in which they are evaluated."""

    parts: tuple[Condition, ...]

    @property
    def functions(self) -> Iterator[UserFunction]:
        for part in self.parts:
            yield from part.functions

    def with_leaves(self, change: Callable[[Condition], Condition]) -> Condition:
        return type(self)(tuple(part.with_leaves(change) for part in self.parts))


@dataclass(frozen=True)
class And(_Combined):
    """All of some conditions; each is evaluated if those before it hold."""

    def compile(self) -> Predicate:
        return _all_of([part.compile() for part in self.parts])

    def __str__(self) -> str:
        return f"({' and '.join(map(str, self.parts))})"


@dataclass(frozen=True)
class Or(_Combined):
    """One of some conditions; each is evaluated if none before it holds."""

    def compile(self) -> Predicate:
        return _any_of([part.compile() for part in self.parts])

    def __str__(self) -> str:
        return f"({' or '.join(map(str, self.parts))})"


def _with_own_function(leaf: Condition) -> Condition:
    return replace(leaf, function=leaf.function.copied()) if isinstance(leaf, Call) else leaf


def joined(kind: type[And] | type[Or], before: Condition | None, added: Condition) -> Condition:
    """Return a condition with another one added to it.

    However many are added, the result is no deeper: conditions are pickled, compiled and called
    by functions that call themselves.
    """
    if before is None:
        return added
    return kind((*before.parts, added) if isinstance(before, kind) else (before, added))


def _all_of(parts: Sequence[Predicate]) -> Predicate:
    if len(parts) == 2:  # without a loop: most have two, and it is twice as fast
        left, right = parts
        return lambda event, context: left(event, context) and right(event, context)

    return lambda event, context: all(part(event, context) for part in parts)


def _any_of(parts: Sequence[Predicate]) -> Predicate:
    if len(parts) == 2:
        left, right = parts
        return lambda event, context: left(event, context) or right(event, context)

    return lambda event, context: any(part(event, context) for part in parts)


ALWAYS = Always()


def compile_once(
    condition: Condition, known: dict[int, Predicate], returned: Returned
) -> Predicate:
    """Return the function that evaluates a condition, and calls a function once for an event.

    An event may continue many partial matches. So what a function of the event alone returns is
    kept in ``returned``, which the caller clears before each event. ``known``: the functions of
    other conditions, by the condition's id.
    """
    found = known.get(id(condition))
    if found is None:
        found = known[id(condition)] = _compile_once(condition, known, returned)
    return found


Returned = dict[int, Any]


def _compile_once(
    condition: Condition, known: dict[int, Predicate], returned: Returned
) -> Predicate:
    match condition:
        case Call() if not condition.takes_context:
            call, number, get = condition.function.as_callable(), id(condition), returned.get

            def answer(event: Any, context: Any) -> Any:
                found = get(number)
                if found is None:
                    found = returned[number] = bool(call(event))
                return found

            return answer
        case Not():
            holds = compile_once(condition.condition, known, returned)
            return lambda event, context: not holds(event, context)
        case And():
            return _all_of([compile_once(part, known, returned) for part in condition.parts])
        case Or():
            return _any_of([compile_once(part, known, returned) for part in condition.parts])
    return condition.compile()


def both(left: Condition, right: Condition) -> Condition:
    """Return the conjunction of two conditions."""
    if left is ALWAYS:
        return right
    return left if right is ALWAYS else And((left, right))


def conjuncts(condition: Condition) -> list[Condition]:
    """Return the conditions that must all hold for a condition to hold."""
    if isinstance(condition, And):
        return [found for part in condition.parts for found in conjuncts(part)]
    return [condition]
