"""What is shown and changed of catalogs themselves, with the answers of Flink 2.3."""

from __future__ import annotations

import pytest

from headrace.errors import CatalogError
from headrace.sql.catalog.manager import CatalogManager
from tests.unit.sql.catalog.conftest import Run

CREATE = (
    "CREATE CATALOG c COMMENT 'the ''c''' WITH"
    " ('type' = 'generic_in_memory', 'default-database' = 'db')"
)


def rows(run: Run, text: str) -> list[tuple[object, ...]]:
    found = run(text)
    assert found is not None
    return list(found.rows)


def test_show_create_catalog(run: Run) -> None:
    run(CREATE)
    assert rows(run, "SHOW CREATE CATALOG c") == [
        (
            "CREATE CATALOG `c`\nCOMMENT 'the ''c'''\nWITH (\n"
            "  'default-database' = 'db',\n  'type' = 'generic_in_memory'\n)\n",
        )
    ]


def test_describe_catalog(run: Run) -> None:
    run(f"{CREATE}; CREATE CATALOG d WITH ('type' = 'generic_in_memory')")
    named = [("name", "c"), ("type", "generic_in_memory"), ("comment", "the 'c'")]
    assert rows(run, "DESC CATALOG c") == named
    assert rows(run, "DESCRIBE CATALOG EXTENDED c") == [*named, ("option:default-database", "db")]
    assert rows(run, "DESCRIBE CATALOG d")[-1] == ("comment", None)


def test_alter_catalog(run: Run, manager: CatalogManager) -> None:
    run(f"{CREATE}; ALTER CATALOG c SET ('default-database' = 'other')")
    assert manager.databases("c") == ["other"]
    run("ALTER CATALOG c RESET ('default-database', 'nope'); ALTER CATALOG c SET ()")
    assert manager.databases("c") == ["default"]
    run("CREATE TABLE c.`default`.t (a INT); ALTER CATALOG c COMMENT 'new'")
    assert manager.relations(("c", "default")) == ["t"]
    assert rows(run, "DESCRIBE CATALOG EXTENDED c")[1:] == [
        ("type", "generic_in_memory"),
        ("comment", "new"),
    ]


def test_secrets_of_catalogs_are_hidden(manager: CatalogManager, run: Run) -> None:
    from headrace.sql.catalog.memory import MemoryCatalog
    from headrace.sql.catalog.objects import CatalogDescription

    secret = CatalogDescription((("type", "x"), ("db.Password", "hunter")))
    manager.registry.register("c", MemoryCatalog(), secret)
    assert "'db.Password' = '****'" in rows(run, "SHOW CREATE CATALOG c")[0][0]
    assert ("option:db.Password", "****") in rows(run, "DESCRIBE CATALOG EXTENDED c")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("ALTER CATALOG c RESET ('type')", "does not change 'type'"),
        ("ALTER CATALOG c SET ('type' = 'file')", "does not change 'type'"),
        ("ALTER CATALOG c SET ('nope' = '1')", "does not have the option 'nope'"),
        ("ALTER CATALOG nope COMMENT 'x'", "the catalog `nope` does not exist"),
        ("SHOW CREATE CATALOG nope", "the catalog `nope` does not exist"),
        ("DESCRIBE CATALOG default_catalog", "was not created by CREATE CATALOG"),
        ("SHOW DATABASES FROM c.db", "is not the name of a catalog"),
    ],
)
def test_what_is_refused(run: Run, text: str, problem: str) -> None:
    run(CREATE)
    with pytest.raises(CatalogError, match=problem):
        run(text)
    assert rows(run, "DESCRIBE CATALOG EXTENDED c")[-1] == ("option:default-database", "db")


def test_the_default_catalog_is_dropped(run: Run) -> None:
    run(f"{CREATE}; USE CATALOG c; DROP CATALOG default_catalog")
    assert rows(run, "SHOW CATALOGS") == [("c",)]


def test_what_there_is_none_of(run: Run) -> None:
    assert rows(run, "SHOW MODULES") == [("core",)]
    assert rows(run, "SHOW FULL MODULES") == [("core", True)]
    assert rows(run, "SHOW JARS") == rows(run, "SHOW MODELS") == []
    assert rows(run, "SHOW MATERIALIZED TABLES") == []
