"""What all states have in common: a slot in the entry of the current key."""

from __future__ import annotations

from typing import Any

from headrace.common.typeinfo import TypeInformation
from headrace.errors import NotKeyedError
from headrace.runtime.state.backend import MISSING
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.kinds import NO_EVOLUTION, VALUE, StateKind, type_data_of
from headrace.runtime.state.ttl import Ttl


class Handle:
    """Base class of state handles, which use the current key of their context.

    ``slot``: the state's name. Written values are coerced to ``type_info``, the declared type;
    None: they are stored unchanged.
    """

    kind = VALUE

    def __init__(
        self, context: KeyContext, name: str, ttl: Ttl | None, type_info: TypeInformation | None
    ) -> None:
        self._context = context
        self._slot = name
        self._ttl = ttl
        self.type_info = type_info
        self.stored_kind = StateKind(self.kind, type_data_of(type_info), ttl is not None)
        """What the slot is declared to hold."""
        self.evolution = NO_EVOLUTION

    def _require_entry(self) -> Any:
        """Return the entry of the current key.

        Raises:
            NotKeyedError: there is no current key, for example in ``open``.
        """
        entry = self._context.entry
        if entry is None:
            raise NotKeyedError(
                f"state {self._slot!r} is read or written outside of a keyed record or timer",
                hint="use state in process_element, map, reduce … or on_timer, not in open()",
            )
        return entry

    def _report_change(self) -> None:
        """Tell the backend that the entry of the current key has changed."""
        context = self._context
        context.entries.changed(context.key)

    def clear(self) -> None:
        """Clear the value of the current key."""
        context, entry = self._context, self._require_entry()
        if context.values is None:
            if entry.pop(self._slot, None) is not None:
                self._report_change()
        elif entry is not MISSING:
            context.values.drop(context.key)
            context.entry = MISSING
            self._report_change()

    def purge(self) -> None:
        """Remove the expired values of the current key."""
        raise NotImplementedError

    def _read_stored(self) -> Any:
        """Return the stored value of the slot for the current key, or None."""
        entry = self._require_entry()
        if self._context.values is None:
            return entry.get(self._slot)
        return None if entry is MISSING else entry

    # The value of a single-valued slot, with or without a time-to-live.

    def _store(self, value: Any) -> None:
        context, entry = self._context, self._require_entry()
        if context.values is None:
            entry[self._slot] = value
        else:
            context.entry = context.values[context.key] = value
        context.entries.changed(context.key)

    def _read(self) -> Any:
        ttl, stored = self._ttl, self._read_stored()
        if ttl is None or stored is None:
            return stored
        value, stamp = stored
        now = self._context.clock(ttl)
        if ttl.is_expired(stamp, now):
            self.clear()
            return value if ttl.return_expired else None
        if ttl.refresh_on_read:
            self._write(value)
        return value

    def _write(self, value: Any) -> None:
        """Set the value; None clears it, also one that a user's function gave."""
        if value is None:
            self.clear()
            return
        ttl = self._ttl
        if ttl is None:
            self._store(value)
            return
        stored, stamp = self._read_stored(), self._context.clock(ttl)
        if stored is not None:
            stamp = max(stamp, stored[1])  # a late record does not make a value older
        self._store((value, stamp))
        self._context.schedule_cleanup(ttl, stamp)

    def _purge_single(self) -> None:
        ttl, stored = self._ttl, self._read_stored()
        if (
            ttl is not None
            and stored is not None
            and ttl.is_expired(stored[1], self._context.clock(ttl))
        ):
            self.clear()
