"""Expressions, as trees."""

from __future__ import annotations

import pytest
from sqlglot import exp

from headrace.errors import SqlParserError
from headrace.sql.dialect.lexer import message_at
from headrace.sql.dialect.nodes import Clause, TypedLiteral, TypeName
from headrace.sql.parsing import parse_expression
from headrace.sql.types import DATE, INT, TimestampLtzType, TimestampType, TimeType

_SYMBOLS: dict[type[exp.Expr], str] = {
    exp.Or: "OR",
    exp.And: "AND",
    exp.EQ: "=",
    exp.LT: "<",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.DPipe: "||",
    exp.Is: "IS",
    exp.Like: "LIKE",
    exp.SimilarTo: "SIMILAR",
    exp.Escape: "ESCAPE",
    exp.NullSafeNEQ: "DISTINCT",
    exp.Overlaps: "OVERLAPS",
}


def grouped(tree: exp.Expr) -> str:
    """Return an expression with parentheses around each operator."""
    match tree:
        case exp.Column():
            return ".".join(each.name for each in tree.parts)
        case exp.Literal() | exp.Var():
            return tree.name
        case exp.Null():
            return "NULL"
        case exp.Boolean():
            return str(tree.this).upper()
        case exp.Not():
            return f"(NOT {grouped(tree.this)})"
        case exp.Neg():
            return f"(- {grouped(tree.this)})"
        case exp.In():
            return f"({grouped(tree.this)} IN {', '.join(map(grouped, tree.expressions))})"
        case exp.Between():
            this, low, high = (grouped(tree.args[each]) for each in ("this", "low", "high"))
            return f"({this} BETWEEN {low}, {high})"
        case exp.Bracket():
            return f"{grouped(tree.this)}[{grouped(tree.expressions[0])}]"
    return f"({grouped(tree.this)} {_SYMBOLS[type(tree)]} {grouped(tree.expression)})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b || c", "(a + (b || c))"),
        ("a || b + c", "((a || b) + c)"),
        ("a * b || c", "((a * b) || c)"),
        ("a || b * c", "((a || b) * c)"),
        ("a % b * c", "((a % b) * c)"),
        ("a - - b", "(a - (- b))"),
        ("- a * b", "((- a) * b)"),
        ("-a.b[1]", "(- a.b[1])"),
        ("a = b IS NULL", "((a = b) IS NULL)"),
        ("a IS NULL = b", "((a IS NULL) = b)"),
        ("NOT a IS NULL", "(NOT (a IS NULL))"),
        ("a IS NULL IS NOT NULL", "(NOT ((a IS NULL) IS NULL))"),
        ("a IS NOT TRUE AND b", "((NOT (a IS TRUE)) AND b)"),
        ("a + b IS NULL", "((a + b) IS NULL)"),
        ("NOT a = b", "(NOT (a = b))"),
        ("a = NOT b", "(a = (NOT b))"),
        ("a = b = c", "((a = b) = c)"),
        ("a = b BETWEEN c AND d", "(a = (b BETWEEN c, d))"),
        ("a BETWEEN b AND c = d", "((a BETWEEN b, c) = d)"),
        ("a BETWEEN b + 1 AND c + 1 AND d", "((a BETWEEN (b + 1), (c + 1)) AND d)"),
        ("a LIKE b = c", "((a LIKE b) = c)"),
        ("a = b LIKE c", "(a = (b LIKE c))"),
        ("a LIKE b LIKE c", "(a LIKE (b LIKE c))"),
        ("a LIKE b || c", "(a LIKE (b || c))"),
        ("a LIKE b ESCAPE c = d", "(((a LIKE b) ESCAPE c) = d)"),
        ("a SIMILAR TO b || c", "(a SIMILAR (b || c))"),
        ("a IN (1) = b", "((a IN 1) = b)"),
        ("a = b IN (1, 2)", "(a = (b IN 1, 2))"),
        ("a NOT IN (1) AND b", "((NOT (a IN 1)) AND b)"),
        ("a OR b AND c", "(a OR (b AND c))"),
        ("NOT a AND b", "((NOT a) AND b)"),
        ("a IS DISTINCT FROM b = c", "((a DISTINCT b) = c)"),
        ("a = b IS DISTINCT FROM c", "((a = b) DISTINCT c)"),
        ("a IS DISTINCT FROM b IS NULL", "((a DISTINCT b) IS NULL)"),
        ("a < b OVERLAPS c", "((a < b) OVERLAPS c)"),
        ("a + b = c - d AND e", "(((a + b) = (c - d)) AND e)"),
    ],
)
def test_how_operators_bind_as_in_flink(text: str, expected: str) -> None:
    assert grouped(parse_expression(text)) == expected


def test_names_of_functions_mean_nothing_to_the_tree() -> None:
    for name in ("count", "Split", "COALESCE", "LEFT", "my_own", "CURRENT_WATERMARK"):
        found = parse_expression(f"{name}(a, 1)")
        assert isinstance(found, exp.Anonymous)
        assert (found.this, len(found.expressions)) == (name, 2)
    found = parse_expression("`count`(a)")
    assert isinstance(found, exp.Anonymous)
    assert found.name == "count"
    qualified = parse_expression("c.d.f(x)")
    assert isinstance(qualified, exp.Dot)
    assert qualified.expression.name == "f"


def test_an_aggregate_from_the_inside_out() -> None:
    found = parse_expression(
        "f(DISTINCT a, b ORDER BY c) IGNORE NULLS FILTER (WHERE d) OVER (PARTITION BY e)"
    )
    assert isinstance(found, exp.Window)
    assert [each.name for each in found.args["partition_by"]] == ["e"]
    kept = found.this
    assert isinstance(kept, exp.Filter) and kept.expression.this.name == "d"
    assert isinstance(kept.this, exp.IgnoreNulls)
    ordered = kept.this.this
    assert isinstance(ordered, exp.WithinGroup)
    (distinct,) = ordered.this.expressions
    assert isinstance(distinct, exp.Distinct)
    assert [each.name for each in distinct.expressions] == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("EXTRACT(DAY FROM a)", ["DAY", "a"]),
        ("FLOOR(a TO HOUR)", ["a", "HOUR"]),
        ("CEIL(a)", ["a"]),
        ("TIMESTAMPADD(SQL_TSI_DAY, b, a)", ["DAY", "b", "a"]),
        ("TIMESTAMPDIFF(SECOND, a, b)", ["SECOND", "a", "b"]),
        ("POSITION(a IN b)", ["a", "b"]),
        ("SUBSTRING(a FROM b FOR c)", ["a", "b", "c"]),
        ("OVERLAY(a PLACING b FROM c)", ["a", "b", "c"]),
        ("TRIM(a)", ["a"]),
        ("TRIM(LEADING FROM a)", ["LEADING", " ", "a"]),
        ("TRIM(b FROM a)", ["BOTH", "b", "a"]),
        ("JSON_EXISTS(a, b TRUE ON ERROR)", ["a", "b", "ON ERROR"]),
    ],
)
def test_words_between_arguments_are_arguments(text: str, names: list[str]) -> None:
    found = parse_expression(text)
    assert isinstance(found, exp.Anonymous)
    assert [each.name for each in found.expressions] == names


def test_clauses_of_json_functions() -> None:
    found = parse_expression("JSON_VALUE(a, '$' RETURNING INT DEFAULT 1 ON EMPTY NULL ON ERROR)")
    *_, returning, empty, error = found.expressions
    assert returning == Clause(this="RETURNING", expression=TypeName(this=INT))
    assert (empty.this, empty.expression.name) == ("ON EMPTY", "1")
    assert (error.this, error.expression) == ("ON ERROR", exp.Var(this="NULL"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DATE '2024-01-31'", DATE),
        ("TIME '10:11:12.5'", TimeType(1)),
        ("TIMESTAMP '2024-01-31 10:11:12'", TimestampType(0)),
        ("TIMESTAMP '2024-01-31 10:11:12.123'", TimestampType(3)),
        ("TIMESTAMP WITH LOCAL TIME ZONE '2024-01-31 10:11:12.1'", TimestampLtzType(1)),
    ],
)
def test_constants_with_a_type(text: str, kind: object) -> None:
    found = parse_expression(text)
    assert isinstance(found, TypedLiteral)
    assert found.args["to"].this.with_nullable(True) == kind


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("INTERVAL '5' MINUTES", "5", "MINUTE"),
        ("INTERVAL -'1' DAY", "-1", "DAY"),
        ("INTERVAL '1-2' YEAR TO MONTH", "1-2", "YEAR TO MONTH"),
        ("INTERVAL '1 10:00:00.004' DAY(2) TO SECOND(3)", "1 10:00:00.004", "DAY TO SECOND"),
    ],
)
def test_intervals(text: str, value: str, unit: str) -> None:
    found = parse_expression(text)
    assert isinstance(found, exp.Interval)
    units = found.args["unit"]
    span = [units.this, units.expression] if isinstance(units, exp.IntervalSpan) else [units]
    assert (found.this.name, " TO ".join(each.name for each in span)) == (value, unit)


def test_an_interval_of_an_expression_is_a_product() -> None:
    found = parse_expression("INTERVAL (a + 1) DAY").unnest()
    assert isinstance(found, exp.Mul)
    assert isinstance(found.expression, exp.Interval)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("'it''s'", "it's"),
        ("'a' 'b'", "ab"),
        (r"U&'\0041\\'", "A\\"),
        ("U&'!0041' UESCAPE '!'", "A"),
        (r"E'a\n\'\101\u0042'", "a\n'AB"),
        ("N'x'", "x"),
        (r"'a\n'", r"a\n"),
    ],
)
def test_texts(text: str, value: str) -> None:
    found = parse_expression(text)
    assert isinstance(found, exp.Literal)
    assert (found.this, found.is_string) == (value, True)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a != b", "'<>' is"),
        ("a::INT", r"CAST\(… AS …\) converts"),
        ("a ILIKE b", "ILIKE is not supported as an operator"),
        ("INTERVAL '1' YEAR TO DAY", "expected QUARTER or MONTH"),
        ("MAP['a']", "a value for each key"),
        ("X'ABC'", "even number"),
        ("U&'\\00'", "4 hexadecimal digits"),
        ("FLOOR(a TO DAYS)", "a unit of time"),
        ("YEAR", "'YEAR' is a reserved word"),
        ("f(a", "or '\\)'|…"),
    ],
)
def test_what_is_refused(text: str, problem: str) -> None:
    with pytest.raises(SqlParserError, match=problem):
        parse_expression(text)


def test_nodes_know_where_they_stand() -> None:
    text = "a +\n f(b, 'x')"
    call = parse_expression(text).expression
    assert text[call.meta["start"] : call.meta["end"]] == "f(b, 'x')"
    shown = message_at(text, call.meta["start"], "no such function")
    assert (
        shown == "line 2, column 2: no such function\n  f(b, 'x')\n  ^"
    )  # without the blanks before it
