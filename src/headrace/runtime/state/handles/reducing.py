"""Reducing state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.common.typeinfo import TypeInformation
from headrace.runtime.state.handles.coercion import Fit, fit_of
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.kinds import REDUCING
from headrace.runtime.state.ttl import Ttl


class ReducingHandle(Handle):
    """The reducing state of the current key."""

    kind = REDUCING

    def __init__(
        self,
        context: KeyContext,
        name: str,
        ttl: Ttl | None,
        type_info: TypeInformation | None,
        reduce: Callable[[Any, Any], Any],
    ) -> None:
        super().__init__(context, name, ttl, type_info)
        self._fit = fit = fit_of(type_info, name)
        self._reduce = reduce if fit is None else _coerce_results(reduce, fit)

    def get(self) -> Any:
        """Return the reduced value, or None when nothing was added."""
        return self._read()

    def add(self, value: Any) -> None:
        """Combine one more value with the state by the reduce function."""
        if self._fit is not None:
            value = self._fit(value)
        stored = self._read()
        self._write(value if stored is None else self._reduce(stored, value))

    def purge(self) -> None:
        """Remove the value if it has expired."""
        self._purge_single()


def _coerce_results(reduce: Callable[[Any, Any], Any], fit: Fit) -> Callable[[Any, Any], Any]:
    return lambda value1, value2: fit(reduce(value1, value2))
