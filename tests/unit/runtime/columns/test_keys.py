"""Keys of columns: the same keys, in the same key groups, as a selector finds in the rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.errors import UnstableKeyError
from headrace.runtime.columns.batch import Columns
from headrace.runtime.columns.exactness import compares_like_python
from headrace.runtime.columns.keys import ColumnKeys, key_groups
from headrace.runtime.columns.selectors import (
    ByColumns,
    NamedField,
    TimestampColumn,
    key_columns_of,
    timestamp_column_of,
)
from headrace.runtime.columns.shapes import DICTS, NAMED_ROWS, Shape
from headrace.runtime.keys.key_groups import KeyGroups, key_group_of
from tests.effort import examples

INTEGERS = [
    (pa.int8(), -(1 << 7), (1 << 7) - 1),
    (pa.uint8(), 0, (1 << 8) - 1),
    (pa.int32(), -(1 << 31), (1 << 31) - 1),
    (pa.uint32(), 0, (1 << 32) - 1),
    (pa.int64(), -(1 << 63), (1 << 63) - 1),
    (pa.uint64(), 0, (1 << 64) - 1),
]
EDGES = [-2, -1, 0, (1 << 61) - 2, (1 << 61) - 1, 1 << 61, -(1 << 61), -(1 << 61) + 1]


def integers(low: int, high: int) -> st.SearchStrategy[int]:
    return st.integers(low, high) | st.sampled_from([n for n in EDGES if low <= n <= high])


KINDS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    **{str(kind): (kind, integers(low, high)) for kind, low, high in INTEGERS},
    "string": (pa.string(), st.text()),
    "large string": (pa.large_string(), st.text()),
    "binary": (pa.binary(), st.binary()),
    "bool": (pa.bool_(), st.booleans()),
    "double": (pa.float64(), st.floats(allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0])),
    "float": (pa.float32(), st.floats(width=32, allow_nan=False)),
    "decimal": (pa.decimal128(9, 2), st.decimals(-9999, 9999, places=2)),
    "date": (pa.date32(), st.dates()),
    "time": (pa.time64("us"), st.times()),
    "duration": (pa.duration("us"), st.timedeltas(timedelta(-99999), timedelta(99999))),
    "timestamp": (pa.timestamp("us"), st.datetimes()),
    "instant": (pa.timestamp("us", "UTC"), st.integers(-(1 << 50), 1 << 50)),
    "nanoseconds": (pa.timestamp("ns"), st.integers(-(1 << 40), 1 << 40)),
    "null": (pa.null(), st.none()),
}


def check(batch: Any, names: tuple[str, ...], groups: int, shape: Shape) -> None:
    columns, select = Columns(batch, shape), ByColumns(*names)
    keys = ColumnKeys(columns, names)
    expected = [select(row) for row in columns.rows()]
    found = key_groups(keys, KeyGroups(groups))
    assert found is not None
    assert found.tolist() == [key_group_of(key, groups) for key in expected]
    assert [*keys] == expected and [*keys[1:]] == expected[1:]
    assert [*map(type, keys)] == [*map(type, expected)]
    assert len({*keys.distinct}) == len(keys.distinct)
    assert [keys.distinct[code] for code in keys.codes.tolist()] == expected


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(10))  # of each kind
@given(data=st.data(), groups=st.sampled_from([1, 7, 128, 256, 257, 32768]))
def test_the_key_group_of_a_column_is_that_of_the_rows(
    kind: str, data: st.DataObject, groups: int
) -> None:
    arrow, values = KINDS[kind]
    some = data.draw(st.lists(values, max_size=20) | st.lists(values | st.none(), max_size=20))
    batch = pa.record_batch({"other": [0] * len(some), "key": pa.array(some, arrow)})
    check(batch, ("key",), groups, NAMED_ROWS)
    check(batch[1:], ("key",), groups, NAMED_ROWS)


@given(
    st.lists(
        st.tuples(st.none() | st.integers(-3, 3), st.sampled_from(["a", "b", None]), st.booleans()),
        max_size=30,
    )
)
def test_several_columns_are_a_tuple(rows: list[tuple[Any, ...]]) -> None:
    names = ("a", "b", "c")
    kinds = [pa.int64(), pa.string(), pa.bool_()]
    columns = [*zip(*rows, strict=True)] or [(), (), ()]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    check(pa.RecordBatch.from_arrays(arrays, names=names), names, 128, NAMED_ROWS)
    check(pa.RecordBatch.from_arrays(arrays, names=names), ("c", "a"), 7, NAMED_ROWS)


def test_a_tuple_of_two_integers_has_its_own_key_group() -> None:
    batch = pa.record_batch({"a": [*range(20)], "b": [*range(20, 40)]})
    check(batch, ("a", "b"), 128, NAMED_ROWS)


def test_columns_of_codes_are_keys_too() -> None:
    column = pa.array(["x", "y", None, "x", "z"]).dictionary_encode()
    check(pa.record_batch({"key": column}), ("key",), 128, NAMED_ROWS)
    keys = ColumnKeys(Columns(pa.record_batch({"key": column})[3:]), ("key",))
    assert keys.distinct == ["x", "z"]


@pytest.mark.parametrize(
    "column",
    [pa.array([[1], [2]]), pa.array([{"a": 1}, {"a": 2}]), pa.array([1.0, float("nan")])],
)
def test_where_columns_cannot_tell_the_records_are_asked(column: Any) -> None:
    columns = Columns(pa.record_batch({"key": column}))
    assert key_groups(ColumnKeys(columns, ("key",)), KeyGroups(8)) is None
    assert key_groups(ColumnKeys(columns, ("elsewhere",)), KeyGroups(8)) is None


def test_a_key_that_is_not_equal_to_itself_is_refused_as_in_rows() -> None:
    with pytest.raises(UnstableKeyError, match="nan"):
        key_group_of(float("nan"), 8)


def test_a_selector_says_its_columns() -> None:

    assert key_columns_of(ByColumns("a", "b")) == ("a", "b")
    assert key_columns_of(NamedField("a")) == ("a",)
    assert key_columns_of(lambda row: row["a"]) is None


def test_a_selector_that_only_looks_like_one_of_columns_is_called() -> None:
    class ByParity(ByColumns):
        def __call__(self, value: Any) -> Any:
            return super().__call__(value) % 2

    class Later(TimestampColumn):
        def extract_timestamp(self, value: Any, record_timestamp: int) -> Any:
            return super().extract_timestamp(value, record_timestamp) + 1_000

    class WithAField:
        key_columns = ("a",)

        def __call__(self, value: Any) -> Any:
            return -value["a"]

    assert key_columns_of(ByParity("a")) is None
    assert key_columns_of(WithAField()) is None
    assert timestamp_column_of(Later("at")) is None
    assert timestamp_column_of(TimestampColumn("at")) == "at"


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2, 3], pa.time64("ns")),
        pa.array([0, 1, 86_400_000], pa.int64()).cast(pa.date64(), safe=False),
        pa.array([0.0, -0.0, 1.0]),
    ],
)
def test_keys_that_are_equal_in_python_are_one(column: pa.Array) -> None:
    batch = pa.record_batch([column], ["key"])
    keys = ColumnKeys(Columns(batch, DICTS), ("key",))
    assert len({*keys.distinct}) == len(keys.distinct) < len(column)
    assert [keys.distinct[code] for code in keys.codes] == [*keys]


@pytest.mark.parametrize(
    ("kind", "alike"),
    [
        *((kind, True) for kind in (pa.int8(), pa.uint64(), pa.bool_(), pa.string(), pa.binary())),
        *((kind, True) for kind in (pa.large_string(), pa.large_binary(), pa.date32())),
        *((kind, False) for kind in (pa.float64(), pa.date64(), pa.time64("ns"), pa.null())),
        *((kind, False) for kind in (pa.decimal128(9, 2), pa.timestamp("ns"), pa.list_(pa.int8()))),
    ],
    ids=str,
)
def test_types_that_compare_as_python_does(kind: Any, alike: bool) -> None:
    assert compares_like_python(kind) is alike
