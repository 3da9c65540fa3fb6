"""The records of a checkpoint that is read where the program's classes are not."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from types import ModuleType
from typing import Any

import pyarrow as pa
import pytest

from headrace.common._storage.pickles import StandIn, loads, only_data, stand_ins
from headrace.errors import CheckpointError
from headrace.runners.spark.committed_state import PageRecords
from headrace.runners.spark.query.state_export import StatePage
from headrace.runtime.keys.serialized_key import SerializedKey, to_internal_key
from headrace.runtime.savepoint.records import decode_key
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.kinds import LIST, MAP, TIMES, VALUE, StateKind
from headrace.runtime.state.pages.backend import HEADER, PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages
from headrace.runtime.state.time_buffer import TimeBuffer

KEYS = 20


class Side(Enum):
    BUY = 1


SHOWN_SIDE = "Side('BUY')" if Side.BUY.__reduce_ex__(5)[0] is getattr else "Side(1)"
"""Python 3.11 before 3.11.4 pickles members of enums by name."""


@dataclass
class Order:
    price: int


@dataclass(frozen=True)
class Venue:
    name: str


@pytest.fixture
def pages() -> Iterator[list[StatePage]]:
    """The pages of an operator whose classes are of a module that is gone afterwards."""
    gone = ModuleType("gone_script")
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "gone_script", gone)
        for cls in (Side, Order, Venue):
            patch.setattr(cls, "__module__", "gone_script")
            setattr(gone, cls.__name__, cls)
        store = MemoryPages()
        backend = PagedBackend(store, 1, 200)
        for name, kind in (("value", VALUE), ("list", LIST), ("map", MAP), ("times", TIMES)):
            backend.declare(name, StateKind(kind))
        backend.in_namespaces.declare("window", StateKind(VALUE))
        for number in range(KEYS):
            for key in (number, to_internal_key(Venue(f"v{number}"))):
                length = 3 if number else 400
                entry = backend.enter(key)
                entry["value"] = Venue(f"v{number}")
                entry["list"] = [Order(at) for at in range(length)]
                entry["map"] = {at: Side.BUY for at in range(length)}
                entry["times"] = TimeBuffer([*range(length)], [Order(at) for at in range(length)])
                backend.changed(key)
                backend.in_namespaces.enter((key, (0, 10)))["window"] = Order(number)
                backend.in_namespaces.changed((key, (0, 10)))
                backend.event_timers.register(Timer(number, key, None))
        backend.flush()
        headers = pickle.dumps({"keeps/0/": store.records.pop(HEADER)}, 5)
        found = [StatePage(0, "", 0, HEADER, headers)]
        found += [
            StatePage(0, "keeps", 0, f"keeps/0/{name}", data)
            for name, data in store.records.items()
        ]
    yield found


def records(pages: list[StatePage], table: str, only_shown: bool = True) -> list[dict[str, Any]]:
    columns = zip(*pages, strict=True)
    batch = pa.RecordBatch.from_pydict(
        dict(zip(StatePage._fields, map(list, columns), strict=True))
    )
    task = PageRecords(table, "keeps", 1, None, 1, only_shown)
    return [row for found in task([batch]) for row in found.to_pylist()]


def test_objects_of_classes_that_cannot_be_imported_become_stand_ins(
    pages: list[StatePage],
) -> None:
    found = records(pages, "states")
    with only_data(), stand_ins():  # as it is compared with a savepoint
        shown = {
            (row["state"], repr(decode_key(row["key"])), row["position"]): repr(loads(row["value"]))
            for row in found
        }
    expected = {}
    for number in range(KEYS):
        for key in (f"{number}", f"Venue(name='v{number}')"):
            expected["value", key, 0] = f"Venue(name='v{number}')"
            expected["window", key, 0] = f"Order(price={number})"
            for at in range(3 if number else 400):
                expected["list", key, at] = expected["times", key, at] = f"Order(price={at})"
                expected["map", key, at] = SHOWN_SIDE
    assert shown == expected


def test_timers_of_keys_whose_class_cannot_be_imported(pages: list[StatePage]) -> None:
    with stand_ins():
        found = [(row["time_ms"], repr(loads(row["key"]))) for row in records(pages, "timers")]
    expected = [(n, key) for n in range(KEYS) for key in (f"{n}", f"Venue(name='v{n}')")]
    assert found == expected


def test_a_stand_in_is_never_taken_for_the_object(pages: list[StatePage]) -> None:
    with pytest.raises(CheckpointError, match="cannot be read: ModuleNotFoundError"):
        records(pages, "states", only_shown=False)
    found = next(row for row in records(pages, "states") if row["state"] == "value")
    with pytest.raises(pickle.UnpicklingError, match=r"gone_script\.Venue cannot be imported"):
        loads(found["value"])
    with stand_ins():
        shown = loads(found["value"])
        assert isinstance(shown, StandIn) and type(to_internal_key(shown)) is SerializedKey
