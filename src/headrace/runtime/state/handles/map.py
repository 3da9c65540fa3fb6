"""Map state."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from headrace.runtime.key_groups import EXACT
from headrace.runtime.serialized_key import SerializedKey, as_key, user_key
from headrace.runtime.state.handles.handle import Handle
from headrace.runtime.state.kinds import MAP

_first = itemgetter(0)


class MapHandle(Handle):
    """A map per key; with a time-to-live each entry of it expires by itself.

    Its keys are equal when keys of records are: one without a stable hash goes by its form.
    """

    kind = MAP

    def _find(self, key: Any) -> tuple[bool, Any]:
        """Whether the map has a key (as ``as_key`` gives it), and the value."""
        held = self._held()
        if held is None or key not in held:
            return False, None
        value = held[key]
        ttl = self._ttl
        if ttl is None:
            return True, value
        value, stamp = value
        now = self._context.clock(ttl)
        if ttl.expired(stamp, now):
            self.remove(key)
            return ttl.return_expired, value if ttl.return_expired else None
        if ttl.refresh_on_read:
            self.put(key, value)
        return True, value

    def get(self, key: Any) -> Any:
        """The value under a map key, or None."""
        if type(key) not in EXACT:
            key = as_key(key)
        entry = self._context.entry
        if self._ttl is None and entry is not None:
            held = entry.get(self._slot)
            return None if held is None else held.get(key)
        return self._find(key)[1]

    def contains(self, key: Any) -> bool:
        """True when the map key is present."""
        if type(key) not in EXACT:
            key = as_key(key)
        return self._find(key)[0]

    def put(self, key: Any, value: Any) -> None:
        """Set one entry."""
        if type(key) not in EXACT:
            key = as_key(key)
        context = self._context
        entry = context.entry
        if entry is None:
            entry = self._entry()
        held = entry.get(self._slot)
        if held is None:
            held = entry[self._slot] = {}
        ttl = self._ttl
        if ttl is not None:
            stamp, old = self._context.clock(ttl), held.get(key)
            if old is not None:
                stamp = max(stamp, old[1])
            value = (value, stamp)
            self._context.schedule_cleanup(ttl, stamp)
        held[key] = value
        context.entries.changed(context.key)

    def put_all(self, dict_value: Any) -> None:
        """Set several entries: from a mapping, or from pairs."""
        pairs = dict_value.items() if hasattr(dict_value, "items") else dict_value
        for key, value in pairs:
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove one entry; one that is not there is no error."""
        if type(key) not in EXACT:
            key = as_key(key)
        held = self._held()
        if held is None or key not in held:
            return
        del held[key]
        if not held:
            del self._entry()[self._slot]
        self._changed()

    def items(self) -> Iterator[tuple[Any, Any]]:
        """The entries; the map may be changed while they are read."""
        held = self._held()
        if held is None:
            return iter(())
        ttl = self._ttl
        pairs = list(held.items())
        if SerializedKey in {*map(type, map(_first, pairs))}:
            pairs = [(user_key(key), value) for key, value in pairs]
        if ttl is None:
            return iter(pairs)
        now = self._context.clock(ttl)
        if not ttl.return_expired:
            pairs = [pair for pair in pairs if not ttl.expired(pair[1][1], now)]
        live = [(key, value) for key, (value, _) in pairs]
        if ttl.refresh_on_read:
            self.put_all(live)
        return iter(live)

    def keys(self) -> Iterator[Any]:
        """The map keys."""
        return (key for key, _ in self.items())

    def values(self) -> Iterator[Any]:
        """The map values."""
        return (value for _, value in self.items())

    def is_empty(self) -> bool:
        """True when the map has no entry."""
        if self._ttl is None:
            return not self._held()
        return next(self.items(), None) is None

    def purge(self) -> None:
        """Remove expired entries."""
        ttl, held = self._ttl, self._held()
        if ttl is None or held is None:
            return
        now = self._context.clock(ttl)
        dead = [key for key, (_, stamp) in held.items() if ttl.expired(stamp, now)]
        for key in dead:
            self.remove(key)

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains

    def __iter__(self) -> Iterator[Any]:
        return self.keys()
