"""List state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from headrace.common.typeinfo import TypeInformation
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.runtime.state.handles.coercion import fit_of_elements
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.kinds import LIST
from headrace.runtime.state.ttl import Ttl


class ListHandle(Handle):
    """The list state of the current key; each element has its own time-to-live."""

    kind = LIST

    def __init__(
        self, context: KeyContext, name: str, ttl: Ttl | None, type_info: TypeInformation | None
    ) -> None:
        super().__init__(context, name, ttl, type_info)
        self._fit = fit_of_elements(type_info, name)

    def get(self) -> list[Any]:
        """Return the elements under the current key, oldest first; empty when there are none."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        stored = self._read_stored()
        if stored is None:
            return iter(())
        if self._ttl is None:
            return iter(stored)
        return iter(self._drop_expired(stored, self._ttl))

    def _drop_expired(self, stored: Iterable[tuple[Any, int]], ttl: Ttl) -> list[Any]:
        now = self._context.clock(ttl)
        if not ttl.return_expired:
            stored = [item for item in stored if not ttl.is_expired(item[1], now)]
        items = list(stored)
        if ttl.refresh_on_read:
            self._replace([(value, max(stamp, now)) for value, stamp in items])
            for stamp in {max(stamp, now) for _, stamp in items}:
                self._context.schedule_cleanup(ttl, stamp)
        return [value for value, _ in items]

    def _add_stamps(self, values: Iterable[Any], least: int = MIN_WATERMARK) -> Iterable[Any]:
        ttl = self._ttl
        if ttl is None:
            return values
        stamp = max(self._context.clock(ttl), least)
        self._context.schedule_cleanup(ttl, stamp)
        return [(value, stamp) for value in values]

    def add(self, value: Any) -> None:
        """Append one element."""
        self._append((value if self._fit is None else self._fit(value),))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements; append none if an element does not fit the type."""
        if self._fit is not None:
            values = [*map(self._fit, values)]
        self._append(values)

    def _append(self, values: Iterable[Any]) -> None:
        entry = self._require_entry()
        stored = entry.get(self._slot)
        if stored is None:
            stored = entry[self._slot] = []
        stored.extend(values if self._ttl is None else self._add_stamps(values))
        if not stored:
            del entry[self._slot]
        self._report_change()

    def update(self, values: Iterable[Any]) -> None:
        """Replace the whole list."""
        if self._fit is not None:
            values = [*map(self._fit, values)]
        ttl, least = self._ttl, MIN_WATERMARK
        if ttl is not None and ttl.event_time:
            # A late record that rewrites the list does not make it older.
            stored = self._read_stored() or ()
            least = max((stamp for _, stamp in stored), default=MIN_WATERMARK)
        self._replace(list(self._add_stamps(values, least)))

    def _replace(self, new: list[Any]) -> None:
        if new:
            self._require_entry()[self._slot] = new
            self._report_change()
        else:
            self.clear()

    def purge(self) -> None:
        """Remove expired elements."""
        ttl, stored = self._ttl, self._read_stored()
        if ttl is None or stored is None:
            return
        now = self._context.clock(ttl)
        kept = [item for item in stored if not ttl.is_expired(item[1], now)]
        if len(kept) < len(stored):
            self._replace(kept)
