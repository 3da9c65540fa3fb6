"""Many rows are written a column at a time, as each row by itself is."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.sql.rel import Column
from headrace.sql.type_names import parse_type
from headrace.sql.types import RowType
from headrace.table._formats.column_text import SMALL, array_of
from headrace.table._formats.format import TableFormat
from headrace.table._formats.registry import find_format, format_options, make_format
from headrace.table._options import read_options
from tests.effort import examples

MOMENTS = st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30))
VALUES: dict[str, Any] = {
    "BIGINT": st.integers(-(2**63), 2**63 - 1),
    "TINYINT": st.integers(-128, 127),
    "BOOLEAN": st.booleans(),
    "DOUBLE": st.one_of(
        st.floats(), st.floats(1e-4, 1e-2), st.floats(-2e7, 2e7), st.integers(-99, 99).map(float)
    ),
    "FLOAT": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "DECIMAL(12, 4)": st.decimals(-99_999_999, 99_999_999, places=4),
    "DECIMAL(30, 20)": st.integers(-(10**29), 10**29).map(lambda n: Decimal(f"{n}E-20")),
    "DECIMAL(9, 0)": st.integers(-(10**8), 10**8).map(Decimal),
    "STRING": st.text(st.characters(exclude_categories=["Cs"])),
    "CHAR(3)": st.text('a",;\\\n \x07é\U0001f600', max_size=30),
    "BYTES": st.binary(max_size=4),
    "DATE": st.dates(),
    "TIME(3)": st.times().map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    "TIMESTAMP(3)": MOMENTS.map(lambda t: t.replace(microsecond=t.microsecond // 1000 * 1000)),
    "TIMESTAMP(6)": MOMENTS,
    "TIMESTAMP_LTZ(3)": MOMENTS.map(lambda t: t.replace(microsecond=0, tzinfo=datetime.UTC)),
    "ARRAY<INT>": st.lists(st.integers(-9, 9), max_size=3),
}
FORMATS = [
    ("json", {}),
    ("json", {"timestamp-format.standard": "ISO-8601", "encode.decimal-as-plain-number": "true"}),
    ("json", {"encode.ignore-null-fields": "true"}),
    ("csv", {}),
    ("csv", {"null-literal": "n/a", "field-delimiter": ";", "escape-character": "\\"}),
    ("csv", {"quote-character": "'", "field-delimiter": "|"}),
    ("csv", {"disable-quote-character": "true"}),
]


def make(name: str, types: list[str], given: dict[str, str]) -> TableFormat:
    row = parse_type(f"ROW<{', '.join(f'`%{n}` {kind}' for n, kind in enumerate(types))}>")
    assert isinstance(row, RowType)
    kind = find_format(name)
    prefixed = {f"{name}.{key}": value for key, value in given.items()}
    options = read_options("t", prefixed, format_options(kind))
    return make_format(kind, "t", tuple(Column(f.name, f.type) for f in row.fields), options)


@pytest.mark.parametrize("kind", VALUES)
def test_a_column_is_written_as_its_values(kind: str) -> None:
    formats = [make(name, [kind, "INT"], options) for name, options in FORMATS]

    @settings(max_examples=examples(80))
    @given(
        st.sampled_from(FORMATS), st.lists(st.none() | VALUES[kind], min_size=1, max_size=SMALL - 1)
    )
    def check(chosen: tuple[str, dict[str, str]], values: list[Any]) -> None:
        made = formats[FORMATS.index(chosen)]
        numbers = [*range(len(values))]
        one_by_one = made.encode([values, numbers], None)
        times = -(-SMALL // len(values))
        columns = [values * times, numbers * times]
        assert made.encode(columns, None) == one_by_one * times
        arrays = [pa.array(*each) for each in zip(columns, made.schema.types, strict=True)]
        assert made.encode(arrays, None) == one_by_one * times
        assert made.encode([each[: len(values)] for each in arrays], None) == one_by_one

    check()


def test_an_array_of_another_type_is_written_as_its_values() -> None:
    made = make("csv", ["BIGINT", "STRING", "BYTES"], {})
    texts = pa.array(["a", None] * SMALL).dictionary_encode()
    numbers, values = pa.array([1, 2] * SMALL, pa.int16()), pa.array([b"x", None] * SMALL)
    assert made.encode([numbers, texts, values], None) == [b"1,a,eA==", b"2,,"] * SMALL


def test_values_that_do_not_fit_a_column_are_written_one_by_one() -> None:
    made = make("json", ["DECIMAL(4, 1)", "STRING"], {})
    values = [Decimal("1.25"), Decimal(7)] * SMALL
    assert array_of(values, made.columns[0].type) is None
    found = made.encode([values, ["a", None] * SMALL], None)
    assert found == [b'{"%0":1.25,"%1":"a"}', b'{"%0":7,"%1":null}'] * SMALL
