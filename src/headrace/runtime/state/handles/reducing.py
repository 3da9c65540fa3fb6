"""Reducing state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.kinds import REDUCING
from headrace.runtime.state.ttl import Ttl


class ReducingHandle(Handle):
    """One value per key, into which every added value is reduced."""

    kind = REDUCING

    def __init__(
        self,
        context: KeyContext,
        name: str,
        ttl: Ttl | None,
        type_text: str | None,
        reduce: Callable[[Any, Any], Any],
    ) -> None:
        super().__init__(context, name, ttl, type_text)
        self._reduce = reduce

    def get(self) -> Any:
        """The reduced value, or None when nothing was added."""
        return self._read()

    def add(self, value: Any) -> None:
        """Reduce one more value into the state."""
        held = self._read()
        self._write(value if held is None else self._reduce(held, value))

    def purge(self) -> None:
        """Remove the value if it has expired."""
        self._purge_single()
