"""Formats read and write what Flink does; its answers are recorded from apache-flink 2.3.

A file of ``goldens/flink.json`` was read or written by Flink's filesystem connector with a
statement of SQL. ``rows`` None: Flink's job failed.
"""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from headrace.errors import SqlValidationError
from headrace.runtime.columns.shapes import python_values
from headrace.sql.rel import Column
from headrace.sql.type_names import parse_type
from headrace.sql.types import RowType
from headrace.table._formats.format import TableFormat
from headrace.table._formats.registry import find_format, format_options, make_format
from headrace.table._options import read_options
from tests.walks import failures

GOLDENS = json.loads((Path(__file__).parent / "goldens" / "flink.json").read_text())
READ = [each for each in GOLDENS if "read" in each]
WRITTEN = [
    each
    for each in GOLDENS
    # Python's datetime has no nanoseconds.
    if "write" in each and {*each["files"]} == {"."} and "TIMESTAMP(9)" not in each["columns"]
]
LOST = ('{"a":{"x":1},"b":1}', '{"a":{"b":1},"d":1}')
"""Flink's parser loses the fields after an object that it ignores. These are read."""
BOM = b"\xef\xbb\xbf"


def make(name: str, columns: str, given: dict[str, str]) -> TableFormat:
    """Return the format of a table with these columns."""
    row = parse_type(f"ROW<{columns}>")
    assert isinstance(row, RowType)
    kind = find_format(name)
    options = read_options("t", given, format_options(kind))
    return make_format(kind, "t", tuple(Column(f.name, f.type) for f in row.fields), options)


def as_python(text: str) -> Any:
    """Return the values of a row that PyFlink printed."""
    names = {"datetime": datetime, "Decimal": Decimal, "Row": lambda *values: values}
    names |= {"nan": float("nan"), "inf": float("inf"), "bytearray": bytes}
    return eval(text.replace("<Row", "Row").replace(")>", ")"), names)


def plain(value: Any) -> Any:
    """Return a value of a column as PyFlink has it."""
    match value:
        case dict():
            return tuple(map(plain, value.values()))
        case [(_, _), *_]:
            return {key: plain(each) for key, each in value}
        case list():
            return [*map(plain, value)]
        case datetime.datetime() if value.tzinfo is not None:
            return value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
        case float() if value != value:
            return "nan"
    return value


def test_reading() -> None:
    assert len(READ) > 200 and failures(check_reading, READ) == {}


def check_reading(case: dict[str, Any]) -> None:
    try:
        found = make(case["read"], case["columns"], case["options"])
    except SqlValidationError:
        assert case["rows"] is None
        return
    data = case["data"].encode("latin1").removeprefix(BOM)
    if not data:
        assert case["rows"] == []
        return
    decoded = found.decode_lines(data)
    if case["data"] in LOST and "ignore-parse-errors" in str(case["options"]):
        assert [*decoded.batch.to_pylist()[0].values()] == [None, 1]
        return
    if case["rows"] is None:
        assert decoded.bad, decoded.batch.to_pylist()
        return
    assert not decoded.bad
    batch = decoded.batch
    for place, field in enumerate(batch.schema):
        if field.type == pa.float32():  # PyFlink shows the fewest digits
            shortest = [
                float(f"{each:.9g}") if each < 1e-30 else float(str(each))
                for each in batch.column(place).to_numpy()
            ]
            batch = batch.set_column(place, field.name, pa.array(shortest))
    rows = [tuple(map(plain, row.values())) for row in batch.to_pylist()]
    expected = [tuple("nan" if v != v else v for v in as_python(each)) for each in case["rows"]]
    assert list(map(str, rows)) == list(map(str, expected))


def test_the_way_by_columns_gives_the_same_as_that_by_rows() -> None:
    assert failures(check_ways, READ) == {}


def check_ways(case: dict[str, Any]) -> None:
    if case["rows"] is None or case["read"] not in ("json", "csv") or not case["data"]:
        return
    found: Any = make(case["read"], case["columns"], case["options"])
    lines = case["data"].encode("latin1").removeprefix(BOM).splitlines()
    batch = found._decode_block(b"\n".join(lines), len(lines))
    if batch is not None:
        assert batch.equals(found._decode_one_by_one(lines, 0).batch)


def test_what_flink_wrote_is_written_again() -> None:
    assert len(WRITTEN) > 30 and failures(check_writing, WRITTEN) == {}


def check_writing(case: dict[str, Any]) -> None:
    found = make(case["write"], case["columns"], case["options"])
    text = case["files"]["."].encode("latin1")
    decoded = found.decode_lines(text)
    if decoded.bad:  # CSV that cannot be read: NULL in a column of numbers, fields without quotes
        assert case["write"] == "csv"
        return
    columns = [python_values(column) for column in decoded.batch.columns]
    kinds = None if decoded.kinds is None else [*decoded.kinds]
    assert b"".join(line + b"\n" for line in found.encode(columns, kinds)) == text
