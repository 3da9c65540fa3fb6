"""Parquet: every declared type into a file and out of it."""

from __future__ import annotations

import io
import pickle
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headrace.common.configuration import Configuration
from headrace.common.time import Instant
from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.formats.parquet import (
    ParquetBulkWriters,
    ParquetColumnarRowInputFormat,
    ParquetFormat,
)
from headrace.errors import DecodeError, PlanError, TypeMismatchError

INNER = Types.ROW_NAMED(["x", "y"], [Types.INT(), Types.STRING()])
FIELDS: dict[str, tuple[Any, Any]] = {
    "string": (Types.STRING(), "ä"),
    "boolean": (Types.BOOLEAN(), False),
    "short": (Types.SHORT(), 7),
    "double": (Types.DOUBLE(), 0.1),
    "decimal": (Types.BIG_DEC(), Decimal("1.500000000000000000")),
    "big": (Types.BIG_INT(), 1 << 70),
    "date": (Types.SQL_DATE(), date(2024, 1, 2)),
    "time": (Types.SQL_TIME(), time(1, 2, 3)),
    "timestamp": (Types.SQL_TIMESTAMP(), datetime(2024, 1, 2, 3, 4, 5, 6)),
    "bytes": (Types.PRIMITIVE_ARRAY(Types.BYTE()), b"\xff"),
    "list": (Types.LIST(INNER), [Row(x=1, y="a"), None]),
    "none": (Types.LONG(), None),
    "map": (Types.MAP(Types.STRING(), Types.BIG_INT()), {"a": 1}),
    "tuple": (Types.TUPLE([Types.INT(), Types.STRING()]), (1, None)),
    "instant": (Types.INSTANT(), Instant(1, 2000)),
    "instants": (Types.LIST(Types.INSTANT()), [Instant(-1, 0), None]),
}
ROW = Types.ROW_NAMED(list(FIELDS), [kind for kind, _ in FIELDS.values()])


def write(row_type: Any, values: list[Any], **options: Any) -> io.BytesIO:
    factory = pickle.loads(pickle.dumps(ParquetBulkWriters.for_row_type(row_type, **options)))
    file = io.BytesIO()
    writer = factory.create(file)
    writer.write(values)
    writer.finish()
    file.seek(0)
    return file


def test_every_type_there_and_back(tmp_path: Path) -> None:
    row = Row(**{name: value for name, (_, value) in FIELDS.items()})
    (tmp_path / "a").write_bytes(write(ROW, [row, row.as_dict(), tuple(row)]).getvalue())
    made = pickle.loads(pickle.dumps(ParquetColumnarRowInputFormat(ROW)))
    (chunk,) = made.read(str(tmp_path / "a"), 0, 3, 3)
    assert chunk.values == [row] * 3


def test_rows_that_do_not_fit_the_declared_type_are_bad(tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1, 1 << 40, 3], "y": ["a", "b", "c"]}), tmp_path / "a")
    (chunk,) = ParquetColumnarRowInputFormat(INNER).read(str(tmp_path / "a"), 0, 3, 3)
    assert chunk.values == [Row(x=1, y="a"), Row(x=3, y="c")]
    ((at, bad),) = chunk.bad
    assert (at, bad.position) == (1, 1)
    assert "INT" in bad.reason


@dataclass
class Point:
    x: int
    y: str


def test_records_by_an_arrow_schema() -> None:
    schema = pa.schema([("x", pa.int64()), ("y", pa.string())])
    values = [Point(1, "a"), {"y": "b", "x": 2}, Row(y="c", x=3), (4, "d")]
    table = pq.read_table(write(schema, values))
    assert table.schema == schema
    assert table.to_pylist() == [{"x": n, "y": "abcd"[n - 1]} for n in (1, 2, 3, 4)]


def test_maps_tuples_and_instants() -> None:
    row_type = Types.ROW_NAMED(
        ["m", "t", "i"],
        [
            Types.MAP(Types.STRING(), Types.INT()),
            Types.TUPLE([Types.INT(), Types.STRING()]),
            Types.INSTANT(),
        ],
    )
    table = pq.read_table(write(row_type, [({"a": 1}, (1, "b"), Instant(1, 2000))]))
    (row,) = table.to_pylist()
    assert (row["m"], row["t"]) == ([("a", 1)], {"f0": 1, "f1": "b"})
    assert row["i"] == datetime(1970, 1, 1, 0, 0, 1, 2, tzinfo=UTC)


def test_utc_timestamps() -> None:
    row_type = Types.ROW_NAMED(["t"], [Types.SQL_TIMESTAMP()])
    moment = datetime(2024, 1, 2, 3)
    for utc, zone in ((False, None), (True, "UTC")):
        table = pq.read_table(write(row_type, [(moment,)], utc_timestamp=utc))
        assert table.schema.field("t").type == pa.timestamp("us", zone)
        assert table.to_pylist()[0]["t"].replace(tzinfo=None) == moment


def test_nanoseconds_are_cut(tmp_path: Path) -> None:
    column = pa.array([1_700_000_000_123_456_789], pa.timestamp("ns", "UTC"))
    pq.write_table(pa.table({"t": column}), tmp_path / "a")
    (chunk,) = ParquetFormat().read(str(tmp_path / "a"), 0, 1, 1)
    assert chunk.values[0]["t"] == datetime(2023, 11, 14, 22, 13, 20, 123456, tzinfo=UTC)


def test_chosen_columns_of_a_range(tmp_path: Path) -> None:
    table = pa.table({"a": range(10_000), "b": range(10_000)})
    pq.write_table(table, tmp_path / "a", row_group_size=3000)
    chunks = list(ParquetFormat(["b"]).read(str(tmp_path / "a"), 2998, 7001, 10_000))
    assert [row for c in chunks for row in c.values] == [{"b": n} for n in range(2998, 7001)]
    assert max(len(c.values) for c in chunks) <= 4096
    assert ParquetFormat().measure(str(tmp_path / "a")).extent == 10_000


def test_what_cannot_work_fails_when_built(tmp_path: Path) -> None:
    for wrong in (
        lambda: ParquetBulkWriters.for_row_type(Types.INT()),
        lambda: ParquetBulkWriters.for_row_type(ROW, hadoop_config={"x": 1}),
        lambda: ParquetColumnarRowInputFormat(ROW, hadoop_config={"x": 1}),
        lambda: ParquetBulkWriters.for_row_type(Types.ROW([Types.PICKLED_BYTE_ARRAY()])),
    ):
        with pytest.raises(PlanError):
            wrong()
    with pytest.raises(TypeMismatchError, match="'x'"):
        write(pa.schema([("x", pa.int8())]), [(1000,)])
    (tmp_path / "a").write_bytes(b"no")
    with pytest.raises(DecodeError):
        ParquetFormat().measure(str(tmp_path / "a"))
    assert ParquetBulkWriters.for_row_type(ROW, Configuration()) is not None
