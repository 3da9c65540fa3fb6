"""What a sink does with rows that have the same primary key: ON CONFLICT."""

from __future__ import annotations

from typing import Any

import pytest

from headrace.common.changelog_mode import ChangelogMode
from headrace.errors import SqlValidationError, UnsupportedError
from headrace.sql.expressions import ColumnRef
from headrace.sql.rel import Aggregate, Calc, Column, Rel, Scan, Watermark, reference
from headrace.sql.rules.changelog import INSERTS
from headrace.sql.rules.conflicts import SinkChanges, sink_changes
from headrace.sql.types import INT, TimestampType

K, N, AT = Column("k", INT), Column("n", INT), Column("at", TimestampType(3))
SCAN = Scan(("c", "d", "t"), (K, N, AT))
TIMED = Watermark(SCAN, "at", ColumnRef(AT.type, "at"), SCAN.fields)
ALL, UPSERTS = ChangelogMode.all(), ChangelogMode.upsert()


def by_k(of: Rel) -> Rel:
    return Aggregate(of, ("k",), ())


def renamed(of: Rel) -> Rel:
    """Rows with a column that is not the key of the query."""
    return Calc(of, ("n",), (reference(N),))


def changes(rel: Rel, mode: ChangelogMode, action: Any, **more: Any) -> SinkChanges:
    given: dict[str, Any] = {
        "accepts": UPSERTS,
        "primary_key": ("k",),
        "materialize": "AUTO",
    } | more
    return sink_changes(
        rel,
        mode,
        given["accepts"],
        given["primary_key"],
        action,
        given["materialize"],
        "sink",
    )


@pytest.mark.parametrize("action", ["NOTHING", "ERROR"])
def test_conflicts_that_end_with_a_watermark_need_one_in_each_table(action: str) -> None:
    with pytest.raises(SqlValidationError, match=f"DO {action} needs a watermark in each") as error:
        changes(by_k(SCAN), ALL, action)
    assert "c.d.t" in str(error.value)


@pytest.mark.parametrize("action", ["NOTHING", "ERROR"])
@pytest.mark.parametrize(
    ("rel", "mode", "more"),
    [
        (by_k(TIMED), ALL, {"primary_key": ("n",)}),
        (TIMED, INSERTS, {}),
        (by_k(TIMED), ALL, {"materialize": "FORCE"}),
    ],
    ids=["another key", "rows that are only added", "FORCE"],
)
def test_what_keeps_the_first_row_is_refused(
    action: str, rel: Rel, mode: ChangelogMode, more: dict[str, Any]
) -> None:
    with pytest.raises(UnsupportedError, match=f"ON CONFLICT DO {action}"):
        changes(rel, mode, action, **more)


@pytest.mark.parametrize("action", [None, "NOTHING", "ERROR", "DEDUPLICATE"])
def test_there_is_no_conflict_if_the_query_has_the_primary_key(action: str | None) -> None:
    assert not changes(by_k(TIMED), ALL, action).materialized


def test_rows_of_other_keys_need_a_choice() -> None:
    with pytest.raises(SqlValidationError, match="an upsert key that differs"):
        changes(by_k(SCAN), ALL, None, primary_key=("n",))
    found = changes(by_k(SCAN), ALL, "DEDUPLICATE", primary_key=("n",))
    assert (found.materialized, found.upsert_key) == (True, ("k",))


def test_rows_that_are_only_added_replace_each_other() -> None:
    assert changes(SCAN, INSERTS, "DEDUPLICATE") == SinkChanges()


@pytest.mark.parametrize("accepts", [None, INSERTS])
@pytest.mark.parametrize("key", [(), ("k",)], ids=["no key", "a key"])
def test_a_table_that_takes_inserts_only_has_no_conflicts(
    accepts: ChangelogMode | None, key: tuple[str, ...]
) -> None:
    with pytest.raises(SqlValidationError, match="only for tables that take updates by key"):
        changes(SCAN, INSERTS, "DEDUPLICATE", accepts=accepts, primary_key=key)


def test_a_table_without_a_key_takes_all_changes() -> None:
    found = changes(by_k(TIMED), ALL, "NOTHING", accepts=None, primary_key=())
    assert found == SinkChanges()
