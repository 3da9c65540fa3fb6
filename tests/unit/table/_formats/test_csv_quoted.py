"""Which blocks of quoted CSV pyarrow reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.datastream.formats._csv.fields import CsvDialect
from headrace.table._formats.csv.quoted import QuotedFields, quotes_whole_fields
from tests.unit.table._formats.test_flink import make


@pytest.mark.parametrize(
    ("block", "whole"),
    [
        (b'1,"a"', True),
        (b'"1","a, b"\r\n2,"c"\n', True),
        (b'1,"a""b"', False),
        (b'1,x"y"', False),
        (b'1,"x"y', False),
        (b'1,"x\n2,"y"', False),
        (b'1,"x\ny"', False),
        (b'1, "x"', False),
    ],
)
def test_blocks(block: bytes, whole: bool) -> None:
    assert quotes_whole_fields(block, ",") is whole


def test_quoted_fields_become_columns() -> None:
    found: Any = make("csv", "a INT, b STRING", {})
    batch = found._decode_block(b'1,"x, y"\n"2",z', 2)
    assert batch.to_pydict() == {"a": [1, 2], "b": ["x, y", "z"]}


def fields(**given: Any) -> QuotedFields:
    return QuotedFields(CsvDialect(**given), comments=False)


@pytest.mark.parametrize(
    ("lines", "opened", "is_open"),
    [
        (b'1,"a', False, True),
        (b'1,"a\n', False, True),
        (b'"a\n', False, True),
        (b'1,"a"\n', False, False),
        (b'1,"a""\n', False, True),
        (b'1,"a"",b\n"\n', False, False),
        (b'1,5" pipe\n', False, False),  # no quoted field: the quote is inside
        (b'1,5" pipe,"a\n', False, True),
        (b'"a" ,"b\n', False, True),
        (b"a\n", True, True),
        (b'a"\n', True, False),
        (b'a""\n', True, True),
        (b'a",2\n1,"b\n', True, True),
        (b'a","b"\n', True, False),
    ],
)
def test_a_quoted_field_goes_on(lines: bytes, opened: bool, is_open: bool) -> None:
    assert fields().is_open(lines, opened) is is_open


def test_other_dialects() -> None:
    assert not fields(escape="\\").is_open(b'1,"a\\""\n')
    assert fields(escape="\\").is_open(b'1,"a\\"\n')
    assert fields(escape="\\").is_open(b"x\n" * 1000 + b'"a\\",","\n')
    assert fields(quote="«", delimiter=";").is_open("1;«é\n".encode())
    assert not fields(quote="«", delimiter=";").is_open("1;«é«;,«x\n".encode())
    assert not QuotedFields(CsvDialect(), comments=True).is_open(b' # x,"y\n')


@given(st.text(',"\n1ab', max_size=40), st.integers(0, 3000))
def test_lines_are_looked_at_in_any_pieces(text: str, filled: int) -> None:
    whole = b"x" * filled + b"\n" + text.encode()
    opened = False
    for line in whole.splitlines(keepends=True):
        opened = fields().is_open(line, opened)
    assert opened is fields().is_open(whole)
    records = fields().records(whole)
    assert len(records) == len(whole.splitlines())
    assert b"\n".join(each for each in records if each is not None) == whole.removesuffix(b"\n")


def test_lines_of_quoted_fields_keep_their_ends() -> None:
    found: Any = make("csv", "a INT, b STRING", {})
    decoded = found.decode_lines(b'1,"x\r\ny"\r\n2,5" pipe\r\n3,6" pipe\n')
    assert decoded.batch.to_pydict() == {"a": [1, 2, 3], "b": ["x\r\ny", '5" pipe', '6" pipe']}
