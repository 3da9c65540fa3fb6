"""Statements as values, and how they are refused."""

from __future__ import annotations

import pytest

from headrace.errors import SqlParserError
from headrace.sql.statements import (
    ComputedColumn,
    CreateTable,
    CreateView,
    Explain,
    Insert,
    MetadataColumn,
    PhysicalColumn,
    PrimaryKeyDefinition,
    Query,
    SetOption,
    Statement,
    StatementSet,
    parse,
)
from headrace.sql.types import BIGINT, STRING, DecimalType, TimestampLtzType


def only(text: str) -> Statement:
    (found,) = parse(text)
    return found


def test_statements_are_separated_by_semicolons() -> None:
    text = "SELECT 1;\n-- a comment; with a semicolon\n  SELECT ';' ;;"
    first, second = parse(text)
    assert isinstance(first, Query) and isinstance(second, Query)
    assert (first.text, first.line, first.column) == ("SELECT 1", 1, 1)
    assert (second.text, second.line, second.column) == ("SELECT ';'", 3, 3)


def test_no_statements() -> None:
    assert parse("") == parse(" ; -- nothing") == ()


def test_create_table() -> None:
    found = only(
        """
        CREATE TEMPORARY TABLE IF NOT EXISTS c.d.bids (
            auction BIGINT NOT NULL COMMENT 'the item',
            price DECIMAL(10, 2),
            `a b` STRING,
            sent TIMESTAMP_LTZ(3) METADATA FROM 'timestamp' VIRTUAL,
            total AS price * 2 COMMENT 'twice',
            WATERMARK FOR sent AS sent - INTERVAL '5' SECOND,
            CONSTRAINT pk PRIMARY KEY (auction) NOT ENFORCED
        ) COMMENT 'of an auction' PARTITIONED BY (`a b`)
        WITH ('connector' = 'kafka', 'topic' = 'it''s')
        """
    )
    assert isinstance(found, CreateTable)
    assert found.path == ("c", "d", "bids")
    assert found.temporary and found.if_not_exists
    auction, price, quoted, sent, total = found.columns
    assert auction == PhysicalColumn("auction", BIGINT.with_nullable(False), "the item")
    assert price == PhysicalColumn("price", DecimalType(10, 2))
    assert quoted == PhysicalColumn("a b", STRING)
    assert sent == MetadataColumn("sent", TimestampLtzType(3), "timestamp", virtual=True)
    assert isinstance(total, ComputedColumn)
    assert (total.name, total.text, total.comment) == ("total", "price * 2", "twice")
    (watermark,) = found.watermarks
    assert (watermark.column, watermark.text) == (("sent",), "sent - INTERVAL '5' SECOND")
    assert found.primary_key == PrimaryKeyDefinition(("auction",), "pk")
    assert found.partitioned_by == ("a b",)
    assert found.comment == "of an auction"
    assert found.options == (("connector", "kafka"), ("topic", "it's"))


def test_create_view() -> None:
    found = only("CREATE VIEW v (x, y) COMMENT 'c' AS SELECT a,  b FROM t")
    assert isinstance(found, CreateView)
    assert (found.columns, found.comment) == (("x", "y"), "c")
    assert found.query_text == "SELECT a,  b FROM t"


def test_insert() -> None:
    found = only("INSERT OVERWRITE d.t PARTITION (dt = '1') (a, b) SELECT a, b FROM s")
    assert isinstance(found, Insert)
    assert (found.target, found.columns, found.overwrite) == (("d", "t"), ("a", "b"), True)
    ((name, value),) = found.partition
    assert (name, value.name) == ("dt", "1")


@pytest.mark.parametrize(
    "text",
    [
        "EXECUTE STATEMENT SET BEGIN INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END",
        "BEGIN STATEMENT SET; INSERT INTO a SELECT 1; INSERT INTO b SELECT 2; END;",
    ],
)
def test_a_statement_set(text: str) -> None:
    found = only(text)
    assert isinstance(found, StatementSet)
    assert [each.target for each in found.inserts] == [("a",), ("b",)]


def test_explain() -> None:
    found = only("EXPLAIN CHANGELOG_MODE, ESTIMATED_COST SELECT 1")
    assert isinstance(found, Explain)
    assert found.details == ("CHANGELOG_MODE", "ESTIMATED_COST")
    assert found.statement.text == "SELECT 1"
    assert found.statement.column == 40


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("SET 'table.exec.state.ttl' = '1 d'", "table.exec.state.ttl", "1 d"),
        ("SET table.exec.state.ttl = 1 d;", "table.exec.state.ttl", "1 d"),
        ("SET", None, None),
    ],
)
def test_set(text: str, key: str | None, value: str | None) -> None:
    found = only(text)
    assert isinstance(found, SetOption)
    assert (found.key, found.value) == (key, value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("SELECT a\nFORM t", ["line 2, column 6: 't'", "\n       ^", "Did you mean FROM?"]),
        ("SELECT a FROM", ["column 14: the end of the text", "a table"]),
        ("SELEC 1", ["'SELEC'", "expected SELECT", "Did you mean SELECT?"]),
        ("SELECT value FROM t", ["'value' is a reserved word", "backticks: `value`"]),
        ("CREATE TABLE t (a INTT)", ["column 19: there is no type 'INTT'; did you mean INT?"]),
        ("SELECT 'a", ["column 8: a text that begins here does not end"]),
        ('SELECT "a"', ["double quotes", "backticks"]),
        ("SELECT a ~ b", ["the character '~' has no meaning here"]),
        ("INSERT INTO t SELECT 1; SELECT", ["line 1, column 31"]),
    ],
)
def test_errors_show_the_place(text: str, parts: list[str]) -> None:
    with pytest.raises(SqlParserError) as caught:
        parse(text)
    for part in parts:
        assert part in str(caught.value)


def test_what_flink_reads_is_read_and_what_it_refuses_is_refused(
    recorded: dict[str, tuple[bool, bool]],
) -> None:
    wrong = []
    for text, (_, here) in recorded.items():
        try:
            parse(text)
            reads = True
        except SqlParserError:
            reads = False
        if reads is not here:
            wrong.append(text)
    assert wrong == []


def test_differences_from_flink_are_few(recorded: dict[str, tuple[bool, bool]]) -> None:
    only_here = {text for text, (flink, here) in recorded.items() if here and not flink}
    # Read by Flink's client, but not by the parser that was asked; a statement may be empty here.
    assert only_here == {
        *("SET a = b", "SET a.b.c = 1", "SET a = 'b'", "RESET a", ";"),
        "SELECT ROW(1, 2), ROW(1), ROW()",
    }
