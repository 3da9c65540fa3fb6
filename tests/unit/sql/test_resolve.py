"""Queries without tables: what they mean, and where they are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headrace.errors import CatalogError, HeadraceError, SqlValidationError, UnsupportedError
from headrace.sql.constant_rows import ConstantRows, is_constant
from headrace.sql.parsing import parse
from headrace.sql.rel import Rel
from headrace.sql.resolve.query import QueryResolver
from headrace.sql.statements import Query

pytest.importorskip("sqlglot")


class NoTables:
    def find(self, path: Sequence[str], hints: Mapping[str, str]) -> Rel:
        raise CatalogError(f"there is no table {path[-1]}")


def resolved(text: str, batch: bool = True) -> Rel:
    (statement,) = parse(text)
    assert isinstance(statement, Query)
    return QueryResolver(NoTables(), batch).resolve(statement.tree)


def rows(text: str) -> list[tuple[Any, ...]]:
    return ConstantRows().rows(resolved(text))


T = "(VALUES (1, 'a'), (2, 'b'), (2, 'b'), (CAST(NULL AS INT), 'c')) AS t(n, s)"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT n FROM {T} ORDER BY n DESC LIMIT 2", [(2,), (2,)]),
        (f"SELECT s, COUNT(*) AS c FROM {T} GROUP BY s ORDER BY s", [("a", 1), ("b", 2), ("c", 1)]),
        (f"SELECT COUNT(*), SUM(n) FROM {T} WHERE n > 5", [(0, None)]),
        (f"SELECT DISTINCT n FROM {T} WHERE n > 1", [(2,)]),
        (f"SELECT s FROM {T} EXCEPT ALL SELECT 'b'", [("a",), ("b",), ("c",)]),
        (f"SELECT s FROM {T} INTERSECT SELECT 'b'", [("b",)]),
        ("SELECT e FROM UNNEST(ARRAY[3, 4]) AS u(e)", [(3,), (4,)]),
        ("SELECT e FROM UNNEST(ARRAY[3, 4]) AS e", [(3,), (4,)]),
        (
            "SELECT n, e FROM (VALUES (1, ARRAY[3, 4]), (2, ARRAY[3]), (4, ARRAY[5, 6]),"
            " (3, CAST(NULL AS ARRAY<INT>))) AS v(n, a)"
            " LEFT JOIN UNNEST(a) AS u(e) ON e > n + 1 AND e <> 3",
            [(1, 4), (2, None), (4, 6), (3, None)],
        ),
        ("SELECT e FROM (VALUES ARRAY[3, 4]) AS v(a) JOIN UNNEST(a) AS u(e) ON e > 3", [(4,)]),
        ("SELECT r.* FROM (SELECT ROW(1, 'a') AS r) AS v", [(1, "a")]),
        (f"SELECT n FROM {T} ORDER BY n LIMIT 0", []),
        (
            "SELECT n, COLLECT(r) FROM (VALUES (1, ROW(2, 'x')), (1, ROW(2, 'x')),"
            " (1, ROW(3, 'y'))) AS v(n, r) GROUP BY n",
            [(1, [({"EXPR$0": 2, "EXPR$1": "x"}, 2), ({"EXPR$0": 3, "EXPR$1": "y"}, 1)])],
        ),
        (
            "SELECT d IN (CAST('NaN' AS DOUBLE), 2E0) FROM (VALUES 1E0, 2E0) AS v(d)",
            [(False,), (True,)],
        ),
        (f"SELECT PERCENTILE(n, 0.9) FROM {T} WHERE s IN ('a', 'b')", [(2.0,)]),
        ("SELECT PERCENTILE(n, 0.9) FROM (VALUES 2, 3) AS v(n)", [(2.9,)]),
        (f"SELECT s FROM {T} ORDER BY n + 1 NULLS LAST, s DESC LIMIT 1 OFFSET 3", [("c",)]),
        ("SELECT 1 IN (SELECT 1), 2 > ALL (SELECT 1), EXISTS (SELECT 1)", [(True, True, True)]),
        ("SELECT (SELECT 1 FROM (VALUES (1)) AS v(x) WHERE x > 1)", [(None,)]),
        ("SELECT NULL IN (1, 2), 10 IN (10.5), NULL NOT IN (1)", [(None, True, None)]),
        ("SELECT (1, 2) IN ((1, 3), (1, 2)), (1, 2) IN (SELECT 1, 3)", [(True, False)]),
    ],
)
def test_rows_of_constants(query: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(query) == expected


@pytest.mark.parametrize(
    "query", ["SELECT RAND()", "VALUES (CURRENT_TIMESTAMP)", "SELECT UUID() FROM (VALUES (1))"]
)
def test_what_varies_is_no_constant(query: str) -> None:
    assert not is_constant(resolved(query))


@pytest.mark.parametrize(
    ("query", "error", "position", "words"),
    [
        (f"SELECT m\nFROM {T}", SqlValidationError, "line 1, column 8", "'m' not found"),
        (f"SELECT n,\n  UPER(s) FROM {T}", SqlValidationError, "line 2, column 3", "UPER"),
        ("SELECT 1 FROM nope", CatalogError, "line 1, column 15", "nope"),
        (f"SELECT n FROM {T}\nORDER BY 2", SqlValidationError, "line 2, column 10", "1 columns"),
        ("SELECT (SELECT 1, 2)", SqlValidationError, "line 1, column 8", "one column"),
        ("SELECT (SELECT x FROM (VALUES (1), (2)) AS v(x))", SqlValidationError, "", "one row"),
        (f"SELECT n FROM {T} WHERE EXISTS (SELECT t.n)", UnsupportedError, "column 111", "around"),
        (f"SELECT DISTINCT s FROM {T} ORDER BY n", SqlValidationError, "", "DISTINCT"),
        (
            "SELECT VECTOR_SEARCH(1)",
            SqlValidationError,
            "line 1, column 8",
            "no connector searches vectors",
        ),
        ("SELECT 1 = '1'", SqlValidationError, "line 1, column 8", "a number and a text"),
        ("SELECT 1 / 0", SqlValidationError, "line 1, column 8", "Division by zero"),
        ("SELECT 99999999999999999999", SqlValidationError, "line 1, column 8", "out of range"),
        (f"SELECT MAX(ARRAY[n]) FROM {T}", SqlValidationError, "column 8", "MAX does not take"),
        (f"SELECT 1, PERCENTILE(n, n) FROM {T}", SqlValidationError, "column 11", "a constant"),
        (f"SELECT n, s FROM {T} GROUP BY n", SqlValidationError, "column 11", "not being grouped"),
        (f"SELECT n FROM {T}\nWHERE n", SqlValidationError, "line 2, column 7", "WHERE needs"),
        (f"SELECT n FROM {T}\nWHERE MAX(n) > 1", SqlValidationError, "line 2, column 7", "WHERE"),
        (
            f"SELECT n FROM {T} GROUP BY n\nHAVING MAX(n)",
            SqlValidationError,
            "line 2, column 8",
            "HAVING needs",
        ),
        (f"SELECT n,\n a.* FROM {T}", SqlValidationError, "line 2, column 2", "no table 'a'"),
        (f"SELECT n FROM {T}\nUNION ALL SELECT n, s FROM {T}", SqlValidationError, "line 2", "1"),
        (f"SELECT n FROM {T}\nUNION ALL SELECT s FROM {T}", SqlValidationError, "line 2", "types"),
        (f"SELECT x FROM {T},\nUNNEST(n) AS u(x)", SqlValidationError, "line 2, column 8", "ARRAY"),
        (
            f"SELECT * FROM TUMBLE((SELECT * FROM {T}),\n DESCRIPTOR(m), INTERVAL '1' HOUR)",
            SqlValidationError,
            "line 2, column 2",
            "no column 'm'",
        ),
        (f"SELECT /*+ NOPE(t) */ n FROM {T}", SqlValidationError, "column 12", "NOPE does not"),
        (f"SELECT 1 FROM {T}\nJOIN {T} ON TRUE", UnsupportedError, "line 2, column 1", "a join"),
        (
            f"SELECT x FROM {T}\nCROSS JOIN UNNEST(ARRAY[1]) AS u(x, y, z)",
            SqlValidationError,
            "line 2, column 1",
            "gives 1 columns",
        ),
    ],
)
def test_errors_say_what_and_where(
    query: str, error: type[HeadraceError], position: str, words: str
) -> None:
    with pytest.raises(error) as caught:
        resolved(query)
    assert words in caught.value.message
    assert position in caught.value.where["position"]


@pytest.mark.parametrize(
    ("query", "near"),
    [
        (f"SELECT N FROM {T}", "'n'"),
        (f"SELECT UPER(s) FROM {T}", "UPPER"),
        (f"SELECT SUMM(n) FROM {T}", "SUM"),
        (f"SELECT * FROM TUMBEL((SELECT * FROM {T}), DESCRIPTOR(n), 1)", "TUMBLE"),
        (f"SELECT * FROM HOP((SELECT * FROM {T}), DESCRIPTOR(N), INTERVAL '1' DAY)", "`n`"),
        (f"SELECT /*+ STAT_TTL('t' = '1 d') */ n FROM {T}", "STATE_TTL"),
        (f"SELECT /*+ OPTIONS('a' = 'b') */ n FROM {T}", "FROM t /*+ OPTIONS"),
    ],
)
def test_errors_say_what_is_near(query: str, near: str) -> None:
    with pytest.raises(SqlValidationError) as caught:
        resolved(query)
    assert caught.value.hint is not None and near in caught.value.hint


def test_aggregates_of_batches_only() -> None:
    query = f"SELECT APPROX_COUNT_DISTINCT(s) FROM {T}"
    assert rows(query) == [(3,)]
    with pytest.raises(UnsupportedError, match="APPROX_COUNT_DISTINCT in a stream"):
        resolved(query, batch=False)
