"""Definitions of catalogs that later sessions have."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headrace.errors import CatalogError
from headrace.sql.catalog.objects import CatalogDescription
from headrace.sql.catalog.registry import CatalogRegistry
from headrace.sql.catalog.store import FileCatalogStore

OPTIONS = (("path", "/x y/c.sql"), ("type", "file"))


def test_a_catalog_is_there_in_the_next_session(tmp_path: Path) -> None:
    shop = CatalogDescription((("type", "file"), ("path", f"{tmp_path}/c.sql")), "the 'shop'\n")
    other = CatalogDescription((("type", "generic_in_memory"),))
    first = CatalogRegistry(store=FileCatalogStore(f"{tmp_path}/store"))
    first.create("shop", shop)
    first.create("other", other)
    second = CatalogRegistry(store=FileCatalogStore(f"{tmp_path}/store"))
    assert second.names() == ["other", "shop"]
    assert second.description("shop") == shop
    changed = CatalogDescription((*other.options, ("default-database", "d")), "changed")
    second.alter("other", changed)
    assert (
        CatalogRegistry(store=FileCatalogStore(f"{tmp_path}/store")).description("other") == changed
    )
    second.drop("other")
    third = CatalogRegistry(store=FileCatalogStore(f"{tmp_path}/store"))
    assert third.names() == ["shop"]
    assert third.catalog("shop").default_database == "default"


def test_a_catalog_that_cannot_be_opened_is_not_stored(tmp_path: Path) -> None:
    store = FileCatalogStore(str(tmp_path))
    with pytest.raises(CatalogError):
        CatalogRegistry(store=store).create("c", CatalogDescription((("type", "unknown"),)))
    assert store.names() == []


def test_a_file_of_flink_is_read(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(
        "# of Flink\ntype: generic_in_memory\n'default-database': 'd''s'\n"
    )
    store = FileCatalogStore(f"file://{tmp_path}")
    read = store.read("c")
    assert read.options == (("type", "generic_in_memory"), ("default-database", "d's"))
    assert read.comment is None


@pytest.mark.parametrize("line", ["type", 'type: "open', "type:file"])
def test_a_damaged_file_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "c.yaml").write_text(f'"a": "b"\n{line}\n')
    with pytest.raises(CatalogError, match="'c' cannot be read: line 2") as refused:
        CatalogRegistry(store=FileCatalogStore(str(tmp_path)))
    assert str(tmp_path / "c.yaml") in str(refused.value)


@given(
    st.dictionaries(st.text(min_size=1, max_size=5), st.text(max_size=8), max_size=4),
    st.none() | st.text(),
)
@example({": ": "", '"a: ': ": b"}, None)
def test_options_and_comment_come_back(
    tmp_path_factory: pytest.TempPathFactory, given: dict[str, str], comment: str | None
) -> None:
    store = FileCatalogStore(str(tmp_path_factory.mktemp("store")))
    catalog = CatalogDescription(tuple(given.items()), comment)
    store.put("a/ü .b", catalog)
    assert store.names() == ["a/ü .b"]
    assert store.read("a/ü .b") == catalog
