"""Rows of tables as records of a savepoint, without Spark."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from headrace.common import Row, Types
from headrace.common.typeinfo import TypeInformation
from headrace.errors import ConfigurationError, HeadraceError, TypeMismatchError
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.savepoint.arrow import from_batches
from headrace.runtime.savepoint.records import StateRecord, TimerRecord, decode, decode_key, encode
from headrace.state._encoding import Keys, StateEncoder, TimerEncoder, Values

PAIR = Types.TUPLE([Types.STRING(), Types.INT()])
ROW = Types.ROW_NAMED(["name", "n"], [Types.STRING(), Types.INT()])


def encoded(encoder: Any, columns: dict[str, pa.Array]) -> list[Any]:
    batch = pa.record_batch(list(columns.values()), names=list(columns))
    table = "timers" if isinstance(encoder, TimerEncoder) else "states"
    return [*from_batches(table, encoder([batch]))]


def encoder(
    value: TypeInformation | None = None,
    *,
    key: TypeInformation | None = None,
    namespaced: bool = False,
    pickled: bool = False,
    groups: int = 8,
    nullable: bool = False,
) -> StateEncoder:
    keys = Keys(Values("key", key, pickled), groups, namespaced)
    return StateEncoder("op", "last", "value", keys, Values("value", value, pickled, nullable))


def test_a_row_becomes_a_record() -> None:
    values = pa.array(
        [{"name": "x", "n": 1}], pa.struct([("name", pa.string()), ("n", pa.int32())])
    )
    (record,) = encoded(encoder(ROW), {"key": pa.array(["a"]), "value": values})
    group = key_group_of("a", 8)
    assert record == StateRecord(
        "op", "last", "value", "pickle", group, encode("a"), None, 0, None, None,
        encode(Row(name="x", n=1)),
    )  # fmt: skip


def test_keys_are_what_the_program_has() -> None:
    pairs = pa.array([{"f0": "a", "f1": 1}], pa.struct([("f0", pa.string()), ("f1", pa.int32())]))
    (record,) = encoded(encoder(Types.LONG(), key=PAIR), {"key": pairs, "value": pa.array([5])})
    assert (decode(record.key), record.key_group) == (("a", 1), key_group_of(("a", 1), 8))
    lists = Types.LIST(Types.LONG())
    (record,) = encoded(
        encoder(Types.LONG(), key=lists), {"key": pa.array([[1, 2]]), "value": pa.array([5])}
    )
    assert decode(record.key) == [1, 2]
    assert record.key_group == key_group_of(decode_key(record.key), 8)


def test_both_zeros_are_one_key() -> None:
    zeros = pa.array([0.0, -0.0])
    one, other = encoded(encoder(), {"key": zeros, "value": pa.array([1, 2])})
    assert (one.key, one.key_group) == (other.key, other.key_group)
    pair = pa.StructArray.from_arrays([zeros, zeros], ["f0", "f1"])
    kind = Types.TUPLE([Types.DOUBLE(), Types.DOUBLE()])
    one, other = encoded(encoder(key=kind), {"key": pair, "value": pa.array([1, 2])})
    assert one.key == other.key
    keys = Keys(Values("key"), 8, None)
    of_map = StateEncoder("op", "by", "map", keys, Values("value"), Values("item"))
    columns = {"key": pa.array(["a", "a"]), "item": zeros, "value": pa.array([1, 2])}
    one, other = encoded(of_map, columns)
    assert one.item == other.item


def test_pickles_are_taken_as_they_are() -> None:
    columns = {
        "key": pa.array([encode(("a", None))]),
        "namespace": pa.array([encode((0, 10))]),
        "value": pa.array([encode({1, 2})]),
    }
    (record,) = encoded(encoder(pickled=True, namespaced=True), columns)
    found = decode(record.key), decode(record.namespace), decode(record.value)
    assert found == (("a", None), (0, 10), {1, 2})


def test_windows_and_broadcast_state() -> None:
    columns = {
        "key": pa.array(["a", "a", "a"]),
        "namespace": pa.array(["[0, 1000]", "7", '"global"']),
        "value": pa.array([1, 2, 3]),
    }
    records = encoded(encoder(Types.LONG(), namespaced=True), columns)
    assert [decode(record.namespace) for record in records] == [(0, 1000), 7, "global"]
    shared = {"key": pa.array(["a"]), "value": pa.array([1]), "position": pa.array([4])}
    (record,) = encoded(encoder(Types.LONG(), groups=0), shared)
    assert (record.key_group, record.position) == (ALL_GROUPS, 4)


def test_elements_may_be_null_if_the_state_allows_it() -> None:
    columns = {"key": pa.array(["a"]), "value": pa.array([None], pa.int64())}
    (record,) = encoded(encoder(Types.LONG(), nullable=True), columns)
    assert decode(record.value) is None


@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"key": pa.array([None], pa.string())}, TypeMismatchError, "'key' has a null"),
        ({"value": pa.array([None], pa.int64())}, TypeMismatchError, "'value' has a null"),
        ({"value": pa.array([1 << 40])}, TypeMismatchError, "does not fit"),
        ({"namespace": pa.array(["[0, 1]"])}, ConfigurationError, "the state is of keys alone"),
    ],
)
def test_wrong_rows_are_refused(
    changed: dict[str, Any], error: type[HeadraceError], message: str
) -> None:
    columns = {"key": pa.array(["a"]), "value": pa.array([1]), **changed}
    with pytest.raises(error, match=message) as refused:
        encoded(encoder(Types.INT()), columns)
    where = refused.value.where
    assert (where["operator"], where["state"]) == ("op", "last")


@pytest.mark.parametrize(
    ("namespace", "message"), [(None, "has no namespace"), ("TimeWindow(0, 1)", "is not JSON")]
)
def test_wrong_namespaces_are_refused(namespace: str | None, message: str) -> None:
    columns = {
        "key": pa.array(["a"]),
        "namespace": pa.array([namespace], pa.string()),
        "value": pa.array([1]),
    }
    with pytest.raises(ConfigurationError, match=message):
        encoded(encoder(Types.LONG(), namespaced=True), columns)


def test_timers() -> None:
    of_timers = TimerEncoder("op", Keys(Values("key"), 8, None))
    columns = {
        "key": pa.array([1, 1]),
        "namespace": pa.array([None, "[0, 10]"]),
        "clock": pa.array(["event", "processing"]),
        "time_ms": pa.array([5, 6]),
    }
    group = key_group_of(1, 8)
    assert encoded(of_timers, columns) == [
        TimerRecord("op", "event", group, 5, 0, encode(1), None),
        TimerRecord("op", "processing", group, 6, 0, encode(1), encode((0, 10))),
    ]
    with pytest.raises(ConfigurationError, match="the clock 'wall'"):
        encoded(of_timers, {**columns, "clock": pa.array(["event", "wall"])})
