"""The table that a changelog makes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from headrace.common.types import Row, RowKind


class MaterializedRows:
    """The rows that are there after the changes so far, in order of arrival.

    The row of a +U takes the place of the row that its -U removed.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._rows: dict[int, Row] = {}
        self._places: dict[str, list[int]] = {}
        self._numbers = itertools.count()
        self._free: int | None = None
        self.changes = 0

    def __len__(self) -> int:
        return len(self._rows) - (self._free is not None)

    def add(self, row: Row) -> None:
        """Apply a change."""
        self.changes += 1
        match row.get_row_kind():
            case RowKind.INSERT:
                self._close()
                self._put(next(self._numbers), row)
            case RowKind.UPDATE_BEFORE:
                self._close()
                self._free = self._take(row)
            case RowKind.UPDATE_AFTER:
                place, self._free = self._free, None
                self._put(next(self._numbers) if place is None else place, row)
            case RowKind.DELETE:
                self._close()
                place = self._take(row)
                if place is not None:
                    del self._rows[place]

    def rows(self) -> list[Row]:
        """Return all rows."""
        return [row for place, row in self._rows.items() if place != self._free]

    def last(self, count: int) -> list[Row]:
        """Return the last rows."""
        places: Iterable[int] = (place for place in reversed(self._rows) if place != self._free)
        return [self._rows[place] for place in itertools.islice(places, count)][::-1]

    def _put(self, place: int, row: Row) -> None:
        self._rows[place] = row
        self._places.setdefault(repr(row._values), []).append(place)
        if len(self._rows) > self._limit:
            oldest = next(iter(self._rows))
            self._take(self._rows[oldest], oldest)
            del self._rows[oldest]

    def _take(self, row: Row, place: int | None = None) -> int | None:
        """Return the place of a row that equals this one: of the last, unless one is given.

        None: it is not here, as rows beyond the limit are dropped.
        """
        key = repr(row._values)
        places = self._places.get(key)
        if not places:
            return None
        found = places.pop() if place is None else places.pop(places.index(place))
        if not places:
            del self._places[key]
        return found

    def _close(self) -> None:
        """Remove the retracted row, because no +U follows."""
        if self._free is not None:
            del self._rows[self._free]
            self._free = None
