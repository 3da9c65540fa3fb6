"""Statements of catalogs, with the answers of Flink 2.3."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import CatalogError, UnsupportedError
from headrace.sql.catalog.listing import Listing

Run = Callable[[str], Listing | None]


def text_of(listing: Listing | None) -> str:
    assert listing is not None
    ((text,),) = listing.rows
    assert isinstance(text, str)
    return text


def names_of(listing: Listing | None) -> list[str]:
    assert listing is not None
    return [row[0] for row in listing.rows]


@pytest.mark.usefixtures("source")
def test_show_create_table(run: Run) -> None:
    assert text_of(run("SHOW CREATE TABLE src")) == (
        """CREATE TABLE `default_catalog`.`default_database`.`src` (
  `a` INT NOT NULL COMMENT 'the a',
  `b` VARCHAR(2147483647),
  `c` AS `a` + 1 COMMENT 'plus',
  `d` TIMESTAMP(3) METADATA FROM 'timestamp' VIRTUAL,
  `e` AS PROCTIME(),
  `f` ROW<`x` INT, `y` VARCHAR(2147483647) NOT NULL>,
  `g` TIMESTAMP(3) WITH LOCAL TIME ZONE,
  WATERMARK FOR `g` AS `g` - INTERVAL '5' SECOND,
  CONSTRAINT `PK_a` PRIMARY KEY (`a`) NOT ENFORCED
)
COMMENT 'a table'
PARTITIONED BY (`b`)
WITH (
  'connector' = 'kafka',
  'topic' = 'it''s'
)
"""
    )


@pytest.mark.usefixtures("source")
def test_describe_a_table(run: Run) -> None:
    found = run("DESCRIBE src")
    assert found is not None
    assert found.names == ("name", "type", "null", "key", "extras", "watermark", "comment")
    metadata = "METADATA FROM 'timestamp' VIRTUAL"
    late = "`g` - INTERVAL '5' SECOND"
    row = "ROW<`x` INT, `y` STRING NOT NULL>"
    assert found.rows == (
        ("a", "INT", False, "PRI(a)", None, None, "the a"),
        ("b", "STRING", True, None, None, None, None),
        ("c", "INT", False, None, "AS `a` + 1", None, "plus"),
        ("d", "TIMESTAMP(3)", True, None, metadata, None, None),
        ("e", "TIMESTAMP_LTZ(3) *PROCTIME*", False, None, "AS PROCTIME()", None, None),
        ("f", row, True, None, None, None, None),
        ("g", "TIMESTAMP_LTZ(3) *ROWTIME*", True, None, None, late, None),
    )
    assert names_of(run("SHOW COLUMNS FROM src LIKE 'a%'")) == ["a"]


def test_a_table_with_a_named_key_and_buckets(run: Run) -> None:
    run(
        "CREATE TEMPORARY TABLE t (a INT, b DECIMAL(10, 2), CONSTRAINT pk PRIMARY KEY (a, b)"
        " NOT ENFORCED) DISTRIBUTED BY HASH(a) INTO 3 BUCKETS WITH ('connector' = 'x')"
    )
    assert text_of(run("SHOW CREATE TABLE t")) == (
        """CREATE TEMPORARY TABLE `default_catalog`.`default_database`.`t` (
  `a` INT NOT NULL,
  `b` DECIMAL(10, 2) NOT NULL,
  CONSTRAINT `pk` PRIMARY KEY (`a`, `b`) NOT ENFORCED
)
DISTRIBUTED BY HASH(`a`) INTO 3 BUCKETS
WITH (
  'connector' = 'x'
)
"""
    )
    found = run("DESC t")
    assert found is not None
    assert found.names == ("name", "type", "null", "key", "extras", "watermark")
    assert found.rows[1] == ("b", "DECIMAL(10, 2)", False, "PRI(a, b)", None, None)


@pytest.mark.usefixtures("source")
def test_views(run: Run) -> None:
    run("CREATE VIEW v (x, y) COMMENT 'view' AS SELECT a, b || 'q' AS z FROM src WHERE c > 1")
    assert text_of(run("SHOW CREATE VIEW v")) == (
        """CREATE VIEW `default_catalog`.`default_database`.`v` (
  `x`,
  `y`
)
COMMENT 'view'
AS SELECT a, b || 'q' AS z FROM src WHERE c > 1
"""
    )
    assert names_of(run("DESCRIBE v")) == ["x", "y"]
    run("ALTER VIEW v RENAME TO w; ALTER VIEW w AS SELECT a FROM src")
    assert names_of(run("DESCRIBE w")) == ["a"]
    assert names_of(run("SHOW MODULES")) == ["core"] and names_of(run("SHOW JARS")) == []
    assert run("SHOW FULL MODULES").rows == (("core", True),)
    assert names_of(run("SHOW TABLES")) == ["src", "w"]
    assert names_of(run("SHOW VIEWS")) == ["w"]
    assert names_of(run("SHOW TABLES NOT LIKE 's__'")) == ["w"]


def test_catalogs_and_databases(run: Run) -> None:
    run("CREATE DATABASE d COMMENT 'x' WITH ('a' = 'b'); USE d")
    assert names_of(run("SHOW CURRENT DATABASE")) == ["d"]
    assert names_of(run("SHOW DATABASES")) == ["d", "default_database"]
    run("CREATE CATALOG c WITH ('type' = 'generic_in_memory'); USE CATALOG c")
    assert names_of(run("SHOW CURRENT CATALOG")) == ["c"]
    assert names_of(run("SHOW CURRENT DATABASE")) == ["default"]
    run("CREATE TABLE t (a INT); CREATE TABLE default_catalog.d.u (a INT)")
    assert names_of(run("SHOW TABLES")) == ["t"]
    assert names_of(run("SHOW TABLES FROM default_catalog.d")) == ["u"]
    run("USE CATALOG default_catalog; DROP CATALOG c; DROP DATABASE d CASCADE")
    assert names_of(run("SHOW CATALOGS")) == ["default_catalog"]
    assert names_of(run("SHOW DATABASES")) == ["default_database"]


def test_temporary_tables_hide_others(run: Run) -> None:
    run("CREATE TABLE t (a INT); CREATE TEMPORARY TABLE t (b INT)")
    assert names_of(run("DESCRIBE t")) == ["b"]
    assert names_of(run("SHOW TABLES")) == ["t"]
    with pytest.raises(CatalogError, match="hidden by a temporary table") as caught:
        run("DROP TABLE t")
    assert caught.value.hint == "DROP TEMPORARY TABLE drops that one"
    run("DROP TEMPORARY TABLE t")
    assert names_of(run("DESCRIBE t")) == ["a"]


def test_functions(run: Run) -> None:
    run(
        """
        CREATE FUNCTION F AS 'm.f' LANGUAGE PYTHON;
        CREATE TEMPORARY FUNCTION g AS 'm.g' LANGUAGE PYTHON;
        CREATE TEMPORARY SYSTEM FUNCTION h AS 'm.h' LANGUAGE PYTHON
        """
    )
    assert names_of(run("SHOW USER FUNCTIONS")) == ["f", "g", "h"]
    run("DROP FUNCTION f; DROP TEMPORARY SYSTEM FUNCTION h")
    assert names_of(run("SHOW USER FUNCTIONS")) == ["g"]
    assert {"g", "UPPER", "SUM"} <= set(names_of(run("SHOW FUNCTIONS")))
    assert names_of(run("SHOW FUNCTIONS LIKE 'g%'")) == ["GREATEST", "g"]
    assert names_of(run("SHOW FUNCTIONS LIKE 'abs%'")) == ["ABS"]
    for name in ("`abs`", "`SUM`"):
        described = run(f"DESCRIBE FUNCTION {name}")
        assert described is not None
        assert described.rows == (("is system function", "true"), ("is temporary", "false"))
    with pytest.raises(CatalogError, match="UPER") as missing:
        run("DESCRIBE FUNCTION UPER")
    assert missing.value.hint is not None and "`UPPER`" in missing.value.hint
    with pytest.raises(UnsupportedError, match="a function in JAVA"):
        run("CREATE FUNCTION j AS 'a.B'")


def test_if_exists(run: Run) -> None:
    run(
        """
        DROP TABLE IF EXISTS t; DROP TEMPORARY VIEW IF EXISTS t; DROP FUNCTION IF EXISTS f;
        DROP DATABASE IF EXISTS d; DROP CATALOG IF EXISTS c; ALTER TABLE IF EXISTS t RENAME TO u;
        CREATE TABLE t (a INT); CREATE TABLE IF NOT EXISTS t (b INT);
        CREATE DATABASE IF NOT EXISTS default_database
        """
    )
    assert names_of(run("DESCRIBE t")) == ["a"]


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("CREATE TABLE src (a INT)", "src` exists already", "IF NOT EXISTS"),
        (
            "CREATE TABLE nodb.t (a INT)",
            "database `default_catalog`.`nodb` does not exist",
            "there is `default_database`",
        ),
        ("CREATE TABLE noc.d.t (a INT)", "catalog `noc` does not exist", None),
        ("DESCRIBE scr", "`scr` does not exist", "did you mean `src`?"),
        ("DROP TABLE scr", "`scr` does not exist", "did you mean `src`?"),
        ("DROP VIEW src", "src` is a table", "DROP TABLE drops it"),
        ("DROP TEMPORARY TABLE src", "temporary table .*src` does not exist", None),
        ("SHOW CREATE VIEW src", "src` is a table", "SHOW CREATE TABLE"),
        ("SHOW TABLES FROM nope", "`nope` does not exist", None),
        ("USE nope", "`nope` does not exist", None),
        ("USE CATALOG nope", "`nope` does not exist", None),
        ("DROP DATABASE default_database", "is in use", None),
        ("DROP CATALOG default_catalog", "is in use", None),
        ("CREATE DATABASE d; CREATE TABLE d.t (a INT); DROP DATABASE d", "is not empty", "CASCADE"),
        (
            "CREATE DATABASE d; CREATE TABLE d.zzz (a INT); DESCRIBE zzz",
            "does not exist",
            "there is `d`.`zzz`",
        ),
        ("CREATE CATALOG c WITH ('type' = 'nope')", "no catalog of the type 'nope'", None),
        ("CREATE CATALOG c", "needs the option 'type'", None),
        ("DROP FUNCTION f", "function .* does not exist", None),
        ("CREATE VIEW v (a, b) AS SELECT 1", "2 columns, its query has 1", None),
        ("ALTER VIEW src RENAME TO x", "src` is a table", None),
        ("CREATE TEMPORARY TABLE t (a INT); ALTER TABLE t SET ('a' = 'b')", "is temporary", None),
        ("CREATE TABLE u (a INT); ALTER TABLE u RENAME TO src", "src` exists already", None),
    ],
)
def test_errors_say_what_is_near(run: Run, text: str, problem: str, hint: str | None) -> None:
    with pytest.raises(CatalogError, match=problem) as caught:
        run(text)
    if hint is not None:
        assert hint in str(caught.value.hint)
