"""The savepoints of earlier versions, value by value."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.connector import CommitterContext
from headrace.runtime.coordination.offset import Offset
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.header import import_header
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.read import import_backend
from headrace.runtime.savepoint.records import SplitRecord, StateRecord, decode
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.runtime.savepoint.sinks import import_sinks
from headrace.runtime.state.backend import StateBackend, Timer
from headrace.runtime.state.broadcast_state import BroadcastStateStore
from headrace.runtime.state.heap import HeapBackend
from headrace.runtime.state.kinds import LIST, MAP, VALUE, StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from tests.goldens import VERSIONS, job, state
from tests.goldens.pickles import is_pickle, of_headrace
from tests.goldens.state import GROUPS, HELD, KEYS, OFFSET


@pytest.fixture(params=VERSIONS, ids=lambda path: path.name)
def form(request: pytest.FixtureRequest) -> Savepoint:
    return state.load(request.param / "savepoint")


def operator_of(form: Savepoint) -> OperatorEntry:
    found = form.manifest.operator("sums")
    assert found is not None
    return found


@pytest.mark.parametrize("kind", ["heap", "paged"])
@pytest.mark.parametrize("groups", [1, 3, GROUPS, 128])
def test_state_and_timers(form: Savepoint, groups: int, kind: str) -> None:
    operator, keyed = operator_of(form), form.read_keyed_state("sums", groups)
    backends: dict[int, StateBackend] = {}
    for group, records in keyed.items():
        backends[group] = HeapBackend() if kind == "heap" else PagedBackend(MemoryPages(), groups)
        import_backend(records, backends[group], operator.keyed_states)
    program = state.Program()
    for number, key in enumerate(KEYS):
        backend = backends[key_group_of(key, groups)]
        assert program.content(backend, key, number) == state.expected(number)
    assert sum(len([*each.keys()]) for each in backends.values()) == len(KEYS)
    events = [timer for each in backends.values() for _, timer in each.event_timers.scan()]
    clock = [timer for each in backends.values() for _, timer in each.processing_timers.scan()]
    numbered = [*enumerate(KEYS)]
    assert sorted(map(repr, events)) == sorted(
        repr(timer)
        for n, key in numbered
        for timer in (Timer(50 + n, key), Timer(50, key, (n, n + 10)))
    )
    assert sorted(map(repr, clock)) == sorted(
        repr(timer)
        for n, key in numbered
        for timer in (Timer(60 + n, key), Timer(4_050_000, key, "__ttl__"))
    )


def test_each_record_of_a_key(form: Savepoint) -> None:
    group = key_group_of(7, GROUPS)
    found = [
        record
        for record in form.read(f"states/sums/{group}")
        if isinstance(record, StateRecord) and decode(record.key) == 7
    ]
    assert {record.encoding for record in found} == {"pickle"}
    values = [
        (
            record.state,
            record.kind,
            record.position,
            record.stamp_ms,
            None if record.namespace is None else decode(record.namespace),
            None if record.item is None else decode(record.item),
            decode(record.value),
        )
        for record in found
    ]
    assert sorted(map(repr, values)) == sorted(
        map(
            repr,
            [
                ("count", VALUE, 0, None, None, None, 2),
                ("seen", LIST, 0, None, None, None, 0),
                ("seen", LIST, 1, None, None, None, 1),
                ("seen", LIST, 2, None, None, None, 2),
                ("by day", MAP, 0, None, None, ("day", 2), state.Row(n=2)),
                ("total", "reducing", 0, None, None, None, 102),
                ("average", "aggregating", 0, None, None, None, (1, 2)),
                ("expiring", VALUE, 0, 1_002, None, None, "for 2"),
                ("sum", VALUE, 0, None, (2, 12), None, 20),
            ],
        )
    )


@pytest.mark.parametrize("kind", ["heap", "paged"])
def test_state_that_tasks_share(form: Savepoint, kind: str) -> None:
    backend: StateBackend = HeapBackend() if kind == "heap" else PagedBackend(MemoryPages(), 1)
    import_backend(form.read_broadcast_state("sums"), backend)
    shared = BroadcastStateStore()
    shared.load(backend)
    assert [*shared.map("rules").items()] == [*state.RULES.items()]


def test_the_manifest(form: Savepoint) -> None:
    manifest, operator = form.manifest, operator_of(form)
    assert (manifest.job, manifest.max_parallelism, manifest.batch_id) == ("golden", GROUPS, 9)
    assert (operator.kind, operator.name, operator.uid) == ("process", "Sums", "sums")
    assert operator.key_groups == GROUPS
    assert set(operator.states) == {"count", "seen", "by day", "total", "average", "expiring"}
    assert operator.states["count"] == StateKind(VALUE, {"type": "INT"}, False)
    assert operator.states["expiring"].expires
    assert operator.namespaced == {"sum": StateKind(VALUE, {"type": "INT"}, False)}
    assert operator.shared == {"rules": StateKind(VALUE)}
    assert Offset.from_json(manifest.offset) == OFFSET


def test_watermarks_and_what_tasks_keep(form: Savepoint) -> None:
    assert import_header(form.read("watermarks"), form.read("tasks")) == state.header()


def test_what_splits_remember(form: Savepoint) -> None:
    (split,) = form.read("splits")
    assert isinstance(split, SplitRecord)
    assert split[:3] == ("clicks", "a", 40) and decode(split.nodes) == {"times": (3, 40)}


def test_what_sinks_hold_back(form: Savepoint, tmp_path: Path) -> None:
    committer = state.sink(tmp_path).committer(CommitterContext("another", "golden"))
    import_sinks(form.read("sinks"), {"files": committer})
    committer.finish()
    assert [*job.written(tmp_path)] == HELD


def test_no_class_of_headrace_stands_in_it(form: Savepoint) -> None:
    stored = [
        value
        for name in form.manifest.parts
        for record in form.read(name)
        for value in record
        if isinstance(value, bytes) and is_pickle(value)
    ]
    assert len(stored) > 100
    assert {name for data in stored for name in of_headrace(data)} == set()
