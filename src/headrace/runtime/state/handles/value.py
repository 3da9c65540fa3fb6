"""Value state."""

from __future__ import annotations

from typing import Any

from headrace.common._types.unrounded import unrounded
from headrace.common.typeinfo import TypeInformation
from headrace.errors import TypeMismatchError
from headrace.runtime.state.backend import MISSING
from headrace.runtime.state.handles.coercion import add_state_name
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.ttl import Ttl


class ValueHandle(Handle):
    """The value state of the current key."""

    def __init__(
        self, context: KeyContext, name: str, ttl: Ttl | None, type_info: TypeInformation | None
    ) -> None:
        super().__init__(context, name, ttl, type_info)
        self._coerce = None if type_info is None else unrounded(type_info).coercer()
        self._is_kept_as_is = ttl is None and self._coerce is None
        """Whether values are stored unchanged: one check in place of two."""

    def value(self) -> Any:
        """Return the value of the current key, or None."""
        if self._ttl is None:  # written out: a call less is a fifth of the time
            context = self._context
            entry = context.entry
            if entry is not None:
                if context.values is None:
                    return entry.get(self._slot)
                return None if entry is MISSING else entry
        return self._read()

    def update(self, value: Any) -> None:
        """Set the value; None clears it."""
        if not self._is_kept_as_is:
            if self._coerce is not None:
                try:
                    value = self._coerce(value)
                except TypeMismatchError as error:
                    raise add_state_name(error, "a value", self._slot) from None
            if self._ttl is not None:
                self._write(value)
                return
        if value is not None:
            context = self._context
            entry = context.entry
            if entry is not None:
                key, values = context.key, context.values
                if values is None:
                    entry[self._slot] = value
                else:
                    context.entry = values[key] = value
                context.entries.changed(key)
                return
        self._write(value)

    def purge(self) -> None:
        """Remove the value if it has expired."""
        self._purge_single()
