"""CREATE TABLE AS: what the catalog has after it, and after an error."""

from __future__ import annotations

import pytest

from headrace.common.configuration import Configuration
from headrace.errors import CatalogError, SqlValidationError, UnsupportedError
from headrace.sql import statements as parsed
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.parsing import parse_one
from headrace.table._planning.catalogs import catalogs_of
from headrace.table._planning.create_as import CreateTableAs
from headrace.table._planning.queries import Queries
from tests.unit.table._planning.plans import table

pytest.importorskip("sqlglot")

WITH = "WITH ('connector' = 'blackhole') AS SELECT 1 AS a"


@pytest.fixture
def catalogs() -> CatalogManager:
    return catalogs_of(Configuration(), "c", "d")


@pytest.fixture
def create_as(catalogs: CatalogManager) -> CreateTableAs:
    return CreateTableAs(catalogs, Queries(catalogs, Configuration()))


def statement(text: str) -> parsed.CreateTable:
    made = parse_one(text, "a test")
    assert isinstance(made, parsed.CreateTable)
    return made


def test_the_table_has_the_columns_of_the_query(
    create_as: CreateTableAs, catalogs: CatalogManager
) -> None:
    with create_as.created([statement(f"CREATE TABLE t {WITH}")]) as (insert,):
        assert insert.target.full_name == "c.d.t"
    assert [each.name for each in catalogs.table(("t",)).columns] == ["a"]


def test_after_an_error_there_is_no_table(
    create_as: CreateTableAs, catalogs: CatalogManager
) -> None:
    made = [statement(f"CREATE TABLE {name} {WITH}") for name in "tu"]
    with pytest.raises(ZeroDivisionError), create_as.created(made):
        assert catalogs.relations() == ["t", "u"]
        raise ZeroDivisionError
    assert catalogs.relations() == []


def test_after_an_error_a_table_is_what_it_was(
    create_as: CreateTableAs, catalogs: CatalogManager
) -> None:
    before = table()
    catalogs.create_relation(("t",), before)
    made = [statement(f"REPLACE TABLE t {WITH}")]
    with pytest.raises(ZeroDivisionError), create_as.created(made):
        assert catalogs.table(("t",)) != before
        raise ZeroDivisionError
    assert catalogs.table(("t",)) == before


def test_a_second_table_of_a_name_drops_the_first_one(
    create_as: CreateTableAs, catalogs: CatalogManager
) -> None:
    made = [statement(f"CREATE TABLE t {WITH}")] * 2
    with pytest.raises(CatalogError, match="exists"), create_as.created(made):
        pytest.fail("the second table was created")
    assert catalogs.relations() == []


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        (f"CREATE TEMPORARY TABLE t {WITH}", UnsupportedError, "TEMPORARY"),
        (f"REPLACE TABLE t {WITH}", CatalogError, "no table `c`.`d`.`t` to replace"),
        (
            "CREATE TABLE t WITH ('connector' = 'blackhole') AS SELECT b FROM (VALUES (1)) AS x(a)",
            SqlValidationError,
            "b",
        ),
    ],
)
def test_what_is_wrong_is_refused_before_a_table_is_made(
    create_as: CreateTableAs, text: str, kind: type[Exception], problem: str
) -> None:
    with pytest.raises(kind, match=problem):
        create_as.check(statement(text))
