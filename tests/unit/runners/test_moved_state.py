"""What a stage takes over of the state of an older generation."""

from __future__ import annotations

import pickle
from types import SimpleNamespace
from typing import Any

import pandas

from headrace.runners.spark.checkpoint.generations import Origin
from headrace.runners.spark.query.keyed_stage import StageProcessor
from headrace.runners.spark.query.moved_state import claims, states_in
from headrace.runners.spark.query.worker import ProgramRef
from headrace.runtime.program import ChainProgram, VertexProgram
from headrace.runtime.state.kinds import LIST, MAP, VALUE, StateKind
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.held import HeldPages

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
    assert claims(origin, stage("c", "new", "a")) == {1: {"a"}, 2: {"c"}}
    assert claims(origin, stage("new")) == {}
    assert claims(Origin(0, -1, stages, {}), stage("a")) == {}


def frame(*rows: tuple[int, str, bytes]) -> pandas.DataFrame:
    return pandas.DataFrame(rows, columns=["stage", "name", "data"])


def headers(**by_operator: bytes) -> bytes:
    return pickle.dumps({f"{id_}/2/": data for id_, data in by_operator.items()})


def test_records_are_taken_over_raw_and_headers_operator_by_operator() -> None:
    claimed = {1: frozenset({"a", "of/slashes"}), 2: frozenset({"c"})}
    processor, pages = StageProcessor(ProgramRef("run", b""), 1, claimed), Pages()
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
        processor.handleInitialState((7,), rows, None)
    found = pickle.loads(pages.kept.pop(HEADER))
    assert found == {"a/2/": b"A", "c/2/": b"C"}
    assert pages.kept == {"a/2/p0": b"1", "of/slashes/2/E1.0": b"2", "c/0/l1.0": b"3"}


def test_the_states_of_an_operator_are_told_from_its_header() -> None:
    store = HeldPages()
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
