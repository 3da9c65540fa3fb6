"""Queries, as trees."""

from __future__ import annotations

import pytest
from sqlglot import exp

from headrace.sql.dialect.nodes import Descriptor, JoinTree, RowPattern, TableArgument
from headrace.sql.parsing import parse
from headrace.sql.statements import Query


def tree_of(text: str) -> exp.Expr:
    (found,) = parse(text)
    assert isinstance(found, Query)
    return found.tree


def source_of(text: str) -> exp.Expr:
    found = tree_of(f"SELECT * FROM {text}").args["from_"].this
    assert isinstance(found, exp.Expr)
    return found


@pytest.mark.parametrize("text", ["TABLE({})", "{}"])
def test_a_window_table_function(text: str) -> None:
    call = "TUMBLE(TABLE d.t, DESCRIPTOR(ts), INTERVAL '10' MINUTES)"
    found = source_of(f"{text.format(call)} AS w")
    assert isinstance(found, exp.Table)
    assert found.alias == "w"
    called = found.this
    assert isinstance(called, exp.Anonymous) and called.this == "TUMBLE"
    table, time, size = called.expressions
    assert isinstance(table, TableArgument) and table.this.name == "t"
    assert isinstance(time, Descriptor) and time.expressions[0].name == "ts"
    assert isinstance(size, exp.Interval)


def test_named_arguments_and_partitions() -> None:
    found = source_of(
        "f(DATA => TABLE t PARTITION BY (a, b) ORDER BY c DESC, TIMECOL => DESCRIPTOR(ts), 1)"
    )
    data, time, number = found.this.expressions
    assert isinstance(data, exp.Kwarg) and data.this.name == "DATA"
    table = data.expression
    assert [each.name for each in table.args["partition_by"]] == ["a", "b"]
    assert table.args["order"].expressions[0].args["desc"] is True
    assert isinstance(time.expression, Descriptor)
    assert number.name == "1"


def test_a_table_with_hints_at_a_time() -> None:
    found = source_of("c.d.t /*+ OPTIONS('k'='v') */ FOR SYSTEM_TIME AS OF o.ts AS x (a, b)")
    assert isinstance(found, exp.Table)
    assert (found.catalog, found.db, found.name) == ("c", "d", "t")
    (hint,) = found.args["hints"]
    assert (hint.this, hint.expressions[0].expression.name) == ("OPTIONS", "v")
    assert found.args["version"].expression.name == "ts"
    assert [each.name for each in found.args["alias"].columns] == ["a", "b"]


def test_hints_of_a_select() -> None:
    tree = tree_of("SELECT /*+ STATE_TTL('a'='1d'), BROADCAST(t) */ 1 FROM t")
    first, second = tree.args["hint"].expressions
    assert (first.this, second.this, second.expressions[0].name) == ("STATE_TTL", "BROADCAST", "t")


def test_lateral_tables_and_unnest() -> None:
    tree = tree_of(
        "SELECT * FROM t, UNNEST(a) WITH ORDINALITY AS x (y, z)"
        " LEFT JOIN LATERAL TABLE(f(b)) AS v (w) ON TRUE CROSS JOIN LATERAL (SELECT 1) AS q"
    )
    unnest, function, query = tree.args["joins"]
    assert isinstance(unnest.this, exp.Unnest) and unnest.this.args["offset"] is True
    assert [each.name for each in unnest.this.args["alias"].columns] == ["y", "z"]
    assert isinstance(function.this, exp.Lateral) and function.this.this.name == "f"
    assert (function.side, function.this.alias) == ("LEFT", "v")
    assert isinstance(query.this.this, exp.Subquery)
    assert query.kind == "CROSS"


def test_joins_in_parentheses_and_after_commas() -> None:
    assert isinstance(source_of("(t JOIN u ON TRUE) JOIN v ON TRUE"), JoinTree)
    joins = tree_of("SELECT * FROM t, u LEFT JOIN v ON TRUE").args["joins"]
    assert [each.side for each in joins] == ["", "LEFT"]
    (join,) = tree_of("SELECT * FROM t, u FULL JOIN v ON TRUE").args["joins"]
    assert isinstance(join.this, JoinTree)


def test_row_patterns_are_kept_as_texts() -> None:
    found = source_of("t MATCH_RECOGNIZE (ORDER BY ts PATTERN (A (B | C)+)) AS m")
    assert isinstance(found, RowPattern)
    assert (found.args["text"], found.alias) == ("ORDER BY ts PATTERN (A (B | C)+)", "m")


def test_grouping_sets() -> None:
    tree = tree_of(
        "SELECT 1 FROM t GROUP BY a, GROUPING SETS ((a, b), (c), ()), ROLLUP(a), CUBE(b)"
    )
    column, sets, rollup, cube = tree.args["group"].expressions
    assert isinstance(column, exp.Column)
    pair, single, empty = sets.expressions
    assert isinstance(pair, exp.Tuple) and isinstance(single, exp.Paren)
    assert isinstance(empty, exp.Tuple) and not empty.expressions
    assert isinstance(rollup, exp.Rollup) and isinstance(cube, exp.Cube)


def test_set_operations() -> None:
    tree = tree_of("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 EXCEPT SELECT 4 LIMIT 5")
    assert isinstance(tree, exp.Except)
    assert tree.args["limit"].expression.name == "5"
    union = tree.this
    assert isinstance(union, exp.Union) and union.args["distinct"] is False
    assert isinstance(union.expression, exp.Intersect)


def test_what_belongs_to_the_query_in_parentheses() -> None:
    tree = tree_of("(SELECT a FROM t LIMIT 1) LIMIT 2")
    assert isinstance(tree, exp.Subquery)
    assert tree.args["limit"].expression.name == "2"
    assert tree.this.args["limit"].expression.name == "1"


def test_values_are_tuples() -> None:
    found = source_of("(VALUES 1, (2), ROW(3), (4)) AS t (a)")
    assert isinstance(found, exp.Subquery) and isinstance(found.this, exp.Values)
    rows = found.this.expressions
    assert [[each.name for each in row.expressions] for row in rows] == [["1"], ["2"], ["3"], ["4"]]


def test_rows_of_fetch_are_a_limit() -> None:
    tree = tree_of("SELECT a FROM t ORDER BY a DESC OFFSET 2 ROWS FETCH NEXT 3 ROWS ONLY")
    assert tree.args["limit"].expression.name == "3"
    assert tree.args["offset"].expression.name == "2"
    (ordered,) = tree.args["order"].expressions
    assert (ordered.args["desc"], ordered.args["nulls_first"]) == (True, False)


def test_common_tables() -> None:
    tree = tree_of("WITH a (x) AS (SELECT 1), b AS (TABLE a) SELECT * FROM b")
    first, second = tree.args["with_"].expressions
    assert (first.alias, [each.name for each in first.args["alias"].columns]) == ("a", ["x"])
    assert isinstance(second.this, exp.Select)


def test_long_chains_are_no_deep_trees() -> None:
    union = tree_of(" UNION ALL ".join(f"SELECT {n}" for n in range(3000)))
    assert [each.name for each in union.find_all(exp.Literal, bfs=False)] == [
        str(n) for n in range(3000)
    ]
    assert all(each.args["distinct"] is False for each in union.find_all(exp.Union))
    assert depth_of(union) < 60
    for word in ("AND", "OR"):
        tree = tree_of("SELECT a WHERE " + f" {word} ".join(f"x{n}" for n in range(3000)))
        condition = tree.args["where"].this
        assert [each.name for each in condition.find_all(exp.Column, bfs=False)] == [
            f"x{n}" for n in range(3000)
        ]
        assert depth_of(condition) < 60
        assert (condition.meta["start"], condition.meta["end"]) == (15, len(tree.meta["source"]))


def depth_of(tree: exp.Expr) -> int:
    return 1 + max(map(depth_of, tree.iter_expressions()), default=0)
