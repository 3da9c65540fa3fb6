"""Tables that LIKE and AS make, with the answers of Flink 2.3."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import CatalogError
from headrace.sql.catalog.listing import Listing
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.definitions import ComputedColumn, MetadataColumn, PhysicalColumn
from headrace.sql.types import BIGINT, INT

Run = Callable[[str], Listing | None]


@pytest.mark.usefixtures("source")
def test_like_takes_all_but_the_comment(run: Run, manager: CatalogManager) -> None:
    run("CREATE TABLE t (h INT) WITH ('topic' = 'other', 'k' = 'v') LIKE src")
    source, table = manager.table(("src",)), manager.table(("t",))
    assert table.columns == (*source.columns, PhysicalColumn("h", INT))
    assert (table.watermark, table.primary_key) == (source.watermark, source.primary_key)
    assert table.partitioned_by == ("b",)
    assert table.comment == ""
    assert table.options == (("connector", "kafka"), ("k", "v"), ("topic", "other"))


@pytest.mark.usefixtures("source")
def test_like_excluding(run: Run, manager: CatalogManager) -> None:
    run("CREATE TABLE t (h INT) WITH ('k' = 'v') LIKE src (EXCLUDING ALL)")
    table = manager.table(("t",))
    assert [each.name for each in table.columns] == ["a", "b", "f", "g", "h"]
    assert (table.watermark, table.primary_key) == (None, None)
    assert table.partitioned_by == ("b",)  # as in Flink, it is replaced only by another one
    assert table.options == (("k", "v"),)
    run("CREATE TABLE u LIKE src (EXCLUDING ALL INCLUDING GENERATED)")
    assert [each.name for each in manager.table(("u",)).columns] == ["a", "b", "c", "e", "f", "g"]


@pytest.mark.usefixtures("source")
def test_like_overwriting(run: Run, manager: CatalogManager) -> None:
    run(
        """
        CREATE TABLE t (c AS a + 2, d TIMESTAMP(3) METADATA FROM 'q', WATERMARK FOR g AS g)
        LIKE src (OVERWRITING GENERATED OVERWRITING METADATA OVERWRITING WATERMARKS)
        """
    )
    table = manager.table(("t",))
    assert [each.name for each in table.columns] == ["a", "b", "c", "d", "e", "f", "g"]
    computed, metadata = table.column("c"), table.column("d")
    assert isinstance(computed, ComputedColumn) and computed.text == "a + 2"
    assert isinstance(metadata, MetadataColumn) and metadata.key == "q"
    assert table.watermark is not None and table.watermark.text == "g"


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("CREATE TABLE t (a INT) LIKE src", "LIKE has the column `a`"),
        ("CREATE TABLE t (c AS a + 2) LIKE src", "the column `c` too"),
        ("CREATE TABLE t (WATERMARK FOR g AS g) LIKE src", "a watermark too"),
        ("CREATE TABLE t (PRIMARY KEY (a) NOT ENFORCED) LIKE src", "a primary key too"),
        ("CREATE TABLE t PARTITIONED BY (b) LIKE src", "PARTITIONED BY too"),
        ("CREATE TABLE t WITH ('topic'='z') LIKE src (INCLUDING OPTIONS)", "option 'topic' too"),
        ("CREATE TABLE t LIKE src (INCLUDING OPTIONS EXCLUDING OPTIONS)", "two options"),
        ("CREATE TABLE t LIKE src (OVERWRITING CONSTRAINTS)", "OVERWRITING CONSTRAINTS"),
        ("CREATE TABLE t LIKE nope", "does not exist"),
        ("CREATE VIEW v AS SELECT 1 AS a; CREATE TABLE t LIKE v", "is a view"),
        ("CREATE TABLE t (a INT, a INT)", "`a` occurs twice"),
        ("CREATE TABLE t (a INT, a AS 1)", "`a` occurs twice"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (b) NOT ENFORCED)", "key's column `b` is not"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a))", "cannot be enforced"),
        ("CREATE TABLE t (a INT, PRIMARY KEY (a, a) NOT ENFORCED)", "`a` occurs twice"),
        ("CREATE TABLE t (a INT, b AS a, PRIMARY KEY (b) NOT ENFORCED)", "not physical"),
        ("CREATE TABLE t (a INT, WATERMARK FOR b AS b)", "watermark's column `b` is not"),
        ("CREATE TABLE t (a INT) PARTITIONED BY (b)", "PARTITIONED BY: column `b` is not"),
        ("CREATE TABLE t", "at least one column"),
    ],
)
def test_what_contradicts_is_refused(run: Run, text: str, problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        run(text)


def test_a_column_of_the_key_has_no_null(run: Run, manager: CatalogManager) -> None:
    run("CREATE TABLE t (a INT NULL, PRIMARY KEY (a) NOT ENFORCED) WITH ('a' = 'b', 'a' = 'c')")
    table = manager.table(("t",))
    assert table.columns == (PhysicalColumn("a", INT.with_nullable(False)),)
    assert table.options == (("a", "c"),)


def test_columns_of_a_query(run: Run, manager: CatalogManager) -> None:
    run(
        """
        CREATE TABLE t (x STRING, b BIGINT, c AS a * 2, PRIMARY KEY (a) NOT ENFORCED)
        AS SELECT 1 AS a, 2 AS b;
        CREATE TABLE u (b, a) AS SELECT 1 AS a, 2 AS b
        """
    )
    table = manager.table(("t",))
    assert [each.name for each in table.columns] == ["x", "c", "a", "b"]
    assert table.column("b") == PhysicalColumn("b", BIGINT)
    assert [each.name for each in manager.table(("u",)).columns] == ["b", "a"]
    with pytest.raises(CatalogError, match="column `q` is not in the query"):
        run("CREATE TABLE w (q, a) AS SELECT 1 AS a, 2 AS b")
