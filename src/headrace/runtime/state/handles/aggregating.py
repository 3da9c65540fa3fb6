"""Aggregating state."""

from __future__ import annotations

from typing import Any

from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.kinds import AGGREGATING
from headrace.runtime.state.ttl import Ttl


class AggregatingHandle(Handle):
    """One accumulator per key, fed by an ``AggregateFunction``."""

    kind = AGGREGATING

    def __init__(
        self,
        context: KeyContext,
        name: str,
        ttl: Ttl | None,
        type_text: str | None,
        function: Any,
    ) -> None:
        super().__init__(context, name, ttl, type_text)
        self._function = function

    def get(self) -> Any:
        """The function's result for the accumulator, or None when nothing was added."""
        held = self._read()
        return None if held is None else self._function.get_result(held)

    def add(self, value: Any) -> None:
        """Add one value to the accumulator."""
        held = self._read()
        if held is None:
            held = self._function.create_accumulator()
        self._write(self._function.add(value, held))

    def purge(self) -> None:
        """Remove the accumulator if it has expired."""
        self._purge_single()
