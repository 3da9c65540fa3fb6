"""Tables that are changed, with the answers of Flink 2.3."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from headrace.errors import CatalogError
from headrace.sql.catalog.listing import Listing
from headrace.sql.catalog.manager import CatalogManager
from headrace.sql.types import BIGINT

Run = Callable[[str], Listing | None]


@pytest.fixture
def table(run: Run) -> None:
    run(
        "CREATE TABLE t (a INT NOT NULL, b STRING, g TIMESTAMP_LTZ(3)) PARTITIONED BY (b)"
        " WITH ('connector' = 'z')"
    )


def columns(manager: CatalogManager) -> list[str]:
    return [each.name for each in manager.table(("t",)).columns]


@pytest.mark.usefixtures("table")
def test_columns(run: Run, manager: CatalogManager) -> None:
    run("ALTER TABLE t RENAME a TO a2; ALTER TABLE t ADD (z INT FIRST, y AS a2 + 1 AFTER z)")
    assert columns(manager) == ["z", "y", "a2", "b", "g"]
    run("ALTER TABLE t MODIFY z BIGINT COMMENT 'c' AFTER y")
    assert columns(manager) == ["y", "z", "a2", "b", "g"]
    changed = manager.table(("t",)).column("z")
    assert changed is not None and changed.comment == "c"
    run("ALTER TABLE t DROP (y, a2)")
    assert columns(manager) == ["z", "b", "g"]


@pytest.mark.usefixtures("table")
def test_key_and_watermark(run: Run, manager: CatalogManager) -> None:
    run("ALTER TABLE t ADD (k BIGINT, PRIMARY KEY (k) NOT ENFORCED, WATERMARK FOR g AS g)")
    table = manager.table(("t",))
    assert table.primary_key is not None and table.primary_key.name == "PK_k"
    assert table.columns[-1].type == BIGINT.with_nullable(False)  # type: ignore[union-attr]
    run("ALTER TABLE t MODIFY WATERMARK FOR g AS g - INTERVAL '1' SECOND")
    watermark = manager.table(("t",)).watermark
    assert watermark is not None and watermark.text == "g - INTERVAL '1' SECOND"
    run("ALTER TABLE t DROP WATERMARK; ALTER TABLE t DROP CONSTRAINT PK_k")
    table = manager.table(("t",))
    assert (table.watermark, table.primary_key) == (None, None)


@pytest.mark.usefixtures("table")
def test_options(run: Run, manager: CatalogManager) -> None:
    run("ALTER TABLE t SET ('p' = 'q', 'connector' = 'w')")
    assert manager.table(("t",)).options == (("connector", "w"), ("p", "q"))
    run("ALTER TABLE t RESET ('p', 'nope')")
    assert manager.table(("t",)).options == (("connector", "w"),)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("RENAME nope TO x", "`nope` is not in the table"),
        ("RENAME a TO b", "has a column `b` already"),
        ("ADD b INT", "has a column `b` already"),
        ("ADD q INT AFTER nope", "`nope` is not in the table"),
        ("MODIFY nope INT", "`nope` is not in the table"),
        ("DROP PRIMARY KEY", "no primary key"),
        ("DROP WATERMARK", "no watermark"),
        ("DROP DISTRIBUTION", "no distribution"),
        ("MODIFY WATERMARK FOR g AS g", "no watermark"),
        ("DROP b", "`b` is used by PARTITIONED BY"),
        ("DROP (a, a)", "dropped twice"),
        ("RESET ('connector')", "'connector' cannot be reset"),
    ],
)
def test_what_is_refused(run: Run, text: str, problem: str) -> None:
    with pytest.raises(CatalogError, match=problem):
        run(f"ALTER TABLE t {text}")


@pytest.mark.usefixtures("table")
def test_used_columns_stay(run: Run) -> None:
    run("ALTER TABLE t ADD (y AS a + 1, PRIMARY KEY (a) NOT ENFORCED, WATERMARK FOR g AS g)")
    for name, user in (("a", "the computed column `y`"), ("g", "the watermark")):
        with pytest.raises(CatalogError, match=f"`{name}` is used by {user}"):
            run(f"ALTER TABLE t DROP {name}")
    run("ALTER TABLE t DROP y")
    with pytest.raises(CatalogError, match="used by the primary key"):
        run("ALTER TABLE t DROP a")
    with pytest.raises(CatalogError, match="has a primary key already"):
        run("ALTER TABLE t ADD PRIMARY KEY (a) NOT ENFORCED")
