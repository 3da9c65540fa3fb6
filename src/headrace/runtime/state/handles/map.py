"""Map state."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from headrace.common.typeinfo import TypeInformation
from headrace.runtime.keys.key_groups import EXACT
from headrace.runtime.keys.serialized_key import SerializedKey, to_internal_key, user_key
from headrace.runtime.state.handles.coercion import fits_of_map
from headrace.runtime.state.handles.context import KeyContext
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.kinds import MAP
from headrace.runtime.state.ttl import Ttl

_first = itemgetter(0)


class MapHandle(Handle):
    """The map state of the current key; each entry has its own time-to-live.

    Map keys are equal if keys of records would be: those without a stable hash are compared by
    their serialized form. They are coerced to the declared type, also for look-ups.
    """

    kind = MAP

    def __init__(
        self, context: KeyContext, name: str, ttl: Ttl | None, type_info: TypeInformation | None
    ) -> None:
        super().__init__(context, name, ttl, type_info)
        self._fits = fits_of_map(type_info, name)
        self._is_kept_as_is = ttl is None and self._fits is None
        """Whether keys and values are stored unchanged: one check in place of two."""

    def _find(self, key: Any) -> tuple[bool, Any]:
        """Return whether the map has a key, in the form of its type, and the value."""
        if type(key) not in EXACT:
            key = to_internal_key(key)
        stored = self._read_stored()
        if stored is None or key not in stored:
            return False, None
        value = stored[key]
        ttl = self._ttl
        if ttl is None:
            return True, value
        value, stamp = value
        now = self._context.clock(ttl)
        if ttl.is_expired(stamp, now):
            self._remove(key)
            return ttl.return_expired, value if ttl.return_expired else None
        if ttl.refresh_on_read:
            self._put_entry(key, value)
        return True, value

    def get(self, key: Any) -> Any:
        """Return the value under a map key, or None."""
        if not self._is_kept_as_is:
            if self._fits is not None:
                key = self._fits[0](key)
            if self._ttl is not None:
                return self._find(key)[1]
        if type(key) not in EXACT:
            key = to_internal_key(key)
        entry = self._context.entry
        if entry is not None:
            stored = entry.get(self._slot)
            return None if stored is None else stored.get(key)
        return self._find(key)[1]

    def contains(self, key: Any) -> bool:
        """Return True if the map key is present."""
        if self._fits is not None:
            key = self._fits[0](key)
        return self._find(key)[0]

    def put(self, key: Any, value: Any) -> None:
        """Set one entry."""
        if not self._is_kept_as_is:
            if self._fits is not None:
                of_key, of_value = self._fits
                key, value = of_key(key), of_value(value)
            if self._ttl is not None:
                self._put_entry(key, value)
                return
        if type(key) not in EXACT:  # as in ``_put_entry``: a call less
            key = to_internal_key(key)
        context = self._context
        entry = context.entry
        if entry is None:
            entry = self._require_entry()
        stored = entry.get(self._slot)
        if stored is None:
            stored = entry[self._slot] = {}
        stored[key] = value
        context.entries.changed(context.key)

    def _put_entry(self, key: Any, value: Any) -> None:
        """Set one entry; key and value are already coerced to their types."""
        if type(key) not in EXACT:
            key = to_internal_key(key)
        context, entry, ttl = self._context, self._require_entry(), self._ttl
        stored = entry.get(self._slot)
        if stored is None:
            stored = entry[self._slot] = {}
        if ttl is not None:
            stamp, old = context.clock(ttl), stored.get(key)
            if old is not None:
                stamp = max(stamp, old[1])
            value = (value, stamp)
            context.schedule_cleanup(ttl, stamp)
        stored[key] = value
        context.entries.changed(context.key)

    def put_all(self, dict_value: Any) -> None:
        """Set several entries, from a mapping or from pairs; set none if an entry does not fit."""
        pairs = dict_value.items() if hasattr(dict_value, "items") else dict_value
        if self._fits is not None:
            of_key, of_value = self._fits
            pairs = [(of_key(key), of_value(value)) for key, value in pairs]
        for key, value in pairs:
            self._put_entry(key, value)

    def remove(self, key: Any) -> None:
        """Remove one entry; one that is not there is no error."""
        self._remove(key if self._fits is None else self._fits[0](key))

    def _remove(self, key: Any) -> None:
        if type(key) not in EXACT:
            key = to_internal_key(key)
        stored = self._require_entry().get(self._slot)
        if stored is None or key not in stored:
            return
        del stored[key]
        if not stored:
            del self._require_entry()[self._slot]
        self._report_change()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """Return the entries; the map may be changed while they are read."""
        stored = self._read_stored()
        if stored is None:
            return iter(())
        ttl = self._ttl
        pairs = list(stored.items())
        if ttl is not None:
            now = self._context.clock(ttl)
            if not ttl.return_expired:
                pairs = [pair for pair in pairs if not ttl.is_expired(pair[1][1], now)]
            pairs = [(key, value) for key, (value, _) in pairs]
            if ttl.refresh_on_read:
                for key, value in pairs:
                    self._put_entry(key, value)
        if SerializedKey in {*map(type, map(_first, pairs))}:
            pairs = [(user_key(key), value) for key, value in pairs]
        return iter(pairs)

    def keys(self) -> Iterator[Any]:
        """Return the map keys."""
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        """Return the map values."""
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        """Return True if the map has no entry."""
        if self._ttl is None:
            return not self._read_stored()
        return next(self.items(), None) is None

    def purge(self) -> None:
        """Remove expired entries."""
        ttl, stored = self._ttl, self._read_stored()
        if ttl is None or stored is None:
            return
        now = self._context.clock(ttl)
        dead = [key for key, (_, stamp) in stored.items() if ttl.is_expired(stamp, now)]
        for key in dead:
            self._remove(key)

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains

    def __iter__(self) -> Iterator[Any]:
        return self.keys()
