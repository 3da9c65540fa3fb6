"""The columns that a table must have to become a state, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.common import Types
from headrace.common.typeinfo import TypeInformation
from headrace.errors import TypeMismatchError, UnsupportedError
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.manifest import OperatorEntry
from headrace.runtime.savepoint.records import encode
from headrace.runtime.state.kinds import LIST, MAP, TIMES, VALUE, StateKind
from headrace.state._new_state import NewState

ENTRY = OperatorEntry("op", "", "op", "op", 4)
LONG = StateKind(VALUE, {"type": "LONG"})
PAIR = Types.TUPLE([Types.STRING(), Types.INT()])


def columns(
    kind: StateKind,
    first: tuple[bytes, int] | None = None,
    key_type: TypeInformation | None = None,
    pickled: bool = False,
    **more: Any,
) -> dict[str, tuple[pa.DataType | None, bool]]:
    frame: Any = None
    table = NewState("s", kind, frame, key_type, pickled, **more).table(ENTRY, lambda: first)
    return {column.name: (column.kind, column.optional) for column in table.columns}


def record(key: Any) -> tuple[bytes, int]:
    return encode(key), key_group_of(key, 4)


def test_each_kind_of_state_has_its_columns() -> None:
    namespace, number = (pa.string(), True), (pa.int64(), False)
    plain = {"key": (None, False), "value": number, "namespace": namespace}
    assert columns(LONG) == plain
    listed = StateKind(LIST, {"type": "LIST", "of": [{"type": "LONG"}]})
    assert columns(listed) == plain | {"position": number}
    mapped = StateKind(MAP, {"type": "MAP", "of": [{"type": "STRING"}, {"type": "LONG"}]})
    item = {"item": (pa.string(), False), "position": (pa.int64(), True)}
    assert columns(mapped) == plain | item
    assert columns(LONG._replace(expires=True)) == plain | {"timestamp_ms": number}
    assert columns(LONG, namespaced=True)["namespace"] == (pa.string(), False)
    shared = columns(mapped._replace(kind=VALUE), shared=True)
    assert shared == plain | {"key": (pa.string(), False), "position": (pa.int64(), True)}
    found = columns(StateKind(TIMES), pickled=True)
    assert (found["key"], found["value"]) == ((pa.binary(), False), (pa.binary(), False))
    assert found["timestamp_ms"] == number


def test_keys_have_the_type_of_those_that_are_there() -> None:
    assert columns(LONG, record(1))["key"] == (pa.int64(), False)
    pair = pa.struct([("f0", pa.string()), ("f1", pa.int32())])
    assert columns(LONG, record(("a", 1)), PAIR)["key"] == (pair, False)
    with pytest.raises(TypeMismatchError, match="of the class tuple, which needs a declared type"):
        columns(LONG, record(("a", 1)))
    with pytest.raises(TypeMismatchError, match="are of the class int, and key_type is TUPLE"):
        columns(LONG, record(1), PAIR)
    key, group = record(1)
    with pytest.raises(UnsupportedError, match=r"has operator state .*, not keyed state"):
        columns(LONG, (key, group + 1))


@pytest.mark.parametrize("kind", [StateKind(VALUE), StateKind(VALUE, {"type": "CLASS"})])
def test_values_need_a_declared_type(kind: StateKind) -> None:
    if kind.type is not None:
        kind.type["text"] = "Order"
    with pytest.raises(TypeMismatchError, match="is not declared, or SQL does not have it"):
        columns(kind)
