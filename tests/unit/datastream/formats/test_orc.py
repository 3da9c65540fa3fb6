"""ORC: declared types into a file and out of it, ranges of rows."""

from __future__ import annotations

import datetime
import itertools
import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from headrace.common import Configuration, Row, Types
from headrace.datastream.formats.orc import OrcBulkWriters, OrcFormat
from headrace.errors import DecodeError, PlanError, TypeMismatchError

ROW = Types.ROW_NAMED(
    ["id", "name", "price", "at", "day", "raw", "many", "by"],
    [
        Types.LONG(), Types.STRING(), Types.BIG_DEC(), Types.SQL_TIMESTAMP(), Types.SQL_DATE(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.LIST(Types.INT()),
        Types.MAP(Types.STRING(), Types.INT()),
    ],
)  # fmt: skip
VALUE = (
    1, "ä", Decimal("1.500000000000000000"), datetime.datetime(2024, 1, 2, 3, 4, 5, 6),
    datetime.date(2024, 1, 2), b"\xff", [1, 2], {"k": 3},
)  # fmt: skip


def write(path: Path, values: list[Any], properties: Any = None, row_type: Any = ROW) -> str:
    factory = pickle.loads(pickle.dumps(OrcBulkWriters.for_row_type(row_type, properties)))
    with open(path, "wb") as file:
        writer = factory.create(file)
        writer.write(values)
        writer.finish()
    return str(path)


def test_rows_come_back(tmp_path: Path) -> None:
    path = write(tmp_path / "a.orc", [Row(*VALUE), VALUE, (None,) * 8], {"orc.compress": "ZSTD"})
    assert orc.ORCFile(path).compression == "ZSTD"
    assert OrcFormat().measure(path).extent == 3
    (chunk,) = OrcFormat().read(path, 0, 3, 3)
    by_name = dict(zip(ROW.get_field_names(), VALUE, strict=True))
    by_name["by"] = [("k", 3)]  # as from Parquet
    assert chunk.values == [by_name, by_name, dict.fromkeys(by_name)]
    assert type(chunk.values[0]["at"]) is datetime.datetime
    (chunk,) = OrcFormat(["name", "id"]).read(path, 1, 2, 3)
    assert chunk.values == [{"name": "ä", "id": 1}] or chunk.values == [{"id": 1, "name": "ä"}]


def test_ranges_and_stripes(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.int64())])
    path = tmp_path / "a.orc"
    with open(path, "wb") as file:
        writer = orc.ORCWriter(file, stripe_size=1 << 12, batch_size=100)
        for first in range(0, 60_000, 5_000):
            writer.write(pa.table({"id": range(first, first + 5_000)}, schema=schema))
        writer.close()
    assert orc.ORCFile(path).nstripes > 1
    form = OrcFormat()
    cuts = [0, *form.cuts(str(path), 0, 60_000, 1000), 60_000]
    assert len(cuts) > 2
    found = [
        value["id"]
        for low, high in itertools.pairwise(cuts)
        for chunk in form.read(str(path), low, high, 60_000)
        for value in chunk.values
    ]
    assert found == list(range(60_000))
    assert [v["id"] for c in form.read(str(path), 4_999, 5_002, 60_000) for v in c.values] == [
        4_999, 5_000, 5_001
    ]  # fmt: skip


def test_what_cannot_be_written_or_read(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="time of day"):
        OrcBulkWriters.for_row_type(Types.ROW_NAMED(["t"], [Types.SQL_TIME()]))
    with pytest.raises(PlanError, match="Hadoop"):
        OrcBulkWriters.for_row_type(ROW, None, {"fs": "x"})
    with pytest.raises(PlanError, match=r"orc\.bloom"):
        OrcBulkWriters.for_row_type(ROW, {"orc.bloom": "x"})
    with pytest.raises(PlanError, match="not compressed by 'lzo'"):
        OrcBulkWriters.for_row_type(ROW, {"orc.compress": "LZO"})
    with pytest.raises(TypeMismatchError):
        write(tmp_path / "b.orc", [(1000,)], None, pa.schema([("x", pa.int8())]))
    (tmp_path / "no").write_bytes(b"no")
    with pytest.raises(DecodeError, match="no ORC file"):
        OrcFormat().measure(str(tmp_path / "no"))
    settings = Configuration().set_string("orc.compress", "SNAPPY")
    assert OrcBulkWriters.for_row_type(ROW, settings, Configuration()).compression == "snappy"
    path = write(tmp_path / "c.orc", [], settings)
    assert OrcFormat().measure(path).extent == 0
    assert list(OrcFormat().read(path, 0, 0, 0)) == []
