"""CSV is the same whether pyarrow reads a block, or each line is read by itself."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.table._formats.format import Decoded
from tests.unit.table._formats.test_flink import make

COLUMNS = (
    "a BIGINT, b STRING, c DOUBLE, d TINYINT, e DECIMAL(6, 2), f BOOLEAN, g FLOAT, h SMALLINT,"
    " i INT"
)
NUMBERS = st.one_of(
    st.integers(-(1 << 65), 1 << 65).map(str),
    st.integers(-200, 200).map(str),
    st.floats().map(repr),
    st.sampled_from(["", " ", "+5", " 7", "7 ", "\t4", "007", "-0", "1.0", "1_0", "٣", "NULL"]),
    st.sampled_from(["1e3", "1E400", "1e-400", ".5", "5.", "NaN", "inf", "-Infinity"]),
    st.sampled_from(["0x1F", "-0X1", "0x1p3", "1d", "2f", "3L"]),
)
TEXTS = st.one_of(
    st.text("ab 0x\t#;\\é😀", max_size=6), st.sampled_from(["", "NULL", "0xab", "#", "\\", "'q'"])
)
FIELDS = st.tuples(NUMBERS, TEXTS, NUMBERS, NUMBERS, NUMBERS, TEXTS, NUMBERS, NUMBERS, NUMBERS)
GOOD = st.tuples(*map(st.just, ("1", "x", "2.5", "3", "4.50", "true", "0.5", "5", "6")))
QUOTED = st.booleans()


def content(decoded: Decoded) -> tuple[list[str], list[int]]:
    """Return the rows as texts, by which NaN and -0.0 are compared, and the bad lines."""
    return (
        [repr(row) for row in decoded.batch.to_pylist()],
        [each.index for each in decoded.bad],
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"csv.null-literal": "NULL"},
        {"csv.ignore-parse-errors": "true"},
        {"csv.escape-character": "\\"},
    ],
    ids=str,
)
@given(st.lists(GOOD | FIELDS, min_size=1, max_size=5), QUOTED, st.booleans(), st.booleans())
@example([("1", "0xab", "2.5", "3", "4", "x", "5", "6", "7")], False, False, False)
@example([("",) * 9], False, True, True)
def test_blocks_and_lines_are_alike(
    options: dict[str, str],
    rows: list[tuple[str, ...]],
    quoted: bool,
    carriage: bool,
    blank: bool,
) -> None:
    made: Any = make("csv", COLUMNS, options)
    mark = '"' if quoted else ""
    lines = [",".join([row[0], f"{mark}{row[1]}{mark}", *row[2:]]).encode() for row in rows]
    if blank:
        lines.insert(1, b"")
    found = made._decode_block((b"\r\n" if carriage else b"\n").join(lines), len(lines))
    if found is not None:
        expected = made._decode_one_by_one(lines, 0)
        assert content(Decoded(found)) == content(expected)


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (b"7,0xab,1.5,-3,2.50,TRUE,0.25,4,5", (7, "0xab", 1.5, -3, "2.50", True, 0.25, 4, 5)),
        (b'7,"a,b",1e3, 3 ,2.5,no,0.25,4,5', (7, "a,b", 1000.0, 3, "2.50", False, 0.25, 4, 5)),
    ],
)
def test_usual_lines_are_read_as_blocks(line: bytes, row: tuple[Any, ...]) -> None:
    made: Any = make("csv", COLUMNS, {})
    batch = made._decode_block(b"\n".join([line] * 3), 3)
    assert batch is not None
    found = [*batch.to_pylist()[0].values()]
    found[4] = str(found[4])
    assert found == [*row]


def test_null_is_a_text_of_its_own() -> None:
    made: Any = make("csv", "a INT, b STRING", {"csv.null-literal": "-"})
    batch = made._decode_block(b"-,-\n1,\n2,x\n3,--", 4)
    assert batch.to_pydict() == {"a": [None, 1, 2, 3], "b": [None, "", "x", "--"]}
    assert made._decode_block(b",x\n1,y", 2) is None  # an empty text is no number
    assert not math.isnan(made._decode_block(b"1,nan", 1)["a"][0].as_py())
