"""Objects that were pickled when their class was in another module."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.errors import ConfigurationError
from headrace.runtime.moved_classes import use_moved_classes
from headrace.runtime.state.kinds import StateKind
from headrace.runtime.state.pages.backend import PagedBackend
from headrace.runtime.state.pages.memory import MemoryPages


@dataclass
class Order:
    id: int
    tags: list[str] = field(default_factory=list)


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    before = dict(sys.modules)
    yield
    for name in sys.modules.keys() - before.keys():
        del sys.modules[name]


def pickled_as(module: str, value: Any) -> bytes:
    """The pickle of an object whose class was in another module."""
    before = __name__.encode()
    data = pickle.dumps(value, 0).replace(before, module.encode())
    assert before not in data
    return data


def test_a_class_is_found_where_it_was() -> None:
    use_moved_classes({"gone.models.Order": f"{__name__}.Order"})
    assert pickle.loads(pickled_as("gone.models", Order(7))) == Order(7)


def test_all_classes_of_a_module_are_found() -> None:
    use_moved_classes({"gone.models": __name__})
    assert pickle.loads(pickled_as("gone.models", [Order(7)])) == [Order(7)]


def test_a_class_leaves_a_module_that_is_still_there() -> None:
    use_moved_classes({f"{__name__}.Former": f"{__name__}.Order"})
    data = pickle.dumps(Order(7), 0).replace(b"\nOrder", b"\nFormer")
    assert b"Former" in data and pickle.loads(data) == Order(7)
    use_moved_classes({f"{__name__}.Order": "decimal.Decimal"})
    assert pickle.loads(pickle.dumps(Order(7))) == Order(7), "what is there stays"
    del sys.modules[__name__].__dict__["Former"]


def test_a_class_that_moved_may_have_changed_too() -> None:
    """The state was stored under the old name, with fewer fields."""
    module = type(sys)("gone")
    sys.modules["gone"] = module
    before = type("Order", (), {"__module__": "gone", "__annotations__": {"id": int}})
    module.Order = dataclass(before)  # type: ignore[attr-defined]
    store = MemoryPages()
    backend = PagedBackend(store, 4)
    backend.declare("orders", StateKind("list"))
    backend.enter("ann")["orders"] = [module.Order(7)]
    backend.changed("ann")
    backend.flush()
    del sys.modules["gone"]
    use_moved_classes({"gone.Order": f"{__name__}.Order"})
    for _ in range(2):
        backend = PagedBackend(store, 4)
        backend.declare("orders", StateKind("list"))
        (found,) = backend.enter("ann")["orders"]
        assert found == Order(7) and vars(found) == {"id": 7, "tags": []}
        backend.flush()


def test_a_job_knows_them() -> None:
    settings = {"headrace.state.moved-classes": f"gone.Order:{__name__}.Order"}
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({**settings, "execution.target": "local"})
    )
    data = pickled_as("gone", Order(7))
    stream = env.from_collection([data]).map(pickle.loads)
    assert [*stream.execute_and_collect()] == [Order(7)]


def test_a_place_where_nothing_is_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"there is no headrace\.nowhere\.Order"):
        use_moved_classes({"gone.Order": "headrace.nowhere.Order"})
