"""The state objects that user functions hold, over the live entry of the current key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.errors import NotKeyedError
from headrace.runtime.state.backend import EXPIRING, MISSING, StateBackend, Timer, Values
from headrace.runtime.state.ttl import CLEANUP, Ttl


class KeyContext:
    """Where a task stands: the current key, what is kept for it, and the two clocks (ms)."""

    __slots__ = (
        "backend",
        "clocked",
        "entry",
        "event_ms",
        "key",
        "look_up",
        "now_ms",
        "values",
        "watermark",
    )

    backend: StateBackend
    """The backend of the micro-batch and key group at hand."""

    look_up: Callable[[Any], Any]
    """Gives what ``entry`` shall be for a key."""

    def __init__(self) -> None:
        self.key: Any = None
        self.entry: Any = None
        """The live entry of the key, or its bare value or ``MISSING``; None outside of any key."""
        self.values: Values | None = None
        """The bare values of the backend, when there is one slot that holds a value."""
        self.now_ms = 0
        self.event_ms: int | None = None
        self.watermark = MIN_WATERMARK
        self.clocked = False
        """The task is also run when nothing but time has passed; those of sources are not."""

    def enter(self, key: Any) -> None:
        """Make ``key`` the current key."""
        self.key = key
        self.entry = self.look_up(key)

    def enter_timer(self, timer: Timer, event_time: bool) -> None:
        """Make a timer's key the current one; its time is that of its own clock only.

        Under a processing-time timer event time is the watermark.
        """
        self.enter(timer.key)
        self.event_ms = timer.time_ms if event_time else self.watermark

    def clock(self, ttl: Ttl) -> int:
        """The time (ms) by which a value expires."""
        if not ttl.event_time:
            return self.now_ms
        return self.event_ms if self.event_ms is not None else MIN_WATERMARK

    def schedule_cleanup(self, ttl: Ttl, now_ms: int) -> None:
        """Ask for a look at this key's expired values once they may have expired."""
        backend = self.backend
        timers = backend.event_timers if ttl.event_time else backend.processing_timers
        timers.register(Timer(ttl.cleanup_ms(now_ms), self.key, CLEANUP))


class _Handle:
    """One state of the current key. ``slot`` is the state's name."""

    kind = "value"

    def __init__(self, cell: KeyContext, name: str, ttl: Ttl | None) -> None:
        self._cell = cell
        self._slot = name
        self._ttl = ttl

    @property
    def stored_kind(self) -> str:
        """What a backend is told of the slot."""
        return self.kind if self._ttl is None else self.kind + EXPIRING

    def _entry(self) -> Any:
        entry = self._cell.entry
        if entry is None:
            raise NotKeyedError(
                f"state {self._slot!r} is read or written outside of a keyed record or timer",
                hint="use state in process_element, map, reduce … or on_timer, not in open()",
            )
        return entry

    def _changed(self) -> None:
        cell = self._cell
        cell.backend.changed(cell.key)

    def clear(self) -> None:
        """Forget the value under the current key."""
        cell, entry = self._cell, self._entry()
        if cell.values is None:
            if entry.pop(self._slot, None) is not None:
                self._changed()
        elif entry is not MISSING:
            cell.values.drop(cell.key)
            cell.entry = MISSING
            self._changed()

    def purge(self) -> None:
        """Remove what has expired under the current key."""
        raise NotImplementedError

    def _held(self) -> Any:
        """What the slot holds under the current key, or None."""
        entry = self._entry()
        if self._cell.values is None:
            return entry.get(self._slot)
        return None if entry is MISSING else entry

    # The value of a single-valued slot, with or without a time-to-live.

    def _hold(self, held: Any) -> None:
        cell, entry = self._cell, self._entry()
        if cell.values is None:
            entry[self._slot] = held
        else:
            cell.entry = cell.values[cell.key] = held
        cell.backend.changed(cell.key)

    def _read(self) -> Any:
        ttl, held = self._ttl, self._held()
        if ttl is None or held is None:
            return held
        value, stamp = held
        now = self._cell.clock(ttl)
        if ttl.expired(stamp, now):
            self.clear()
            return value if ttl.return_expired else None
        if ttl.refresh_on_read:
            self._write(value)
        return value

    def _write(self, value: Any) -> None:
        """Set the value; None is none, whoever gave it."""
        if value is None:
            self.clear()
            return
        ttl = self._ttl
        if ttl is None:
            self._hold(value)
            return
        held, stamp = self._held(), self._cell.clock(ttl)
        if held is not None:
            stamp = max(stamp, held[1])  # a late record does not make a value older
        self._hold((value, stamp))
        self._cell.schedule_cleanup(ttl, stamp)

    def _purge_single(self) -> None:
        ttl, held = self._ttl, self._held()
        if ttl is not None and held is not None and ttl.expired(held[1], self._cell.clock(ttl)):
            self.clear()


H = TypeVar("H", bound=_Handle)


class ValueHandle(_Handle):
    """One value per key."""

    def value(self) -> Any:
        """The value of the current key, or None."""
        if self._ttl is None:  # written out: a call less is a fifth of the time
            cell = self._cell
            entry = cell.entry
            if entry is not None:
                if cell.values is None:
                    return entry.get(self._slot)
                return None if entry is MISSING else entry
        return self._read()

    def update(self, value: Any) -> None:
        """Set the value; None clears it."""
        if self._ttl is None and value is not None:
            cell = self._cell
            entry = cell.entry
            if entry is not None:
                key, values = cell.key, cell.values
                if values is None:
                    entry[self._slot] = value
                else:
                    cell.entry = values[key] = value
                cell.backend.changed(key)
                return
        self._write(value)

    def purge(self) -> None:
        """Remove the value if it has expired."""
        self._purge_single()


class ReducingHandle(_Handle):
    """One value per key, into which every added value is reduced."""

    def __init__(
        self, cell: KeyContext, name: str, ttl: Ttl | None, reduce: Callable[[Any, Any], Any]
    ) -> None:
        super().__init__(cell, name, ttl)
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


class AggregatingHandle(_Handle):
    """One accumulator per key, fed by an ``AggregateFunction``."""

    def __init__(self, cell: KeyContext, name: str, ttl: Ttl | None, function: Any) -> None:
        super().__init__(cell, name, ttl)
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


class ListHandle(_Handle):
    """A list per key; with a time-to-live each element expires by itself."""

    kind = "list"

    def get(self) -> list[Any]:
        """The elements under the current key, oldest first; empty when there are none."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        held = self._held()
        if held is None:
            return iter(())
        if self._ttl is None:
            return iter(held)
        return iter(self._live(held, self._ttl))

    def _live(self, held: Iterable[tuple[Any, int]], ttl: Ttl) -> list[Any]:
        now = self._cell.clock(ttl)
        if not ttl.return_expired:
            held = [item for item in held if not ttl.expired(item[1], now)]
        items = list(held)
        if ttl.refresh_on_read:
            self._replace([(value, max(stamp, now)) for value, stamp in items])
            for stamp in {max(stamp, now) for _, stamp in items}:
                self._cell.schedule_cleanup(ttl, stamp)
        return [value for value, _ in items]

    def _stamped(self, values: Iterable[Any], least: int = MIN_WATERMARK) -> Iterable[Any]:
        ttl = self._ttl
        if ttl is None:
            return values
        stamp = max(self._cell.clock(ttl), least)
        self._cell.schedule_cleanup(ttl, stamp)
        return [(value, stamp) for value in values]

    def add(self, value: Any) -> None:
        """Append one element."""
        self.add_all((value,))

    def add_all(self, values: Iterable[Any]) -> None:
        """Append several elements."""
        entry = self._entry()
        held = entry.get(self._slot)
        if held is None:
            held = entry[self._slot] = []
        held.extend(self._stamped(values))
        if not held:
            del entry[self._slot]
        self._changed()

    def update(self, values: Iterable[Any]) -> None:
        """Replace the whole list."""
        ttl, least = self._ttl, MIN_WATERMARK
        if ttl is not None and ttl.event_time:
            # A late record that rewrites the list does not make it older.
            held = self._held() or ()
            least = max((stamp for _, stamp in held), default=MIN_WATERMARK)
        self._replace(list(self._stamped(values, least)))

    def _replace(self, new: list[Any]) -> None:
        if new:
            self._entry()[self._slot] = new
            self._changed()
        else:
            self.clear()

    def purge(self) -> None:
        """Remove expired elements."""
        ttl, held = self._ttl, self._held()
        if ttl is None or held is None:
            return
        now = self._cell.clock(ttl)
        kept = [item for item in held if not ttl.expired(item[1], now)]
        if len(kept) < len(held):
            self._replace(kept)


class MapHandle(_Handle):
    """A map per key; with a time-to-live each entry of it expires by itself."""

    kind = "map"

    def _find(self, key: Any) -> tuple[bool, Any]:
        held = self._held()
        if held is None or key not in held:
            return False, None
        value = held[key]
        ttl = self._ttl
        if ttl is None:
            return True, value
        value, stamp = value
        now = self._cell.clock(ttl)
        if ttl.expired(stamp, now):
            self.remove(key)
            return ttl.return_expired, value if ttl.return_expired else None
        if ttl.refresh_on_read:
            self.put(key, value)
        return True, value

    def get(self, key: Any) -> Any:
        """The value under a map key, or None."""
        entry = self._cell.entry
        if self._ttl is None and entry is not None:
            held = entry.get(self._slot)
            return None if held is None else held.get(key)
        return self._find(key)[1]

    def contains(self, key: Any) -> bool:
        """True when the map key is present."""
        return self._find(key)[0]

    def put(self, key: Any, value: Any) -> None:
        """Set one entry."""
        cell = self._cell
        entry = cell.entry
        if entry is None:
            entry = self._entry()
        held = entry.get(self._slot)
        if held is None:
            held = entry[self._slot] = {}
        ttl = self._ttl
        if ttl is not None:
            stamp, old = self._cell.clock(ttl), held.get(key)
            if old is not None:
                stamp = max(stamp, old[1])
            value = (value, stamp)
            self._cell.schedule_cleanup(ttl, stamp)
        held[key] = value
        cell.backend.changed(cell.key)

    def put_all(self, dict_value: Any) -> None:
        """Set several entries: from a mapping, or from pairs."""
        pairs = dict_value.items() if hasattr(dict_value, "items") else dict_value
        for key, value in pairs:
            self.put(key, value)

    def remove(self, key: Any) -> None:
        """Remove one entry; one that is not there is no error."""
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
        if ttl is None:
            return iter(pairs)
        now = self._cell.clock(ttl)
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
        now = self._cell.clock(ttl)
        dead = [key for key, (_, stamp) in held.items() if ttl.expired(stamp, now)]
        for key in dead:
            self.remove(key)

    __getitem__ = get
    __setitem__ = put
    __delitem__ = remove
    __contains__ = contains

    def __iter__(self) -> Iterator[Any]:
        return self.keys()


class StateStore:
    """Makes the handles of one operator; a state asked for twice is the same handle."""

    def __init__(self, cell: KeyContext) -> None:
        self._cell = cell
        self._handles: dict[str, _Handle] = {}
        self._own: list[str] = []

    def attach(self, backend: StateBackend) -> None:
        """Work on another backend from now on, outside of any key."""
        cell = self._cell
        cell.backend = backend
        cell.entry = cell.values = None
        for name in self._own:
            backend.declare(name, "value")
        for name, handle in self._handles.items():
            backend.declare(name, handle.stored_kind)
        if len(self._handles) == 1 and not self._own and handle.kind == "value":
            cell.values = backend.lay_bare(name)
        if cell.values is None:
            backend.dress()
            cell.look_up = backend.enter
        else:
            cell.look_up = cell.values.__getitem__

    def declare(self, slot: str) -> None:
        """A value that the operator itself keeps, without a handle."""
        self._own.append(slot)

    def get_state(self, state_descriptor: Any) -> ValueHandle:
        """A value per key."""
        return self._handle(state_descriptor, ValueHandle)

    def get_list_state(self, state_descriptor: Any) -> ListHandle:
        """A list per key."""
        return self._handle(state_descriptor, ListHandle)

    def get_map_state(self, state_descriptor: Any) -> MapHandle:
        """A map per key."""
        return self._handle(state_descriptor, MapHandle)

    def get_reducing_state(self, state_descriptor: Any) -> ReducingHandle:
        """A reduced value per key."""
        function = state_descriptor.get_reduce_function()
        return self._handle(state_descriptor, ReducingHandle, function.reduce)

    def get_aggregating_state(self, state_descriptor: Any) -> AggregatingHandle:
        """An accumulator per key."""
        return self._handle(
            state_descriptor, AggregatingHandle, state_descriptor.get_agg_function()
        )

    def _handle(self, descriptor: Any, kind: type[H], *more: Any) -> H:
        name = descriptor.get_name()
        handle: Any = self._handles.get(name)
        if handle is None:
            ttl = Ttl.of(getattr(descriptor, "_ttl_config", None))
            handle = self._handles[name] = kind(self._cell, name, ttl, *more)
            if hasattr(self._cell, "backend"):
                self._declare_late(name, handle.stored_kind)
        elif type(handle) is not kind:
            raise TypeError(
                f"state {name!r} is declared twice, as {type(handle).__name__[:-6]}State"
                f" and as {kind.__name__[:-6]}State"
            )
        found: H = handle
        return found

    def _declare_late(self, name: str, kind: str) -> None:
        cell, backend = self._cell, self._cell.backend
        backend.declare(name, kind)
        if cell.values is not None:
            cell.values = None
            backend.dress()
            cell.look_up = backend.enter
            if cell.entry is not None:
                cell.enter(cell.key)

    def purge(self, event_time: bool) -> None:
        """Remove what has expired under the current key by one clock.

        Every write has scheduled a look at what it wrote, so none is scheduled here.
        """
        for handle in self._handles.values():
            ttl = handle._ttl
            if ttl is not None and ttl.event_time is event_time:
                handle.purge()
