"""Which kinds of rows a stream has, and who can take them."""

from __future__ import annotations

import pickle

import pytest

from headrace.common.changelog_mode import ChangelogMode, union
from headrace.common.types import RowKind

INSERTS, UPSERTS, RETRACTIONS = (
    ChangelogMode.insert_only(),
    ChangelogMode.upsert(),
    ChangelogMode.all(),
)
ANYTHING_BY_KEY = ChangelogMode(frozenset(RowKind), by_key=True)
ADDED_AND_REMOVED = ChangelogMode(frozenset({RowKind.INSERT, RowKind.DELETE}))


@pytest.mark.parametrize(
    ("given", "fitting"),
    [
        (INSERTS, {INSERTS, UPSERTS, RETRACTIONS, ANYTHING_BY_KEY, ADDED_AND_REMOVED}),
        (ADDED_AND_REMOVED, {UPSERTS, RETRACTIONS, ANYTHING_BY_KEY, ADDED_AND_REMOVED}),
        (UPSERTS, {UPSERTS, ANYTHING_BY_KEY}),
        (RETRACTIONS, {RETRACTIONS, ANYTHING_BY_KEY}),
        (ANYTHING_BY_KEY, {ANYTHING_BY_KEY}),
    ],
    ids=["inserts", "added and removed", "upserts", "retractions", "anything by key"],
)
def test_what_fits(given: ChangelogMode, fitting: set[ChangelogMode]) -> None:
    """Who takes back rows by UPDATE_BEFORE cannot take upserts, which have none."""
    every = (INSERTS, UPSERTS, RETRACTIONS, ANYTHING_BY_KEY, ADDED_AND_REMOVED)
    assert {each for each in every if given.is_accepted_by(each)} == fitting
    assert given.is_accepted_by(None)


def test_a_mode_without_the_row_before_is_by_key() -> None:
    updates = ChangelogMode(frozenset({RowKind.INSERT, RowKind.UPDATE_AFTER}))
    assert updates.by_key and not RETRACTIONS.by_key and not INSERTS.by_key
    assert ChangelogMode(UPSERTS.kinds) == UPSERTS == pickle.loads(pickle.dumps(UPSERTS))


def test_updates_are_no_deletions() -> None:
    updates = ChangelogMode.updates()
    assert updates.kind_codes == "I,UB,UA" and not updates.by_key
    by_key = updates.without_updates_before()
    assert by_key.kind_codes == "I,UA" and by_key.by_key
    assert updates.is_accepted_by(RETRACTIONS) and not by_key.is_accepted_by(RETRACTIONS)
    assert RETRACTIONS.without_updates_before() == UPSERTS


def test_several_streams_in_one() -> None:
    assert union([INSERTS, INSERTS]) == INSERTS
    assert union([INSERTS, UPSERTS]) == UPSERTS
    assert union([INSERTS, RETRACTIONS]) == RETRACTIONS
    assert union([RETRACTIONS, UPSERTS]) == ANYTHING_BY_KEY
    assert union([RETRACTIONS, None]) is None


def test_modes_as_text() -> None:
    assert [each.kind_codes for each in (INSERTS, UPSERTS, RETRACTIONS)] == [
        "I",
        "I,UA,D",
        "I,UB,UA,D",
    ]
    assert str(INSERTS) == "INSERT (inserts only)"
    assert str(UPSERTS) == "INSERT, UPDATE_AFTER, DELETE (upserts by key)"
    assert str(RETRACTIONS) == "INSERT, UPDATE_BEFORE, UPDATE_AFTER, DELETE (retractions)"
