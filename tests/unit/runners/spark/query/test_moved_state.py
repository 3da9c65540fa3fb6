"""What a stage takes over of the state of an older generation."""

from __future__ import annotations

import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from headrace.runners.spark.checkpoint.generations import Origin
from headrace.runners.spark.query.keyed_stage import StageProcessor
from headrace.runners.spark.query.moved_state import claimed_state, rescaled_vertices, states_in
from headrace.runners.spark.query.stored import (
    backends_of,
    records_of,
    records_of_vertices,
    redistribute,
)
from headrace.runners.spark.query.wire import bucket_keys
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.program import ChainProgram, JobProgram, VertexProgram
from headrace.runtime.savepoint.job_state import create_savepoint
from headrace.runtime.savepoint.savepoint import Savepoint
from headrace.runtime.state.backend import StateBackend
from headrace.runtime.state.kinds import LIST, MAP, VALUE, StateKind
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from tests.unit.planner.test_kept_subtasks import planned

CHAIN = ChainProgram("", {}, ())


def stage(*ids: str) -> tuple[VertexProgram, ...]:
    return tuple(VertexProgram(id_, 1, True, 4, 1, CHAIN) for id_ in ids)


class Pages:
    """Spark's map state, of one bucket."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    def getValue(self, key: tuple[str]) -> tuple[bytes] | None:
        found = self.kept.get(key[0])
        return None if found is None else (found,)

    def updateValue(self, key: tuple[str], value: tuple[bytes]) -> None:
        self.kept[key[0]] = value[0]


def test_a_stage_claims_its_own_operators_from_where_they_lay() -> None:
    stages = (("a", "b"), ("c",), ("gone",))
    origin = Origin(0, 3, stages, {})
    assert claimed_state(origin, stage("c", "new", "a")) == {1: {"a"}, 2: {"c"}}
    assert claimed_state(origin, stage("new")) == {}
    assert claimed_state(Origin(0, -1, stages, {}), stage("a")) == {}


def test_state_of_another_number_of_instances_is_not_taken_as_it_is() -> None:
    program = planned(2)
    counts = program.vertex("counts")
    stages = (("counts",), ("sum",))
    shrunk = Origin(0, 3, stages, {}, groups={"counts": 3, "sum": 128})
    assert (
        rescaled_vertices(shrunk, (counts,)) == (counts,) and claimed_state(shrunk, (counts,)) == {}
    )
    same = Origin(0, 3, stages, {}, groups={"counts": 2, "sum": 128})
    assert rescaled_vertices(same, (counts,)) == () and claimed_state(same, (counts,)) == {
        1: {"counts"}
    }
    assert rescaled_vertices(replace(shrunk, batch=-1), (counts,)) == ()


def test_elements_of_three_instances_come_to_two() -> None:
    program = planned(2)
    stored = [(0, "other/0/page", b"")]
    for instance in range(3):
        held = MemoryPages()
        backend = PagedBackend(held, 3)
        backend.declare("element", StateKind(VALUE))
        for position in range(2):
            key = ("waiting", instance, position, 1)
            backend.enter(key)["element"] = (instance, position)
            backend.changed(key)
        backend.header["nodes"] = {"counts": (b"", -instance, None)}
        backend.flush()
        header = {f"counts/{instance}/": held.records.pop(HEADER), f"other/{instance}/": b""}
        stored.append((instance, HEADER, pickle.dumps(header)))
        stored += [(instance, f"counts/{instance}/{name}", d) for name, d in held.records.items()]
    mine = [*records_of_vertices(stored, {"counts"})]
    records = redistribute(mine, program, (program.vertex("counts"),), {"counts": 3})
    assert {stage for _, stage, _, _ in records} == {0}
    backends = backends_of(program, [(bucket, name, data) for bucket, _, name, data in records])
    found = {
        group: sorted(entry["element"] for _, entry in backend.scan())
        for (_, group), backend in backends.items()
    }
    assert found == {0: [(0, 0), (0, 1), (1, 0)], 1: [(1, 1), (2, 0), (2, 1)]}
    # The number of the snapshot is the last of all instances.
    for backend in backends.values():
        assert backend.header["nodes"] == {"counts": (b"", -2, None)}


def frame(*rows: tuple[int, str, bytes]) -> pandas.DataFrame:
    return pandas.DataFrame(rows, columns=["stage", "name", "data"])


def headers(**by_operator: bytes) -> bytes:
    return pickle.dumps({f"{id_}/2/": data for id_, data in by_operator.items()})


def test_records_are_taken_over_raw_and_headers_operator_by_operator() -> None:
    claimed = {1: frozenset({"a", "of/slashes"}), 2: frozenset({"c"})}
    processor, pages = StageProcessor(ProgramRef("run", b""), 1, 2, claimed), Pages()
    handle: Any = SimpleNamespace(getMapState=lambda *_: pages)
    processor.init(handle)
    first = frame(
        (1, "a/2/p0", b"1"),
        (1, "b/2/p0", b"not claimed"),
        (1, HEADER, headers(a=b"A", b=b"B", c=b"an older one, left there")),
        (1, "of/slashes/2/E1.0", b"2"),
    )
    second = frame(
        (2, "a/2/p0", b"left there"), (2, "c/0/l1.0", b"3"), (2, HEADER, headers(c=b"C"))
    )
    for rows in (first, second):  # a key's rows come in frames of some megabytes
        processor.handleInitialState((bucket_keys(2)[0],), rows, None)
    # With other partitions, a header comes to all buckets, for what they have of it.
    others = pickle.dumps({"a/3/": b"elsewhere", "a/4/": b"here", "a/-1/": b"everywhere"})
    rows = frame((1, HEADER, others))
    processor.handleInitialState((bucket_keys(2)[0],), rows, None)
    found = pickle.loads(pages.kept.pop(HEADER))
    assert found == {"a/2/": b"A", "c/2/": b"C", "a/4/": b"here", "a/-1/": b"everywhere"}
    assert pages.kept == {"a/2/p0": b"1", "of/slashes/2/E1.0": b"2", "c/0/l1.0": b"3"}


def test_the_states_of_an_operator_are_known_from_its_header() -> None:
    store = MemoryPages()
    backend = PagedBackend(store, 4)
    backend.declare("total", StateKind(VALUE, "INT"))
    backend.declare("seen", StateKind(LIST))
    backend.enter("ann").update(total=1, seen=[1])
    backend.changed("ann")
    backend.in_namespaces.declare("sums", StateKind(MAP))
    backend.in_namespaces.enter(("ann", (0, 10)))["sums"] = {1: 2}
    backend.in_namespaces.changed(("ann", (0, 10)))
    backend.flush()
    found = dict(states_in([("of/slashes/3/", store.records[HEADER])]))
    assert found == {"of/slashes": {"total (value)", "seen (list)", "sums (map)"}}


@pytest.mark.parametrize("partitions", [1, 3, 200])
def test_no_record_of_state_says_how_many_partitions_there_are(partitions: int) -> None:
    program = replace(planned(2), partitions=4)
    backends: dict[tuple[str, int], StateBackend] = {}
    for key in range(40):
        backend = backends.setdefault(
            ("sum", key_group_of(key, 128)), PagedBackend(MemoryPages(), 128)
        )
        backend.declare("sum", StateKind(VALUE))
        backend.enter(key)["sum"] = [key] * 3_000
        backend.changed(key)
    for each in backends.values():
        each.flush()
    savepoint = create_savepoint(program, backends, {}, {}, 0)
    before = placed(savepoint, program, program.partitions)
    assert len({bucket for bucket, _ in before}) == 4
    assert placed(savepoint, program, partitions) == moved(before, partitions)


Placed = dict[tuple[int, str], bytes]


def placed(savepoint: Savepoint, program: JobProgram, partitions: int) -> Placed:
    """The records of a state store, by bucket and name; those of a header apart."""
    found: Placed = {}
    vertices = [vertex for stage in program.stages for vertex in stage]
    rows = records_of(savepoint, replace(program, partitions=partitions), vertices)
    for bucket, _, name, data in rows:
        if name == HEADER:
            headers = pickle.loads(data)
            found |= {(bucket, HEADER + prefix): header for prefix, header in headers.items()}
        else:
            found[bucket, name] = data
    return found


def moved(before: Placed, partitions: int) -> Placed:
    """The same records in the buckets of other partitions, by their names alone."""
    keys = bucket_keys(partitions)
    groups = {name: int(name.rsplit("/", 2)[1]) for _, name in before}
    return {(keys[groups[name] % partitions], name): data for (_, name), data in before.items()}
