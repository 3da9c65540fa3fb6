"""JSON is the same whether pyarrow reads a block, or each line is read by itself."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.table._formats.format import Decoded
from headrace.table._formats.json.columns import count_objects
from tests.unit.table._formats.test_flink import make

COLUMNS = (
    "a BIGINT, b STRING, c DOUBLE, d DECIMAL(6, 2), e TIMESTAMP(3), f BOOLEAN,"
    " g ROW<x INT, y TIMESTAMP_LTZ(6)>, h ARRAY<STRING>, i DATE, j TIME(3), k BYTES"
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 65), 1 << 65),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(
        ["2020-01-02 03:04:05", "2020-01-02T03:04:05.123Z", "2020-01-02", "1.5", "aGk=", "3:4"]
    ),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "x", "y", "null"]), inner, max_size=3)
    ),
    max_leaves=5,
)
GOOD: dict[str, st.SearchStrategy[Any]] = {
    "a": st.integers(-(1 << 63), (1 << 63) - 1),
    "b": st.text(max_size=8),
    "c": st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9),
    "d": st.decimals(-9999, 9999, places=2).map(float),
    "e": st.datetimes().map(lambda at: at.isoformat(" ")[:23]),
    "f": st.booleans(),
    "g": st.fixed_dictionaries(
        {"x": st.integers(-9, 9)},
        optional={"y": st.datetimes().map(lambda at: at.isoformat(" ") + "Z")},
    ),
    "h": st.lists(st.text(max_size=3), max_size=3),
    "i": st.dates().map(str),
    "j": st.times().map(lambda at: at.isoformat("milliseconds")),
    "k": st.sampled_from(["aGk=", "", "AA=="]),
}
ROWS = st.fixed_dictionaries({}, optional={k: v | st.none() for k, v in GOOD.items()})
LINES = st.lists(ROWS | VALUES | st.fixed_dictionaries({"a": SCALARS, "g": VALUES}), max_size=9)


def content(decoded: Decoded) -> tuple[str, list[int], list[int]]:
    origins = decoded.origins
    origins = np.arange(decoded.batch.num_rows) if origins is None else origins
    return str(decoded.batch.to_pylist()), [*origins], [bad.index for bad in decoded.bad]


@given(LINES, st.sampled_from([(",", ":"), (", ", ": ")]), st.booleans())
def test_both_ways_give_the_same(
    values: list[Any], separators: tuple[str, str], escaped: bool
) -> None:
    texts = [json.dumps(v, separators=separators, ensure_ascii=escaped) for v in values]
    lines = [text.encode("utf-8", "surrogatepass") for text in texts]
    found: Any = make("json", COLUMNS, {})
    together = found._decode_block(b"\n".join(lines), len(lines)) if lines else None
    one_by_one = found._decode_one_by_one(lines, 0)
    if together is not None:
        assert content(Decoded(together)) == content(one_by_one)


@pytest.mark.parametrize(
    "block",
    [
        b"null",
        b'{"a":1}\nnull',
        b'{"a":1} null {"a":1}',
        b'{"a":1}\n\n{"a":1}',
        b'{"a":NaN}',
        b'{"b":-Infinity}',
        b' {"a":1}',
        b'[{"a":1}]',
        b'{"b":"\xff"}',
    ],
)
def test_what_pyarrow_reads_otherwise_is_not_given_to_it(block: bytes) -> None:
    assert count_objects(block) is None


@pytest.mark.parametrize(
    ("block", "lines"),
    [(b"{}", 1), (b"{}\n", 1), (b'{"a":{"b":[{}]}}\r\n{}\r\n', 2), (b'{"a":"} null"}\n{}', None)],
)
def test_lines_that_are_objects(block: bytes, lines: int | None) -> None:
    assert count_objects(block) == lines


def test_a_few_unusual_values_among_many() -> None:
    found = make("json", "a BIGINT, b STRING", {})
    lines = [b'{"a":%d,"b":"x"}' % number for number in range(5000)]
    lines[700], lines[701], lines[4000] = b'{"a":"7"}', b"bad", b'[{"a":1},{"a":2}]'
    decoded = found.decode(lines)
    assert [bad.index for bad in decoded.bad] == [701]
    assert decoded.batch.num_rows == 5000
    assert decoded.origins is not None
    assert [*decoded.origins[699:702]] == [699, 700, 702]
    assert decoded.batch.column("a")[700].as_py() == 7
    assert math.isclose(float(decoded.origins[-1]), 4999)


def test_decimals_with_exponents_have_no_more_digits_than_their_type() -> None:
    found = make("json", "a DECIMAL(6, 2)", {})
    assert found.decode([b'{"a":2.25e5}'] * 100).batch.column("a").null_count == 100
    assert found.decode([b'{"a":2.25e3}'] * 100).batch.column("a")[0].as_py() == 2250
