"""Many values at once are those that are read one by one."""

from __future__ import annotations

from headrace.runtime.state.backend import MISSING
from headrace.runtime.state.kinds import VALUE, StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages


def test_values_are_read_changed_and_removed_in_bulk() -> None:
    store, expected = MemoryPages(), dict[int, bytes]()
    for call in range(6):
        backend = PagedBackend(store, 128, page_bytes=256)
        backend.declare("s", StateKind(VALUE))
        values = backend.single_slot_view("s")
        assert values is not None
        keys = [*range(call * 30, call * 60 + 40)]
        assert values.read_all(keys, MISSING) == [expected.get(key, MISSING) for key in keys]
        changed = {key: b"%d in %d" % (key, call) for key in keys}
        values.update(changed)
        expected.update(changed)
        for key in keys[::7]:
            values.drop(key)
            del expected[key]
        assert values.read_all(keys, MISSING) == [expected.get(key, MISSING) for key in keys]
        backend.changed_all(keys)
        backend.flush()
        assert {key: entry["s"] for key, entry in PagedBackend(store, 128).scan()} == expected
