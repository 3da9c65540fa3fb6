"""Columns: what they hold is what rows would."""

from __future__ import annotations

import pickle
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.common.types import Row, RowKind
from headrace.connector import ColumnChunk
from headrace.errors import TypeMismatchError
from headrace.runtime.block import Block, Mark, decode, encode, isolate_for_receiver, records_of
from headrace.runtime.channel import Channel
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.columns.building import from_chunk
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.columns.selectors import TimestampColumn
from headrace.runtime.columns.shapes import (
    DICTS,
    NAMED_ROWS,
    Objects,
    PlainValues,
    Tuples,
    python_values,
)

BATCH = pa.record_batch({"user": ["ann", None, "bob"], "n": [1, 2, None]})
USERS = pa.record_batch({"user": ["a", "b", "c"]})


def kinded(*kinds: int | None, shape: Any = NAMED_ROWS) -> Columns:
    """The users, with row kinds as a source gives them."""
    batch = USERS[: len(kinds)].append_column("kind", pa.array(kinds, pa.int8()))
    return from_chunk(ColumnChunk(batch, shape, "kind"))


@dataclass(frozen=True)
class Click:
    user: str | None
    n: int | None


@pytest.mark.parametrize(
    "shape, expected",
    [
        (DICTS, [{"user": "ann", "n": 1}, {"user": None, "n": 2}, {"user": "bob", "n": None}]),
        (NAMED_ROWS, [Row(user="ann", n=1), Row(user=None, n=2), Row(user="bob", n=None)]),
        (Tuples(), [("ann", 1), (None, 2), ("bob", None)]),
        (Objects(Click), [Click("ann", 1), Click(None, 2), Click("bob", None)]),
    ],
)
def test_rows_are_of_their_shape(shape: Any, expected: list[Any]) -> None:
    columns = Columns(BATCH, shape)
    assert columns.rows() == [*columns] == expected
    assert columns[1:].rows() == expected[1:]
    again = pickle.loads(pickle.dumps(columns[1:]))
    assert again.rows() == expected[1:] and again.shape == shape


def test_one_column_can_be_plain_values() -> None:
    moments = pa.array([1_000_000_001, None], pa.timestamp("ns"))
    batch = pa.record_batch({"at": moments})
    assert Columns(batch, PlainValues()).rows() == [datetime(1970, 1, 1, 0, 0, 1), None]


def test_rows_are_fresh_each_time() -> None:
    columns = Columns(BATCH)
    columns.rows()[0]["user"] = "changed"
    assert columns.rows()[0]["user"] == "ann"


def test_row_kinds_are_those_of_the_rows() -> None:
    columns = kinded(0, 3)
    rows = columns.rows()
    assert rows == [Row(user="a"), Row.of_kind(RowKind.DELETE, user="b")]
    assert columns.kinds is not None and columns.kinds.tolist() == [0, 3]
    assert pickle.loads(pickle.dumps(columns[1:])).rows() == rows[1:]


def test_where_all_are_inserts_there_are_no_kinds() -> None:
    assert kinded(0, None, 0).kinds is None
    columns = kinded(0, 0, 1)
    assert columns[:2].kinds is None and columns[1:].kinds.tolist() == [0, 1]  # type: ignore[union-attr]
    assert columns.take(np.array([1, 0])).kinds is None
    assert (columns.nbytes, columns[:2].nbytes) == (USERS.nbytes + 3, (USERS.nbytes + 3) * 2 // 3)


def test_kinds_go_with_their_rows() -> None:
    times = pa.array([10, None, 30], pa.int64())
    columns = kinded(1, 2, 3).with_times(times)
    assert columns.batch.schema.names == ["user"]
    turned = columns.take(np.array([2, 0]))
    assert turned.rows() == [columns.rows()[2], columns.rows()[0]]
    for again in (pickle.loads(pickle.dumps(turned)), pickle.loads(pickle.dumps(columns))[::1]):
        assert again.rows() == (turned if len(again) == 2 else columns).rows()
        assert again.batch.schema.names == ["user"] and again.times is not None
    assert pickle.loads(pickle.dumps(columns[1:])).times.equals(times[1:])


def test_parts_with_and_without_kinds_are_joined() -> None:
    plain, deleted = Columns(USERS, NAMED_ROWS), kinded(3, 0, 3)
    assert plain.is_like(deleted)
    whole = concatenate_columns([plain[:1], deleted[1:], deleted[:1]])
    assert whole.kinds is not None and whole.kinds.tolist() == [0, 0, 3, 3]
    assert whole.rows() == [*plain[:1], *deleted[1:], *deleted[:1]]
    assert concatenate_columns([plain, deleted[1:2]]).kinds is None


@pytest.mark.parametrize(
    ("kinds", "name", "message"),
    [
        (pa.array([0, 7], pa.int8()), "kind", "7 is no RowKind"),
        (pa.array([-1, 0], pa.int8()), "kind", "-1 is no RowKind"),
        (pa.array(["a", "b"]), "kind", "row kinds are int8, not string"),
        (pa.array([0, 1], pa.int8()), "other", "no single column has the row kinds"),
    ],
)
def test_row_kinds_that_are_none_are_refused(kinds: Any, name: str, message: str) -> None:
    batch = USERS[:2].append_column("kind", kinds)
    with pytest.raises(TypeMismatchError, match=message):
        from_chunk(ColumnChunk(batch, NAMED_ROWS, name))


def test_a_row_without_a_kind_is_inserted() -> None:
    assert kinded(None, 3).rows() == [Row(user="a"), Row.of_kind(RowKind.DELETE, user="b")]


def test_only_rows_have_kinds() -> None:
    with pytest.raises(TypeMismatchError, match="row kinds"):
        kinded(0, 3, shape=DICTS)


def test_times_go_with_their_rows() -> None:
    columns = Columns(BATCH, times=pa.array([10, None, 30], pa.int64()))
    assert [*(columns.timestamps or ())] == [10, None, 30]
    assert columns.latest_ms() == 30 and columns[:0].latest_ms() is None
    assert [*(columns[1:].timestamps or ())] == [None, 30]
    turned = columns.take(np.array([2, 0]))
    assert [*(turned.timestamps or ())] == [30, 10] and turned.rows()[0]["user"] == "bob"
    assert [*pickle.loads(pickle.dumps(turned)).timestamps] == [30, 10]
    seen: list[Any] = []
    turned.push_rows(lambda value, timestamp: seen.append((value["user"], timestamp)))
    assert seen == [("bob", 30), ("ann", 10)]


def test_several_are_joined_and_one_is_itself() -> None:
    plain, timed = Columns(BATCH), Columns(BATCH, times=pa.array([1, 2, 3], pa.int64()))
    assert concatenate_columns([plain]) is plain
    whole = concatenate_columns([plain, timed[1:]])
    assert whole.rows() == plain.rows() + plain.rows()[1:]
    assert [*(whole.timestamps or ())] == [None, None, None, 2, 3]
    codes = Columns(pa.record_batch({"user": pa.array(["x", "y"]).dictionary_encode()}))
    others = Columns(pa.record_batch({"user": pa.array(["y", "z"]).dictionary_encode()}))
    assert [row["user"] for row in concatenate_columns([codes, others])] == ["x", "y", "y", "z"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([-1, 0, 1_700_000_000_123], pa.int64()),
        pa.array([-1, 0, 17], pa.int32()),
        pa.array([-1, 1_001, 2_999], pa.timestamp("us")),
        pa.array([-1_000_001, 1_999_999, 5], pa.timestamp("ns", "Europe/Berlin")),
        pa.array([-1, 0, 17], pa.timestamp("s")),
    ],
)
def test_a_column_gives_the_timestamps_that_rows_give(column: Any) -> None:
    from headrace.common import WatermarkStrategy

    columns = Columns(pa.record_batch({"at": column}))
    timed = columns.with_times_of_column("at")
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(TimestampColumn("at"))
    timestamp_of = strategy.timestamp_of
    assert timed is not None and timestamp_of is not None
    assert [*(timed.timestamps or ())] == [timestamp_of(row, None) for row in columns]


@pytest.mark.parametrize(
    "column",
    [
        [1, None],
        ["a", "b"],
        [1.5, 2.5],
        [True, False],
        pa.array([1, 10**14], pa.timestamp("s")),  # its microseconds do not fit 64 bits
        pa.array([1, 1 << 63], pa.uint64()),
    ],
)
def test_other_columns_give_no_timestamps(column: Any) -> None:
    assert Columns(pa.record_batch({"at": column})).with_times_of_column("at") is None
    assert Columns(pa.record_batch({"at": column})).with_times_of_column("elsewhere") is None


def test_a_block_of_columns_is_encoded_and_read_as_rows() -> None:
    columns = Columns(BATCH, times=pa.array([1, 2, 3], pa.int64()))
    marks = [Mark(1, Channel("x", "split"), 7)]
    keys = ColumnKeys(columns, ("user",))
    block = Block(keys, columns, columns.timestamps, False, marks, None, 5)
    assert isolate_for_receiver(block) is block
    again = decode(encode(block))
    assert again.marks == marks and again.now_ms == 5
    assert [*(again.keys or ())] == ["ann", None, "bob"]
    assert [*(again.timestamps or ())] == [1, 2, 3]
    assert records_of(again) == columns.rows()
    assert isinstance(again.values, Columns)


def test_a_job_without_columns_does_not_import_them() -> None:
    code = (
        "import sys, headrace.runtime.tasks.source_task, headrace.runtime.tasks.keyed_task;"
        "print(*{'pyarrow', 'numpy', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_utc_is_kept() -> None:
    at = datetime(2024, 1, 2, tzinfo=UTC)
    batch = pa.record_batch({"at": pa.array([at], pa.timestamp("us", "UTC"))})
    assert Columns(batch).rows() == [{"at": at}]


def test_nothing_of_nothing_is_nothing() -> None:
    empty = Columns(pa.record_batch([pa.array([], pa.int64())], ["a"]), DICTS)
    assert (len(empty[0:0][0:0]), empty[0:0][0:0].nbytes, [*empty[0:0][0:0]]) == (0, 0, [])


def test_nanoseconds_are_cut_off_before_1970_too() -> None:
    moments = pa.array([-876_543_211, 123_456_789, None], pa.timestamp("ns"))
    assert python_values(moments) == [
        datetime(1969, 12, 31, 23, 59, 59, 123_456),
        datetime(1970, 1, 1, 0, 0, 0, 123_456),
        None,
    ]
