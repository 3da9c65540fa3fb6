"""Aggregating state."""

from __future__ import annotations

from typing import Any

from headrace.common._types.data import TypeData
from headrace.common.typeinfo import TypeInformation
from headrace.runtime.state.handles.coercion import Fit, fit_of
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.kinds import AGGREGATING, type_data_of
from headrace.runtime.state.ttl import Ttl


class AggregatingHandle(Handle):
    """The aggregating state of the current key: an accumulator of an ``AggregateFunction``."""

    kind = AGGREGATING

    def __init__(
        self,
        context: KeyContext,
        name: str,
        ttl: Ttl | None,
        type_info: TypeInformation | None,
        function: Any,
    ) -> None:
        super().__init__(context, name, ttl, type_info)
        self.stored_kind = self.stored_kind._replace(type=accumulator_data(function, type_info))
        self._function = fitted_aggregate(function, type_info, name)

    def get(self) -> Any:
        """Return the function's result for the accumulator, or None when nothing was added."""
        stored = self._read()
        return None if stored is None else self._function.get_result(stored)

    def add(self, value: Any) -> None:
        """Add one value to the accumulator."""
        stored = self._read()
        if stored is None:
            stored = self._function.create_accumulator()
        self._write(self._function.add(value, stored))

    def purge(self) -> None:
        """Remove the accumulator if it has expired."""
        self._purge_single()


def accumulator_data(function: Any, declared: TypeInformation | None) -> TypeData | None:
    """Return the accumulator type as data: that of the function, otherwise the declared one."""
    own: TypeData | None = getattr(function, "accumulator_data", None)
    return type_data_of(declared) if own is None else own


def fitted_aggregate(function: Any, declared: TypeInformation | None, state: str) -> Any:
    """Return an aggregate function that coerces its accumulators to a type, if needed."""
    fit = fit_of(declared, state, "an accumulator")
    return function if fit is None else _FittedAggregate(function, fit)


class _FittedAggregate:
    def __init__(self, function: Any, fit: Fit) -> None:
        self._add, self._merge, self._fit = function.add, function.merge, fit
        self.create_accumulator = function.create_accumulator
        self.get_result = function.get_result

    def add(self, value: Any, accumulator: Any) -> Any:
        return self._fit(self._add(value, accumulator))

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return self._fit(self._merge(acc_a, acc_b))
