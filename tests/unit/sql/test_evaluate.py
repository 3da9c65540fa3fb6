from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from headrace.errors import SqlError, SqlValidationError
from headrace.sql.evaluate import compile_condition, compile_expressions, evaluate_constant
from headrace.sql.expressions import Call, ColumnRef
from headrace.sql.functions.function import Session
from headrace.sql.types import BIGINT, BOOLEAN, INT, STRING, ArrayType, DecimalType, to_arrow
from tests.unit.sql.reading import expression

COLUMNS = {
    "x": INT,
    "y": BIGINT,
    "s": STRING,
    "b": BOOLEAN,
    "p": DecimalType(10, 2),
    "a": ArrayType(INT),
}
SESSION = Session()


def batch(**values: list[Any]) -> pa.RecordBatch:
    rows = len(next(iter(values.values())))
    arrays = [
        pa.array(values.get(name, [None] * rows), to_arrow(kind)) for name, kind in COLUMNS.items()
    ]
    return pa.RecordBatch.from_arrays(arrays, list(COLUMNS))


def compute(text: str, rows: pa.RecordBatch, session: Session = SESSION) -> list[Any]:
    evaluate = compile_expressions([expression(text, COLUMNS)], rows.schema)
    (found,) = evaluate(rows, session)
    assert len(found) == rows.num_rows
    values: list[Any] = found.to_pylist()
    return values


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CASE WHEN x = 0 THEN NULL ELSE 10 / x END", [None, 5, None, 10]),
        ("CASE WHEN x = 0 THEN -1 WHEN 10 / x > 5 THEN 1 ELSE 0 END", [-1, 0, 0, 1]),
        ("x <> 0 AND 10 / x > 5", [False, False, None, True]),
        ("x = 0 OR 10 / x > 5", [True, False, None, True]),
        ("IF(x = 0, 0, 10 / x)", [0, 5, None, 10]),
        ("COALESCE(x, CAST('none' AS INT))", SqlError),
        ("COALESCE(x, 7, CAST('none' AS INT))", [0, 2, 7, 1]),
        ("COALESCE(NULLIF(x, 0), 10 / (x + 1))", [10, 2, None, 1]),
        ("CASE WHEN x IS NULL THEN 1 / (1 - 1) ELSE 2 END", SqlError),
        ("CASE WHEN x > 100 THEN 1 / (1 - 1) ELSE 2 END", [2, 2, 2, 2]),
        ("10 / x", SqlError),
        ("a[x]", [None, 2, None, 3]),
        ("TRY_CAST(s AS INT)", [1, None, None, 3]),
        ("CASE WHEN x <> 2 THEN CAST(s AS INT) END", [1, None, None, 3]),
    ],
)
def test_what_may_fail_is_computed_for_the_rows_that_need_it(text: str, expected: Any) -> None:
    rows = batch(x=[0, 2, None, 1], s=["1", "two", None, "3"], a=[[1], [1, 2], [3], [3, 4]])
    if isinstance(expected, type):
        with pytest.raises(expected):
            compute(text, rows)
    else:
        assert compute(text, rows) == expected


EVERY_SHAPE = [
    "x + y",
    "x / 3",
    "p * p / 7",
    "s || 'x'",
    "UPPER(s)",
    "CASE WHEN b THEN x ELSE 10 / (y * y + 1) END",
    "x IN (1, 2, NULL)",
    "s LIKE '%a%'",
    "SUBSTRING(s, 2)",
    "CAST(x AS STRING)",
    "CAST(a AS ARRAY<STRING>)",
    "CAST(a AS STRING)",
    "a[1]",
    "CARDINALITY(a)",
    "ARRAY[x, 1]",
    "MAP['k', x]",
    "ROW(x, s)",
    "ARRAY_SORT(a)",
    "JSON_STRING(a)",
    "CONCAT_WS('-', s, 'z')",
    "COALESCE(a, ARRAY[9])",
    "1 + 1",
    "ARRAY[1, 2]",
    "RAND() < 1",
    "b AND x > 0",
]
VALUES: dict[str, list[Any]] = {
    "x": [1, None, 3, 0],
    "y": [10, 20, None, -1],
    "s": ["abc", "", None, "ża"],
    "b": [True, False, None, True],
    "p": ["1.25", None, "-3.00", "0.01"],
    "a": [[1, None, 2], [], None, [5]],
}


def given() -> pa.RecordBatch:
    from decimal import Decimal

    decimals = [None if each is None else Decimal(each) for each in VALUES["p"]]
    return batch(**{**VALUES, "p": decimals})


@pytest.mark.parametrize("text", EVERY_SHAPE)
def test_slices_and_empty_batches_give_what_the_whole_gives(text: str) -> None:
    rows = given()
    whole = compute(text, rows)
    for start in range(5):
        for length in range(5 - start):
            assert compute(text, rows.slice(start, length)) == whole[start : start + length]


@pytest.mark.parametrize("text", EVERY_SHAPE)
def test_all_may_be_null(text: str) -> None:
    rows = batch(x=[None, None, None])
    assert len(compute(text, rows)) == 3


def test_a_dictionary_is_as_good_as_its_values() -> None:
    rows = given()
    encoded = [each.dictionary_encode() if pa.types.is_string(each.type) else each for each in rows]
    other = pa.RecordBatch.from_arrays(encoded, rows.schema.names)
    assert compute("UPPER(s) || s", other) == compute("UPPER(s) || s", rows)


def test_an_equal_part_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from headrace.sql.functions import table

    counted = []
    upper = table.FUNCTIONS["UPPER"]

    def kernel(call: Call, arguments: Any, session: Session) -> Any:
        counted.append(call)
        return upper.kernel(call, arguments, session)

    monkeypatch.setitem(table.FUNCTIONS, "UPPER", replace(upper, kernel=kernel))
    texts = ["UPPER(s)", "UPPER(s) || 'a'", "UPPER('constant')"]
    rows = given()
    evaluate = compile_expressions([expression(each, COLUMNS) for each in texts], rows.schema)
    evaluate(rows, SESSION)
    evaluate(rows, SESSION)
    assert len(counted) == 3


def test_a_condition_is_false_where_it_is_null() -> None:
    rows = given()
    condition = compile_condition(expression("x > 0", COLUMNS), rows.schema)
    assert condition(rows, SESSION).to_pylist() == [True, False, True, False]


def test_a_missing_column_and_an_unknown_function_are_named() -> None:
    with pytest.raises(SqlValidationError, match="no column has the name `z`"):
        compile_expressions([ColumnRef(INT, "z")], given().schema)
    with pytest.raises(SqlValidationError, match="MINE cannot be computed here"):
        compile_expressions([Call(INT, "MINE", ())], given().schema)


def test_random_numbers_are_those_of_the_seed_and_the_row() -> None:
    rows = given()
    texts = ["RAND()", "RAND()", "UUID()", "RAND_INTEGER(100)", "RAND(5)", "RAND(5)"]
    evaluate = compile_expressions([expression(each, COLUMNS) for each in texts], rows.schema)
    first = [each.to_pylist() for each in evaluate(rows, Session(seed=1))]
    assert first == [each.to_pylist() for each in evaluate(rows, Session(seed=1))]
    assert first[0] == first[1]
    assert first[0] != first[4]
    assert first[4] == first[5]
    assert len(set(first[2])) == 4
    assert all(0 <= each < 100 for each in first[3])
    other = [each.to_pylist() for each in evaluate(rows, Session(seed=2))]
    assert other[0] != first[0]
    parts = [evaluate(rows.slice(n, 1), Session(seed=1, first_row=n))[0] for n in range(4)]
    assert [each[0].as_py() for each in parts] == first[0]


def test_random_numbers_of_a_seed_are_those_of_java() -> None:
    rows = batch(x=[1, 2, None], y=[1, 1, 1])
    assert compute("RAND(1)", rows) == [
        0.7308781907032909,
        0.41008081149220166,
        0.20771484130971707,
    ]
    # The seed of a row begins again.
    assert compute("RAND(CAST(y AS INT))", rows) == [0.7308781907032909] * 3
    assert compute("RAND_INTEGER(3, 99)", rows)[0] == 50
    assert compute("RAND_INTEGER(1, 16)", rows) == [11, 1, 6]
    texts = ["RAND(1)", "RAND_INTEGER(3, 99)"]
    evaluate = compile_expressions([expression(each, COLUMNS) for each in texts], rows.schema)
    for whole, number in zip(evaluate(rows, Session()), (0, 1), strict=True):
        last = evaluate(rows.slice(2), Session(first_row=2))[number]
        assert last[0] == whole[2]


def test_a_key_of_a_map_may_have_parts() -> None:
    rows = batch(x=[1])
    assert compute("MAP[ARRAY[x], 1, ARRAY[1], 2]", rows) == [[([1], 2)]]
    assert compute("MAP[MAP[x, 2], 3]", rows) == [[([(1, 2)], 3)]]


def test_random_numbers_are_spread() -> None:
    rows = pa.RecordBatch.from_arrays([pa.nulls(10_000)], ["_"])
    (found,) = compile_expressions([expression("RAND()")], rows.schema)(rows, Session(seed=3))
    numbers = found.to_pylist()
    assert 0 <= min(numbers) < 0.01 < 0.99 < max(numbers) < 1
    assert abs(sum(numbers) / len(numbers) - 0.5) < 0.02


def test_logic_is_that_of_three_values() -> None:
    """Random conditions over three columns, against Python's own three-valued logic."""
    seed = random.randrange(1 << 32)
    print(f"seed: {seed}")
    choose = random.Random(seed)
    values = [
        (p, q, r)
        for p in (True, False, None)
        for q in (True, False, None)
        for r in (True, False, None)
    ]
    names = ("p", "q", "r")
    kinds = dict.fromkeys(names, BOOLEAN)
    rows = pa.RecordBatch.from_arrays(
        [pa.array(list(column), pa.bool_()) for column in zip(*values, strict=True)], list(names)
    )

    def make(depth: int) -> tuple[str, Any]:
        kind = choose.choice(["AND", "OR", "NOT", "IS TRUE", "IS NOT FALSE"]) if depth else "name"
        if kind == "name":
            place = choose.randrange(3)
            return names[place], lambda row: row[place]
        text, one = make(depth - 1)
        if kind == "NOT":
            return f"NOT ({text})", lambda row: None if one(row) is None else not one(row)
        if kind == "IS TRUE":
            return f"({text}) IS TRUE", lambda row: one(row) is True
        if kind == "IS NOT FALSE":
            return f"({text}) IS NOT FALSE", lambda row: one(row) is not False
        other, two = make(depth - 1)
        certain = kind == "OR"

        def connected(row: Any) -> Any:
            found = (one(row), two(row))
            if certain in found:
                return certain
            return None if None in found else not certain

        return f"({text}) {kind} ({other})", connected

    for _ in range(60):
        text, wanted = make(choose.randrange(1, 5))
        (found,) = compile_expressions([expression(text, kinds)], rows.schema)(rows, SESSION)
        assert found.to_pylist() == [wanted(row) for row in values], text


def test_constants_need_no_columns() -> None:
    assert evaluate_constant(expression("1 + 2 * 3"), SESSION).as_py() == 7
    session = Session("Asia/Tokyo", 1_700_000_000_000)
    text = "CAST(CURRENT_TIMESTAMP AS STRING)"
    assert evaluate_constant(expression(text), session).as_py() == "2023-11-15 07:13:20.000"


OF_ONE_TEXT = [
    "UPPER(s)",
    "s LIKE '%b%'",
    "s = 'abc'",
    "'abc' < s",
    "s IS NULL",
    "s IS NOT DISTINCT FROM 'abc'",
    "COALESCE(s, 'none')",
    "s IN ('abc', 'x')",
    "SUBSTRING(s, 2)",
    "CHAR_LENGTH(s)",
    "CAST(s AS INT)",
    "TRY_CAST(s AS INT)",
    "CASE s WHEN 'abc' THEN 1 ELSE 2 END",
    "UPPER(s) || LOWER(s)",
    "s || s",
    "s",
]


@pytest.mark.parametrize("text", OF_ONE_TEXT)
@pytest.mark.parametrize("texts", [["7", None, "7", "7"], ["7"] * 4, ["7", "8", "9", "10"]])
def test_a_dictionary_encoded_column_gives_what_a_plain_one_gives(
    text: str, texts: list[str | None]
) -> None:
    plain = batch(s=texts)
    place = plain.schema.get_field_index("s")
    # A value that no row has may be in a dictionary: here it is no number.
    dictionary = pa.array([*dict.fromkeys(each for each in texts if each), "abc"])
    codes = [None if each is None else dictionary.index(each).as_py() for each in texts]
    encoded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), dictionary)
    arrays = [encoded if at == place else each for at, each in enumerate(plain.columns)]
    rows = pa.RecordBatch.from_arrays(arrays, names=plain.schema.names)
    evaluate = compile_expressions([expression(text, COLUMNS)], plain.schema)
    (found,), (expected,) = evaluate(rows, SESSION), evaluate(plain, SESSION)
    assert found.equals(expected)


def test_a_call_is_computed_once_for_each_value_of_a_dictionary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from headrace.sql.functions.table import FUNCTIONS

    like, lengths = FUNCTIONS["LIKE"], []

    def kernel(call: Call, values: Any, session: Session) -> Any:
        lengths.append(len(values[0]))
        return like.kernel(call, values, session)

    monkeypatch.setitem(FUNCTIONS, "LIKE", replace(like, kernel=kernel))
    rows = pa.RecordBatch.from_pydict({"s": pa.array(["a", "b"] * 500).dictionary_encode()})
    evaluate = compile_expressions([expression("s LIKE 'a%'", {"s": STRING})], rows.schema)
    (found,) = evaluate(rows, SESSION)
    assert found.to_pylist() == [True, False] * 500
    assert lengths == [3]  # the two texts, and NULL
