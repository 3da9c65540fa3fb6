"""A source of values from the program itself."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common._storage.content_digest import content_digest
from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import Source, SplitEnumerator, SplitReader
from headrace.datastream.connectors._indexed import IndexedEnumerator, IndexedReader
from headrace.runtime.immutability import all_immutable, is_immutable


@dataclass(frozen=True)
class CollectionSource(Source):
    """The given values in order: one split; its position is the index of the next value."""

    values: tuple[Any, ...]
    type_info: Any = None

    @property
    def gives(self) -> ChangelogMode | None:
        """Of any: the values are the user's."""
        return None

    @property
    def kind(self) -> str:
        return "collection"

    @property
    def bounded(self) -> bool:
        """True: it ends after the last value."""
        return True

    @property
    def fingerprint(self) -> str | None:
        """A digest of the values, as a position is only valid for the same values."""
        return content_digest(self.values)

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return a new enumerator; it writes nothing."""
        values = self.values
        return IndexedEnumerator("collection", len(values), lambda start, end: values[start:end])

    def reader(self) -> SplitReader:
        """Return a new reader. The ranges contain the values, so the job gets copies of them."""
        return IndexedReader(
            lambda r, at, to: _copy_mutable(r.payload[at - r.start : to - r.start])
        )


def _copy_mutable(values: Sequence[Any]) -> list[Any]:
    """Return the values, copied unless they are immutable."""
    found = [*values]
    if all_immutable(found):
        return found
    return [value if is_immutable(value) else copy.deepcopy(value) for value in found]
