"""Catalogs by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.errors import CatalogError
from headrace.sql.catalog.memory import Catalog, MemoryCatalog
from headrace.sql.catalog.objects import CatalogDescription
from headrace.sql.catalog.registry import CatalogRegistry
from headrace.sql.catalog.store import FileCatalogStore
from headrace.sql.definitions import Options

SHOP = CatalogDescription((("type", "mine"),))


def test_a_stored_catalog_is_opened_when_it_is_first_named(tmp_path: Path) -> None:
    opened: list[str] = []

    def open_mine(name: str, options: Options) -> Catalog:
        opened.append(name)
        return MemoryCatalog("d")

    store = FileCatalogStore(str(tmp_path))
    CatalogRegistry(open_mine, store).create("shop", SHOP)
    later = CatalogRegistry(open_mine, store)
    assert opened == ["shop"]
    assert later.names() == ["shop"]
    assert later.description("shop") == SHOP
    assert opened == ["shop"]
    assert later.find("shop") is later.catalog("shop")
    assert opened == ["shop", "shop"]


def test_a_catalog_that_is_out_of_reach_leaves_the_others(tmp_path: Path) -> None:
    def refuse(name: str, options: Options) -> Catalog:
        raise CatalogError("out of reach")

    store = FileCatalogStore(str(tmp_path))
    store.put("shop", SHOP)
    registry = CatalogRegistry(refuse, store)
    registry.register("other", MemoryCatalog("d"))
    assert registry.names() == ["other", "shop"]
    with pytest.raises(CatalogError, match="out of reach"):
        registry.catalog("shop")
    registry.drop("shop")
    assert store.names() == []


@pytest.mark.parametrize("name", ["shop", "other"])
def test_a_name_is_that_of_one_catalog(tmp_path: Path, name: str) -> None:
    store = FileCatalogStore(str(tmp_path))
    store.put("shop", SHOP)
    registry = CatalogRegistry(store=store)
    registry.register("other", MemoryCatalog("d"))
    with pytest.raises(CatalogError, match="exists already"):
        registry.create(name, SHOP)
    registry.create(name, SHOP, if_not_exists=True)
