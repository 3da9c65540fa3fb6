"""A buffer by time that is too large for its page: its records are in chunks.

The newest records (the tail) are in the entry, together with the reference to the chunks, so most
additions write nothing else. Older records are in chunks, ordered by time. A directory with two
levels has the first time of each chunk: its full leaves are separate records, and its newest leaf
is in the reference. So the cost of an access hardly grows with the buffer
(docs/adr/0035-buffer-by-time.md).
"""

from __future__ import annotations

import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Any

from headrace.common._watermark_generators import MAX_WATERMARK, MIN_WATERMARK
from headrace.runtime.immutability import all_immutable
from headrace.runtime.state.backend import PageStore
from headrace.runtime.state.page import get_required_record
from headrace.runtime.state.stored_objects import Loads
from headrace.runtime.state.time_buffer import TimeBuffer

TimesRef = tuple[str, int, bytes]
"""``("b", record id, pickled head)``: the directory's upper level, its newest leaf and the tail."""

CHUNKS_PER_PAGE = 4
"""A look-up reads chunks whole, so they are smaller than a page."""

TAILS_PER_PAGE = 8
"""The tail is read and written with every touch, so it is smaller than a chunk."""

LEAF_CHUNKS = 64


class _Leaf:
    """A part of the directory: the first timestamp of each chunk, and the number of its record."""

    __slots__ = ("firsts", "numbers")

    def __init__(self, firsts: list[int], numbers: list[int]) -> None:
        self.firsts = firsts
        self.numbers = numbers

    def cut(self, start: int, end: int) -> _Leaf:
        """Take chunks out, as a leaf of their own."""
        part = _Leaf(self.firsts[start:end], self.numbers[start:end])
        del self.firsts[start:end], self.numbers[start:end]
        return part

    def insert(self, place: int, first_ms: int, chunk_number: int) -> None:
        """Add a chunk (in the upper level of the directory: a leaf)."""
        self.firsts.insert(place, first_ms)
        self.numbers.insert(place, chunk_number)

    def data(self) -> bytes:
        """Return the serialized leaf."""
        return pickle.dumps((self.firsts, self.numbers), 5)


class _Chunk(TimeBuffer):
    """A chunk as it was read. ``leaf``: that of its directory, once its records have changed."""

    __slots__ = ("data", "leaf")

    def __init__(self, times: list[int], values: list[Any], data: bytes | None = None) -> None:
        super().__init__(times, values)
        self.data = data
        self.leaf: _Leaf | None = None


class ChunkedTimes(TimeBuffer):
    """A ``TimeBuffer`` stored in chunks; ``times`` and ``values`` are its tail, the newest records.

    A look-up reads only the chunks that it needs, which stay in memory until ``flush``. Records are
    removed by storing a moment: a chunk is removed, unread, once the next one begins at or before
    it. If it is copied, or pickled outside its own slot, it becomes a plain buffer.
    """

    __slots__ = (
        "_changed_leaves",
        "_chunks",
        "_gone",
        "_last_bytes",
        "_last_ms",
        "_leaves",
        "_loads",
        "_next",
        "_page_bytes",
        "_recent",
        "_removed_ms",
        "_store",
        "_top",
        "id",
    )

    def __init__(
        self, store: PageStore, ref: TimesRef, page_bytes: int, loads: Loads = pickle.loads
    ) -> None:
        _, self.id, head = ref
        self._loads = loads
        self._store = store
        self._page_bytes = page_bytes
        (
            self._next,
            self._removed_ms,  # no record up to this moment counts, though chunks may have some
            self._last_ms,  # of the chunks; no record of the tail is earlier
            self._last_bytes,
            top,
            recent,
            tail,
        ) = pickle.loads(head)
        self._top, self._recent = _Leaf(*pickle.loads(top)), _Leaf(*pickle.loads(recent))
        super().__init__(*loads(tail))
        self._leaves: dict[int, _Leaf] = {}
        self._changed_leaves: set[int] = set()
        self._chunks: dict[int, _Chunk] = {}
        self._gone: list[int] = []

    @classmethod
    def of(cls, buffer: TimeBuffer, store: PageStore, id_: int, page_bytes: int) -> ChunkedTimes:
        """Return a chunked buffer with the records of a plain one, not written yet."""
        before_all, leaf = MIN_WATERMARK - 1, _Leaf([], []).data()
        head = (0, before_all, before_all, 0, leaf, leaf, leaf)
        made = cls(store, ("b", id_, pickle.dumps(head, 5)), page_bytes)
        made.times, made.values = buffer.times, buffer.values
        return made

    @property
    def is_chunked(self) -> bool:
        """False when nothing but the tail is left."""
        return bool(self._recent.firsts)

    def tail(self) -> TimeBuffer:
        """Return the newest records as a plain buffer."""
        return TimeBuffer(self.times, self.values)

    def add(self, timestamp: int, value: Any) -> None:
        if timestamp >= self._last_ms or not self._recent.firsts:
            super().add(timestamp, value)
            return
        if timestamp <= self._removed_ms:
            self._remove_in_place()
        found = self._at_or_before(timestamp)
        leaf, place = found or (self._get_leaf(0), 0)
        chunk = self._get_chunk(leaf.numbers[place])
        chunk.add(timestamp, value)
        chunk.leaf = leaf
        if found is None:
            self._set_first_ms(leaf, timestamp)
        elif leaf is not self._recent:
            self._mark_leaf_changed(leaf)  # it may be divided

    def between(self, first_ms: int, last_ms: int) -> tuple[list[int], list[Any]]:
        first_ms = max(first_ms, self._removed_ms + 1)
        times: list[int] = []
        values: list[Any] = []
        for chunk in self._find_chunks(first_ms, last_ms):
            more_times, more_values = chunk.between(first_ms, last_ms)
            times += more_times
            values += more_values
        more_times, more_values = super().between(first_ms, last_ms)
        return times + more_times, values + more_values

    def last_at_or_before(self, moment_ms: int) -> tuple[int, Any] | None:
        if self.times and self.times[0] <= moment_ms:
            return super().last_at_or_before(moment_ms)
        found = self._at_or_before(moment_ms)
        if found is None or moment_ms <= self._removed_ms:
            return None
        leaf, place = found
        last = self._get_chunk(leaf.numbers[place]).last_at_or_before(moment_ms)
        return None if last is None or last[0] <= self._removed_ms else last

    def first_at_or_after(self, moment_ms: int) -> tuple[int, Any] | None:
        moment_ms = max(moment_ms, self._removed_ms + 1)
        for chunk in self._find_chunks(moment_ms, MAX_WATERMARK):
            found = chunk.first_at_or_after(moment_ms)
            if found is not None:
                return found
        return super().first_at_or_after(moment_ms)

    def remove_through(self, moment_ms: int) -> int | None:
        super().remove_through(moment_ms)
        if self._recent.firsts and moment_ms >= self._first_of_chunks():
            self._removed_ms = max(moment_ms, self._removed_ms)
            self._drop_before(moment_ms)
            if moment_ms >= self._last_ms:
                self._drop_all()
        return self.least_ms if self else None

    def take_through(self, moment_ms: int) -> tuple[list[int], list[Any]]:
        taken = self.between(MIN_WATERMARK - 1, moment_ms)
        self.remove_through(moment_ms)
        return taken

    def keep_from(self, moment_ms: int) -> None:
        if self.times and self.times[0] <= moment_ms:
            super().keep_from(moment_ms)
            self._drop_all()
        elif not self.times and moment_ms >= self._last_ms:
            last = self.last_at_or_before(moment_ms)
            self._drop_all()
            if last is not None:
                self.add(*last)
        else:
            self._drop_before(moment_ms)

    @property
    def is_single(self) -> bool:
        return not self._recent.firsts and len(self.times) == 1

    @property
    def first_ms(self) -> int:
        if not self._recent.firsts:
            return self.times[0]
        first_ms = self._first_of_chunks()
        if first_ms > self._removed_ms:
            return first_ms
        found = self.first_at_or_after(first_ms)
        assert found is not None, "the first record of an empty buffer was requested"
        return found[0]

    @property
    def least_ms(self) -> int:
        if not self._recent.firsts:
            return self.times[0]
        least_ms: int = max(self._first_of_chunks(), self._removed_ms + 1)
        return least_ms

    @property
    def last_ms(self) -> int:
        last_ms: int = self.times[-1] if self.times else self._last_ms
        return last_ms

    def __bool__(self) -> bool:
        return bool(self.times or self._recent.firsts)

    def __len__(self) -> int:
        """Return how many records there are; every chunk is read for it."""
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[tuple[int, Any]]:
        for number in range(len(self._top.firsts) + 1):
            for chunk_number in [*self._get_leaf(number).numbers]:
                chunk = self._chunks.get(chunk_number) or self._read(chunk_number)
                for pair in chunk:
                    if pair[0] > self._removed_ms:
                        yield pair
        yield from super().__iter__()

    def __reduce__(self) -> tuple[Any, ...]:
        pairs = [*self]
        return (TimeBuffer, ([time for time, _ in pairs], [value for _, value in pairs]))

    def flush(self) -> TimesRef:
        """Write all changes; return the reference from which the buffer is read again."""
        tail = pickle.dumps((self.times, self.values), 5)
        if self.times and len(tail) * TAILS_PER_PAGE > self._page_bytes:
            self._move_tail()
            tail = pickle.dumps(([], []), 5)
        for number, chunk in [*self._chunks.items()]:
            if chunk.leaf is not None:
                self._write(number, chunk, chunk.leaf)
            elif not all_immutable(chunk.values):
                data = pickle.dumps((chunk.times, chunk.values), 5)
                if data != chunk.data:  # a record was changed in place
                    self._store.put(self._record_name(number), data)
        self._write_directory()
        for number in self._gone:
            self._store.remove(self._record_name(number))
        self._chunks.clear()
        self._leaves.clear()
        self._gone.clear()
        top, recent = self._top.data(), self._recent.data()
        places = self._next, self._removed_ms, self._last_ms, self._last_bytes
        head = (*places, top, recent, tail)
        return ("b", self.id, pickle.dumps(head, 5))

    # Chunks

    def _get_chunk(self, chunk_number: int) -> _Chunk:
        chunk = self._chunks.get(chunk_number)
        if chunk is None:
            chunk = self._chunks[chunk_number] = self._read(chunk_number)
        return chunk

    def _read(self, chunk_number: int) -> _Chunk:
        data = get_required_record(self._store, self._record_name(chunk_number))
        times, values = self._loads(data)
        return _Chunk(times, values, data)

    def _find_chunks(self, first_ms: int, last_ms: int) -> Iterator[_Chunk]:
        """Yield the chunks that may have records between two times, both inclusive."""
        if not self._recent.firsts or first_ms > self._last_ms:
            return
        firsts = [*self._top.firsts, self._recent.firsts[0]]
        # A chunk that begins at a moment may come after one that ends with it.
        for number in range(max(bisect_left(firsts, first_ms) - 1, 0), len(firsts)):
            if firsts[number] > last_ms:
                return
            leaf = self._get_leaf(number)
            start = max(bisect_left(leaf.firsts, first_ms) - 1, 0)
            for place in range(start, bisect_right(leaf.firsts, last_ms)):
                yield self._get_chunk(leaf.numbers[place])

    def _at_or_before(self, moment_ms: int) -> tuple[_Leaf, int] | None:
        """Return leaf and index of the last chunk that begins at or before a time, or None."""
        leaf = self._recent
        if not leaf.firsts or leaf.firsts[0] > moment_ms:
            number = bisect_right(self._top.firsts, moment_ms) - 1
            if number < 0:
                return None
            leaf = self._get_leaf(number)
        return leaf, bisect_right(leaf.firsts, moment_ms) - 1

    def _first_of_chunks(self) -> int:
        return (self._top.firsts or self._recent.firsts)[0]

    def _set_first_ms(self, leaf: _Leaf, first_ms: int) -> None:
        """Set the first timestamp of the first chunk, also in the upper level of the directory."""
        leaf.firsts[0] = first_ms
        if leaf is not self._recent:
            self._top.firsts[0] = first_ms
            self._mark_leaf_changed(leaf)

    def _remove_in_place(self) -> None:
        """Remove what counts no more from the chunks, as a record of such a moment is added."""
        while True:
            leaf = self._get_leaf(0)
            number = leaf.numbers[0]
            chunk = self._get_chunk(number)
            chunk.remove_through(self._removed_ms)
            if chunk.times:
                break
            leaf.cut(0, 1)
            self._forget(number)
            if not leaf.firsts:
                self._drop_leaf()
            else:
                self._set_first_ms(leaf, leaf.firsts[0])
        chunk.leaf = leaf
        self._set_first_ms(leaf, chunk.times[0])
        self._removed_ms = MIN_WATERMARK - 1

    def _drop_before(self, moment_ms: int) -> None:
        """Remove the chunks (full leaves as a whole) whose successor begins at or before a time."""
        top, recent = self._top, self._recent
        while top.firsts:
            if (*top.firsts[1:2], recent.firsts[0])[0] > moment_ms:
                return
            self._drop_leaf()
        for number in recent.cut(0, max(bisect_right(recent.firsts, moment_ms) - 1, 0)).numbers:
            self._forget(number)

    def _drop_all(self) -> None:
        while self._top.firsts:
            self._drop_leaf()
        for number in self._recent.cut(0, len(self._recent.firsts)).numbers:
            self._forget(number)
        self._removed_ms = self._last_ms = MIN_WATERMARK - 1

    def _forget(self, chunk_number: int) -> None:
        self._chunks.pop(chunk_number, None)
        self._gone.append(chunk_number)

    def _write(self, chunk_number: int, chunk: _Chunk, leaf: _Leaf) -> None:
        """Store a chunk; if it is too big, in parts of which the first keeps its number."""
        most_bytes = self._page_bytes // CHUNKS_PER_PAGE
        data = pickle.dumps((chunk.times, chunk.values), 5)
        size = len(chunk.times)
        if len(data) > 2 * most_bytes:
            size = max(1, size * most_bytes // len(data))
        place = leaf.numbers.index(chunk_number)
        for start in range(0, len(chunk.times), size):
            if size < len(chunk.times):
                times = chunk.times[start : start + size]
                data = pickle.dumps((times, chunk.values[start : start + size]), 5)
            if start:
                chunk_number, place = self._new_number(), place + 1
                leaf.insert(place, chunk.times[start], chunk_number)
            self._store.put(self._record_name(chunk_number), data)
        if chunk_number == self._recent.numbers[-1]:
            self._last_bytes = len(data)

    def _move_tail(self) -> None:
        """Put the tail into the last chunk, or into a new one if that is full."""
        recent, times, values = self._recent, self.times, self.values
        if recent.firsts and self._last_bytes * CHUNKS_PER_PAGE < self._page_bytes:
            chunk = self._get_chunk(recent.numbers[-1])
            chunk.times += times
            chunk.values += values
        else:
            number = self._new_number()
            recent.insert(len(recent.firsts), times[0], number)
            chunk = self._chunks[number] = _Chunk(times, values)
        chunk.leaf = recent
        self._last_ms = times[-1]
        self.times, self.values = [], []

    def _new_number(self) -> int:
        number: int = self._next + 1
        self._next = number
        return number

    def _record_name(self, chunk_number: int) -> str:
        return f"b{self.id}.{chunk_number}"

    # The directory

    def _get_leaf(self, leaf_number: int) -> _Leaf:
        """Return a leaf of the directory by its position; the last leaf is the newest."""
        if leaf_number == len(self._top.numbers):
            return self._recent
        name = self._top.numbers[leaf_number]
        leaf = self._leaves.get(name)
        if leaf is None:
            leaf = self._leaves[name] = _Leaf(
                *pickle.loads(get_required_record(self._store, self._record_name(name)))
            )
        return leaf

    def _mark_leaf_changed(self, leaf: _Leaf) -> None:
        self._changed_leaves.add(next(name for name, at in self._leaves.items() if at is leaf))

    def _drop_leaf(self) -> None:
        """Remove the first leaf, with its chunks."""
        leaf, name = self._get_leaf(0), self._top.numbers[0]
        for number in leaf.numbers:
            self._forget(number)
        self._top.cut(0, 1)
        self._leaves.pop(name, None)
        self._changed_leaves.discard(name)
        self._gone.append(name)

    def _write_directory(self) -> None:
        top, recent = self._top, self._recent
        while len(recent.firsts) > LEAF_CHUNKS:
            self._insert_leaf(len(top.firsts), recent.cut(0, LEAF_CHUNKS))
        for name in [*self._changed_leaves]:
            leaf = self._leaves[name]
            while (count := len(leaf.firsts)) > 2 * LEAF_CHUNKS:
                self._insert_leaf(top.numbers.index(name) + 1, leaf.cut(count - LEAF_CHUNKS, count))
            self._store.put(self._record_name(name), leaf.data())
        self._changed_leaves.clear()

    def _insert_leaf(self, place: int, leaf: _Leaf) -> None:
        """Store a new leaf, and insert it in the directory at a place."""
        name = self._new_number()
        self._top.insert(place, leaf.firsts[0], name)
        self._store.put(self._record_name(name), leaf.data())


def remove_times(store: PageStore, ref: TimesRef) -> None:
    """Remove every chunk of a stored buffer."""
    _, id_, head = ref
    *_, top, recent, _ = pickle.loads(head)
    (_, leaves), (_, chunks) = pickle.loads(top), pickle.loads(recent)
    for number in leaves:
        _, more = pickle.loads(get_required_record(store, f"b{id_}.{number}"))
        chunks += more
    for number in (*leaves, *chunks):
        store.remove(f"b{id_}.{number}")
