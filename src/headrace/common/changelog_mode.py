"""``ChangelogMode``: which kinds of rows a stream has, and which an operator or a sink takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.common.types import RowKind

_ALL = frozenset(RowKind)


@dataclass(frozen=True)
class ChangelogMode:
    """Which kinds of rows a stream may have, as Flink's class of the name.

    ``by_key``: an UPDATE_AFTER may come without its UPDATE_BEFORE, and replaces the row of its key.
    It is always so where ``kinds`` have no UPDATE_BEFORE. Where it is not so, each UPDATE_AFTER
    comes after an UPDATE_BEFORE, which takes the older row back.

    Where a mode is declared by nobody, None stands for it: the stream may have any kinds.
    """

    kinds: frozenset[RowKind]
    by_key: bool = False

    def __post_init__(self) -> None:
        if RowKind.UPDATE_AFTER in self.kinds and RowKind.UPDATE_BEFORE not in self.kinds:
            object.__setattr__(self, "by_key", True)

    @staticmethod
    def insert_only() -> ChangelogMode:
        """Rows are added only."""
        return _INSERT_ONLY

    @staticmethod
    def upsert() -> ChangelogMode:
        """A row replaces that of its key, or removes it: no UPDATE_BEFORE."""
        return _UPSERT

    @staticmethod
    def all() -> ChangelogMode:
        """Rows are added and taken back: retractions."""
        return _RETRACTIONS

    def is_accepted_by(self, accepted: ChangelogMode | None) -> bool:
        """Whether who takes ``accepted`` can take a stream of this mode."""
        if accepted is None:
            return True
        return self.kinds <= accepted.kinds and (accepted.by_key or not self.by_key)

    @property
    def kind_codes(self) -> str:
        """The kinds as Flink's plans show them: ``I,UB,UA,D``."""
        return ",".join(_CODES[kind] for kind in RowKind if kind in self.kinds)

    def __str__(self) -> str:
        names = ", ".join(kind.name for kind in RowKind if kind in self.kinds)
        return f"{names} ({'upserts by key' if self.by_key else _described(self.kinds)})"


def union(modes: Iterable[ChangelogMode | None]) -> ChangelogMode | None:
    """The mode of several streams in one; None where one of them is declared by nobody."""
    kinds, by_key = frozenset[RowKind](), False
    for mode in modes:
        if mode is None:
            return None
        kinds, by_key = kinds | mode.kinds, by_key or mode.by_key
    return ChangelogMode(kinds, by_key)


def _described(kinds: frozenset[RowKind]) -> str:
    return "inserts only" if kinds == {RowKind.INSERT} else "retractions"


_INSERT_ONLY = ChangelogMode(frozenset({RowKind.INSERT}))
_UPSERT = ChangelogMode(_ALL - {RowKind.UPDATE_BEFORE})
_RETRACTIONS = ChangelogMode(_ALL)
_CODES = dict(zip(RowKind, ("I", "UB", "UA", "D"), strict=True))

__all__ = ["ChangelogMode", "union"]
