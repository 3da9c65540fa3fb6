"""CSV: schemas, reading, and rows from and to lines."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from headrace.common.typeinfo import Types
from headrace.common.types import Row
from headrace.datastream.formats.csv import (
    CsvEncoder,
    CsvReaderFormat,
    CsvRowDeserializationSchema,
    CsvRowSerializationSchema,
    CsvSchema,
    CsvSchemaBuilder,
)
from headrace.errors import DecodeError, PlanError, TypeMismatchError


def schema() -> CsvSchemaBuilder:
    return (
        CsvSchema.builder()
        .add_string_column("name")
        .add_number_column("count")
        .add_number_column("price", Types.BIG_DEC())
        .add_boolean_column("open")
        .add_array_column("tags")
    )


def read(
    tmp_path: Path, text: str | bytes, built: CsvSchema, multiline: bool = False
) -> tuple[list[Any], list[Any]]:
    path = tmp_path / "a.csv"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    extent = path.stat().st_size
    made = pickle.loads(pickle.dumps(CsvReaderFormat.for_schema(built, multiline)))
    chunks = list(made.read(str(path), 0, extent, extent))
    values = [value for chunk in chunks for value in chunk.values]
    return values, [bad for chunk in chunks for _, bad in chunk.bad]


def test_rows_have_names_and_types(tmp_path: Path) -> None:
    text = '"a ""b"", c",1,1.50,true,x;y\n,,,,\nd, 2 ,1e2,FALSE,z\n'
    assert read(tmp_path, text, schema().build()) == (
        [
            Row(name='a "b", c', count=1, price=Decimal("1.50"), open=True, tags=["x", "y"]),
            Row(name="", count=None, price=None, open=None, tags=[]),
            Row(name="d", count=2, price=Decimal("1e2"), open=False, tags=["z"]),
        ],
        [],
    )


@pytest.mark.parametrize("multiline", [False, True])
def test_lines_that_do_not_fit_are_bad(tmp_path: Path, multiline: bool) -> None:
    lines = ["a,1,1,true,", "b,x,1,true,", "c,1,1", "d,1,1,true,,,", "e,1,NaN,true,", "f,1,1,ja,",
             "g,9223372036854775808,1,true,", "h,2,1,true,"]  # fmt: skip
    values, bad = read(tmp_path, "\n".join(lines), schema().build(), multiline)
    assert [value.name for value in values] == ["a", "h"]
    text = "\n".join(lines)
    assert [text[b.position :].split("\n")[0] for b in bad] == lines[1:-1]
    assert [b.raw.decode().strip() for b in bad] == lines[1:-1]
    assert all(b.reason for b in bad)


def test_a_quote_that_does_not_end_costs_one_line(tmp_path: Path) -> None:
    built = CsvSchema.builder().add_string_column("a").add_string_column("b").build()
    values, bad = read(tmp_path, 'x,y\n"x,y\nx,"y\n"z",w\n', built)
    assert [row.as_dict() for row in values] == [{"a": "x", "b": "y"}, {"a": "z", "b": "w"}]
    assert [b.position for b in bad] == [4, 9]


def test_long_fields(tmp_path: Path) -> None:
    built = CsvSchema.builder().add_string_column("a").build()
    values, bad = read(tmp_path, "x" * 300_000 + "\n", built)
    assert (len(values[0].a), bad) == (300_000, [])


def test_undecodable_bytes(tmp_path: Path) -> None:
    built = CsvSchema.builder().add_string_column("a").build()
    for multiline in (False, True):
        values, bad = read(tmp_path, b"a\n\xff\nb\n", built, multiline)
        assert [row.a for row in values] == ["a", "b"]
        assert bad[0].raw.strip() == b"\xff"


def test_header(tmp_path: Path) -> None:
    two = CsvSchema.builder().add_string_column("b").add_string_column("a").set_use_header()
    text = "\ufeffa,x,b\r\n1,2,3\r\n"
    assert read(tmp_path, text, two.build())[0] == [Row(b="3", a="1")]
    assert read(tmp_path, text, two.build(), True)[0] == [Row(b="3", a="1")]
    values, bad = read(tmp_path, "a,x\n1,2\n1,2\n", two.build())
    assert values == []
    assert [b.position for b in bad] == [0, 4, 8]
    assert all("lacks 'b'" in b.reason for b in bad)
    values, bad = read(tmp_path, "a,x\n1,2\n\n1,2\n", two.build(), True)
    assert values == []
    assert [(b.raw, b.position) for b in bad] == [(b"a,x\n", 0), (b"1,2\n", 4), (b"1,2\n", 9)]
    strict = two.set_strict_headers().build()
    assert "was expected" in read(tmp_path, text, strict)[1][0].reason
    assert read(tmp_path, "b,a\n1,2\n", strict)[0] == [Row(b="1", a="2")]
    skipping = two.set_strict_headers(False).set_skip_first_data_row().build()
    assert read(tmp_path, "a,b\nunits,none\n1,2\n", skipping)[0] == [Row(b="2", a="1")]


def test_options(tmp_path: Path) -> None:
    built = (
        CsvSchema.builder()
        .add_string_column("a")
        .add_array_column("b", "|", Types.INT())
        .set_column_separator("\t")
        .set_quote_char("'")
        .set_escape_char("\\")
        .set_null_value("NULL")
        .set_allow_comments()
        .set_any_property_name("rest")
        .build()
    )
    text = "# comment\n'x\ty'\t1|2\nNULL\tNULL\nq\\\tr\t3\tmore\n"
    for multiline in (False, True):
        assert read(tmp_path, text, built, multiline) == (
            [Row(a="x\ty", b=[1, 2]), Row(a=None, b=None), Row(a="q\tr", b=[3])],
            [],
        )
    plain = CsvSchema.builder().add_string_column("a").add_array_column("b")
    plain.disable_quote_char().disable_escape_char().disable_array_element_separator()
    assert read(tmp_path, '"a,1;2\n', plain.build())[0] == [Row(a='"a', b=["1;2"])]


def test_schema_builder() -> None:
    builder = schema()
    assert builder.size() == 5
    copied = CsvSchema.builder().add_columns_from(builder.build()).set_line_separator("\r\n")
    assert copied.build().size() == 5
    assert copied.remove_array_element_separator(4).build().separators[4] == ""
    assert copied.set_array_element_separator("|").build().separators[4] == "|"
    assert copied.clear_columns().size() == 0
    for wrong in (
        lambda: schema().add_string_column("name").build(),
        lambda: schema().set_column_separator(";;"),
        lambda: schema().add_number_column("n", "BIGINT"),  # type: ignore[arg-type]
        lambda: CsvReaderFormat.for_schema(CsvSchema.builder().build()),
    ):
        with pytest.raises(PlanError):
            wrong()


ROW = Types.ROW_NAMED(
    ["s", "n", "d", "l", "t"],
    [
        Types.STRING(),
        Types.INT(),
        Types.BIG_DEC(),
        Types.OBJECT_ARRAY(Types.INT()),
        Types.SQL_TIMESTAMP(),
    ],
)


def test_rows_to_lines_and_back() -> None:
    write = CsvRowSerializationSchema.Builder(ROW).set_null_literal("-").build()
    parse = CsvRowDeserializationSchema.Builder(ROW).set_null_literal("-").build()
    write, parse = pickle.loads(pickle.dumps((write, parse)))
    line = write.serialize(Row(s='a,"b"', n=-1, d=Decimal("1.50"), l=[1, 2], t=None))
    assert line == b'"a,""b""",-1,1.50,1;2,-\n'
    assert parse.deserialize(line) == Row(s='a,"b"', n=-1, d=Decimal("1.50"), l=[1, 2], t=None)
    assert parse.get_produced_type() == ROW


def test_lines_that_do_not_parse() -> None:
    builder = CsvRowDeserializationSchema.Builder(ROW).set_allow_comments(True)
    with pytest.raises(DecodeError, match="2 fields"):
        builder.build().deserialize(b"a,b")
    with pytest.raises(DecodeError, match="'x' is no INT"):
        builder.build().deserialize(b"a,x,1,1,")
    assert builder.build().deserialize(b"# no record") is None
    assert builder.set_ignore_parse_errors(True).build().deserialize(b"a,b") is None
    other = builder.set_field_delimiter("|").set_quote_character("'").set_escape_character("\\")
    row = other.set_array_element_delimiter(",").build().deserialize(b"'a|b'|1|2|3,4|2024-01-02")
    assert (row.s, row.l) == ("a|b", [3, 4])


def test_serialization_options() -> None:
    row_type = Types.ROW_NAMED(["a", "b"], [Types.STRING(), Types.LIST(Types.STRING())])
    built = (
        CsvRowSerializationSchema.Builder(row_type)
        .set_field_delimiter("|")
        .set_line_delimiter("")
        .set_array_element_delimiter(",")
        .disable_quote_character()
        .set_escape_character("\\")
        .build()
    )
    assert built.serialize(("x|y", ["1", "2"])) == b"x\\|y|1,2"
    quoted = CsvRowSerializationSchema.Builder(row_type).set_quote_character("'").build()
    assert quoted.serialize(("x,y", None)) == b"'x,y',\n"
    bare = CsvRowSerializationSchema.Builder(row_type).disable_quote_character().build()
    with pytest.raises(TypeMismatchError):
        bare.serialize(("x,y", None))


def test_encoder() -> None:
    encoder = CsvEncoder(["b", "a"], header=True, null_value="-")
    values = [{"a": 1, "b": None}, Row(a="x", b=True), (Decimal("1.50"), "z")]
    assert encoder.head() == b"b,a\n"
    assert encoder.encode_all(values) == b"-,1\ntrue,x\n1.50,z\n"
    assert CsvEncoder(separator=";").encode(["a;b", 1]) == b'"a;b";1\n'
    assert pickle.loads(pickle.dumps(encoder)) == encoder
    for wrong in ({"a": 1}, 5, None):
        with pytest.raises(TypeMismatchError):
            encoder.encode(wrong)
    with pytest.raises(PlanError):
        CsvEncoder(header=True)
