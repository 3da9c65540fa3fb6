"""CSV read as columns gives the records, and the bad ones, that reading rows gives."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headrace.common import Types
from headrace.connector import ColumnChunk
from headrace.datastream.formats import _lines as lines
from headrace.datastream.formats.csv import CsvReaderFormat, CsvSchema
from tests.effort import examples

FIELDS = st.one_of(
    st.integers(-(1 << 64), 1 << 64).map(str),
    st.integers(-200, 200).map(str),
    st.floats().map(repr),
    st.sampled_from(
        ["", " ", " 5", "5 ", "\t7", "+5", "-0", "00012", "1_000", "0x1F", "5.0", ".5", "5.", "1e5",
         "1e400", "1e-400", "-0.0", "inf", "nan", "NaN", "-nan", "nan(1)", "infinity", "true",
         "FALSE", "tRue", "1", "NULL", " NULL", "null", "#", "#5", "é", "\u00a05", "\u0665",
         "\ufeff5", "-", "--5", "1d5", "1e", "0.1e1", "9223372036854775807",
         "-9223372036854775808", "\x1c5"]
    ),
    st.text("ab 1.\\'\x00\x0b", max_size=4),
)  # fmt: skip
ODD = st.sampled_from([b'"', b'"a,b"', b'a"b', b"\r", b"\xff", b"\xed\xa0\x80", b"\\", b";", b"'"])
LINES = st.lists(st.one_of(FIELDS.map(str.encode), FIELDS.map(str.encode), ODD), max_size=4)
TEXTS = st.tuples(
    st.lists(
        st.tuples(
            LINES.map(b",".join), st.sampled_from([b"\n", b"\n", b"\n", b"\r\n", b"\r\r\n", b"\r"])
        ).map(b"".join),
        max_size=8,
    ).map(b"".join),
    st.sampled_from([b"", b"1,2", b"\n", b"\r\n"]),
).map(b"".join)
KINDS = {
    "string": Types.STRING(),
    "long": Types.LONG(),
    "int": Types.INT(),
    "byte": Types.BYTE(),
    "big": Types.BIG_INT(),
    "double": Types.DOUBLE(),
    "boolean": Types.BOOLEAN(),
}
SCHEMAS = st.tuples(
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3),
    st.sampled_from([None, None, "NULL", " ", "-", "5"]),
    st.booleans(),
    st.sampled_from(["header", "positions", "more"]),
    st.sampled_from(['"', "'", None]),
    st.sampled_from([None, None, "\\"]),
)


def schema_of(
    kinds: list[str], null: str | None, comments: bool, columns: str, quote: Any, escape: Any
) -> CsvSchema:
    builder = CsvSchema.builder()
    for number, kind in enumerate(kinds):
        builder = builder.add_number_column(f"c{number}", KINDS[kind])
    if null is not None:
        builder = builder.set_null_value(null)
    if comments:
        builder = builder.set_allow_comments()
    if columns == "header":
        builder = builder.set_use_header()
    if columns == "more":
        builder = builder.set_any_property_name("rest")
    builder = builder.disable_quote_char() if quote is None else builder.set_quote_char(quote)
    return (builder if escape is None else builder.set_escape_char(escape)).build()


def flat(chunks: Iterable[Any]) -> list[str]:
    """The values and bad records, in order, with their types and the signs of zeros."""
    found: list[Any] = []
    for chunk in chunks:
        if isinstance(chunk, ColumnChunk):
            found += chunk.shape(chunk.batch)
            continue
        values = [*chunk.values]
        for at, bad in reversed(chunk.bad):
            values.insert(at, bad)
        found += values
    return [repr(each) for each in found]


def both(schema: CsvSchema, data: bytes, cuts: Iterable[int] = ()) -> list[Any]:
    """What is read of each range, found equal; which of the chunks were columns."""
    form = CsvReaderFormat.for_schema(schema)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "f.csv"))
        Path(path).write_bytes(data)
        places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
        chunks: list[Any] = []
        for start, end in pairwise(places):
            columns = form.read_columns(path, start, end, len(data))
            assert columns is not None
            found = [*columns]
            assert flat(found) == flat(form.read(path, start, end, len(data)))
            chunks += found
    return chunks


@settings(max_examples=examples(24), deadline=None)
@given(SCHEMAS, TEXTS, st.lists(st.integers(0, 200), max_size=3), st.sampled_from([3, 20, 1000]))
@example((["long"], None, False, "positions", '"', None), b"\xef\xbb\xbf1\n2\n", [], 1000)
@example((["long"], None, False, "positions", '"', None), b"1\n\xef\xbb\xbf2\n", [2], 2)
def test_random_bytes(given_schema: Any, data: bytes, cuts: list[int], block_bytes: int) -> None:
    schema = schema_of(*given_schema)
    if given_schema[3] == "header":
        data = b"x," + ",".join(schema.names).encode() + b"\n" + data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block_bytes)
        both(schema, data, cuts)


@settings(max_examples=examples(12), deadline=None)
@given(
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3),
    st.lists(FIELDS, min_size=3, max_size=3),
)
def test_one_line(kinds: list[str], fields: list[str]) -> None:
    """Alone, so that nothing but its own fields decides how it is read."""
    data = ",".join(fields[: len(kinds)]).encode() + b"\n"
    both(schema_of(kinds, None, False, "positions", '"', None), data)


THREE = schema_of(["long", "string", "double"], None, False, "positions", '"', None)


def test_plain_numbers_and_texts_are_columns() -> None:
    data = b"".join(b"%d, text %d,%d.5\r\n" % (n, n, n) for n in range(100)) + b"-5,,"
    (chunk,) = both(THREE, data)
    assert isinstance(chunk, ColumnChunk) and chunk.count == 101
    last = chunk.shape(chunk.batch)[-1]
    assert (last.c0, last.c1, last.c2) == (-5, "", None)


def test_only_the_block_of_a_bad_line_is_read_as_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", 50)
    data = b"".join(b"%d,text,1\n" % n for n in range(20)) + b"five,text,1\n" + b"6,text,1\n" * 20
    chunks = both(THREE, data)
    rows = [chunk for chunk in chunks if not isinstance(chunk, ColumnChunk)]
    assert len(chunks) > 5 and len(rows) == 1
    (bad,) = rows[0].bad
    assert (bad[1].raw, bad[1].position) == (b"five,text,1", data.index(b"five"))


@pytest.mark.parametrize(
    "kind", [Types.BIG_DEC(), Types.FLOAT(), Types.SQL_DATE(), Types.OBJECT_ARRAY(Types.STRING())]
)
def test_types_that_only_rows_have(kind: Any, tmp_path: Path) -> None:
    form = CsvReaderFormat.for_schema(CsvSchema.builder().add_number_column("a", kind).build())
    assert form.read_columns(str(tmp_path / "f.csv"), 0, 1, 1) is None


def test_files_that_are_read_whole_give_rows(tmp_path: Path) -> None:
    assert CsvReaderFormat.for_schema(THREE).read_columns("f.csv.gz", 0, 1, 1) is None
    assert CsvReaderFormat.for_schema(THREE, True).read_columns("f.csv", 0, 1, 1) is None


def test_every_line_under_a_wrong_header_is_bad() -> None:
    schema = schema_of(["long", "long"], None, False, "header", '"', None)
    data = b"a,b\n1,2\n3,4\n"
    chunks = both(schema, data, [5])
    found = [bad for chunk in chunks for _, bad in chunk.bad]
    assert [(bad.raw, bad.position) for bad in found] == [(b"a,b\n", 0), (b"1,2", 4), (b"3,4", 8)]
