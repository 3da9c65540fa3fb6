"""``ChangelogMode``: the row kinds that a stream may have, or that an operator or sink accepts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.common.types import RowKind

_ALL = frozenset(RowKind)


@dataclass(frozen=True)
class ChangelogMode:
    """The row kinds that a stream may contain, as in Flink's class of this name.

    With ``by_key`` (upserts) an UPDATE_AFTER replaces the row of its key, and may come without an
    UPDATE_BEFORE. ``by_key`` is true whenever ``kinds`` lacks UPDATE_BEFORE. Otherwise each
    UPDATE_AFTER follows an UPDATE_BEFORE, which retracts the older row.

    Where a mode is optional, None means that no mode is declared: rows of any kind may come.
    """

    kinds: frozenset[RowKind]
    by_key: bool = False

    def __post_init__(self) -> None:
        if RowKind.UPDATE_AFTER in self.kinds and RowKind.UPDATE_BEFORE not in self.kinds:
            object.__setattr__(self, "by_key", True)

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Return the mode with INSERT only."""
        return _INSERT_ONLY

    @staticmethod
    def upsert() -> ChangelogMode:
        """Return the mode without UPDATE_BEFORE: a row replaces or deletes the row of its key."""
        return _UPSERT

    @staticmethod
    def all() -> ChangelogMode:
        """Return the mode with all four kinds: rows are inserted and retracted."""
        return _RETRACTIONS

    @staticmethod
    def updates() -> ChangelogMode:
        """Return the mode without DELETE: rows are inserted, and replaced by others."""
        return _UPDATES

    def without_updates_before(self) -> ChangelogMode:
        """Return the mode where an UPDATE_AFTER replaces the row of its key by itself."""
        return ChangelogMode(self.kinds - {RowKind.UPDATE_BEFORE})

    def is_accepted_by(self, accepted: ChangelogMode | None) -> bool:
        """Return whether an operator or sink that accepts ``accepted`` can read this mode."""
        if accepted is None:
            return True
        return self.kinds <= accepted.kinds and (accepted.by_key or not self.by_key)

    @property
    def kind_codes(self) -> str:
        """The kinds as codes, as in Flink's plans: ``I,UB,UA,D``."""
        return ",".join(_CODES[kind] for kind in RowKind if kind in self.kinds)

    def __str__(self) -> str:
        names = ", ".join(kind.name for kind in RowKind if kind in self.kinds)
        return f"{names} ({'upserts by key' if self.by_key else _describe_kinds(self.kinds)})"


def union(modes: Iterable[ChangelogMode | None]) -> ChangelogMode | None:
    """Return the mode of a union of streams; None if a stream has no declared mode."""
    kinds, by_key = frozenset[RowKind](), False
    for mode in modes:
        if mode is None:
            return None
        kinds, by_key = kinds | mode.kinds, by_key or mode.by_key
    return ChangelogMode(kinds, by_key)


def _describe_kinds(kinds: frozenset[RowKind]) -> str:
    return "inserts only" if kinds == {RowKind.INSERT} else "retractions"


_INSERT_ONLY = ChangelogMode(frozenset({RowKind.INSERT}))
_UPSERT = ChangelogMode(_ALL - {RowKind.UPDATE_BEFORE})
_RETRACTIONS = ChangelogMode(_ALL)
_UPDATES = ChangelogMode(_ALL - {RowKind.DELETE})
_CODES = dict(zip(RowKind, ("I", "UB", "UA", "D"), strict=True))

__all__ = ["ChangelogMode", "union"]
