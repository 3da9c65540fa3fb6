"""Conditions by name, with values, as patterns that are data have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from headrace.operators.patterns.conditions import Condition, Predicate
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class NamedCall(Condition):
    """A user's function of the event and of named values.

    ``context``: the name of the parameter that gets a ``ConditionContext``; None: there is none.
    """

    name: str
    function: UserFunction
    values: Mapping[str, Any]
    context: str | None = None

    def compile(self) -> Predicate:
        call, context_name = partial(self.function.as_callable(), **self.values), self.context
        if context_name is None:
            return lambda event, context: bool(call(event))
        return lambda event, context: bool(call(event, **{context_name: context}))

    @property
    def functions(self) -> Iterator[UserFunction]:
        yield self.function

    def copied(self) -> Condition:
        return NamedCall(self.name, self.function.copied(), self.values, self.context)

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.values.items())
        return f"{self.name} ({values})" if values else self.name
