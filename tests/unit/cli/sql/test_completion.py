"""What words can be completed to."""

from __future__ import annotations

import pytest

from headrace.cli.sql.completion import completions
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.catalog.objects import CatalogDatabase, CatalogTable
from headrace.sql.definitions import PhysicalColumn
from headrace.sql.types import INT


@pytest.fixture
def catalogs() -> CatalogManager:
    catalogs = CatalogManager()
    columns = tuple(PhysicalColumn(name, INT) for name in ("amount", "time", "a b"))
    catalogs.create_relation(("orders",), CatalogTable(columns))
    catalogs.create_database(("sales",), CatalogDatabase())
    catalogs.create_relation(("sales", "order items"), CatalogTable(columns))
    return catalogs


@pytest.mark.parametrize(
    ("before", "word", "after", "found"),
    [
        ("", "SEL", "", ["SELECT"]),
        ("", "sel", "", ["select"]),
        ("SELECT a ", "FR", "", ["FROM"]),
        ("SELECT * FROM ", "ord", "", ["orders"]),
        ("SELECT * FROM ", "sa", "", ["sales."]),
        ("SELECT * FROM ", "sales.", "", ["sales.`order items`"]),
        ("SELECT * FROM ", "default_catalog.s", "", ["default_catalog.sales."]),
        ("SELECT ", "am", " FROM orders", ["amount"]),
        ("SELECT ", "`", " FROM orders", ["`time`", "`a b`"]),
        ("SELECT o.amount FROM orders AS o WHERE ", "o.am", "", ["o.amount"]),
        ("SELECT zz.amount FROM orders zz WHERE ", "z", "", ["zz."]),
        ("SELECT ", "CHAR_L", "", ["CHAR_LENGTH("]),
        ("SELECT ", "LISTA", "", ["LISTAGG("]),
        ("DESCRIBE ", "o", "", ["orders"]),
        ("INSERT INTO ", "o", "", ["orders"]),
        ("USE ", "s", "", ["sales"]),
        ("USE CATALOG ", "d", "", ["default_catalog"]),
        ("DROP DATABASE ", "s", "", ["sales"]),
        ("SELECT amount ", "o", " FROM orders", ["order", "offset"]),
        ("SET '", "table.dml", "", ["table.dml-sync"]),
        ("SELCT a ", "FR", "", []),
        ("SELECT 1; SHO", "", "", []),
    ],
)
def test_words_and_names(
    catalogs: CatalogManager, before: str, word: str, after: str, found: list[str]
) -> None:
    offered = completions(before, word, after, catalogs)
    if word == "`":
        offered = [each for each in offered if each.startswith("`")]
    assert offered == found
