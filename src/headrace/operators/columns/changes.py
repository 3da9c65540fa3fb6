"""The changes that rows make in the results of GROUP BY, as rows with kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.gathering import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE
from headrace.operators.columns.vectors import VectorAggregates
from headrace.runtime.operator import Emits

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns


class ChangeShape(Protocol):
    """What changes look like: their key columns, all their fields, and whether -U is among them."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns."""

    @property
    def result(self) -> Any:
        """The Arrow schema of keys and results."""

    @property
    def updates_before(self) -> bool:
        """Whether a row that is replaced is given, too."""


class GroupShape(ChangeShape, Protocol):
    """What GROUP BY computes (see ``GroupAggregateSpec``)."""

    @property
    def aggregates(self) -> tuple[Aggregated, ...]:
        """The aggregates."""

    @property
    def schema(self) -> Any:
        """The Arrow schema of the input."""

    @property
    def folds(self) -> bool:
        """Whether only the last change of each key in a micro-batch is given."""

    @property
    def gets_partials(self) -> bool:
        """Whether senders pre-aggregate rows."""

    @property
    def emits(self) -> Emits:
        """Which results are given: each, or the last ones at the end of a batch."""

    @property
    def ttl_ms(self) -> int:
        """How long state is kept after its last change; 0: without end."""


def changed_rows(
    shape: ChangeShape,
    batch: Any,
    vectors: VectorAggregates,
    before: Sequence[np.ndarray[Any, Any]],
    after: Sequence[np.ndarray[Any, Any]],
    previous: np.ndarray[Any, Any],
    if_equal: bool = False,
) -> Columns | None:
    """Return the changes that rows make, in order.

    ``before``: the parts of each key before all rows; ``after``: those after each row.
    ``previous``: where the state before each row is among those of both, one after the other.
    ``if_equal``: whether results that a row does not change are given again.
    """
    import numpy as np
    import pyarrow as pa

    from headrace.runtime.columns.batch import Columns
    from headrace.runtime.columns.shapes import NAMED_ROWS

    parts = [np.concatenate(each) for each in zip(before, after, strict=True)]
    results = vectors.results(parts)
    count = len(previous)
    now = np.arange(count) + len(before[0])
    had, has = parts[0][previous] > 0, after[0] > 0
    differs = np.full(count, if_equal)
    for each in results:
        if differs.all():
            break
        differs |= _differ(each.take(pa.array(previous)), each.slice(len(before[0])))
    first = np.where(had & ~has, DELETE, np.where(had & has & differs, UPDATE_BEFORE, -1))
    second = np.where(~had & has, INSERT, np.where(had & has & differs, UPDATE_AFTER, -1))
    if not shape.updates_before:
        first = np.where(first == UPDATE_BEFORE, -1, first)
    kinds = np.stack([first, second], axis=1).ravel().astype(np.int8)
    places = np.stack([previous, now], axis=1).ravel()
    chosen = np.flatnonzero(kinds >= 0)
    if not len(chosen):
        return None
    rows, places = pa.array(chosen // 2), pa.array(places[chosen])
    arrays = [batch.column(key).take(rows) for key in shape.keys]
    arrays += [each.take(places) for each in results]
    made = pa.RecordBatch.from_arrays(arrays, schema=shape.result)
    return Columns(made, NAMED_ROWS, None, kinds[chosen])


def _differ(one: Any, other: Any) -> np.ndarray[Any, Any]:
    """Return where two arrays differ; NULLs are equal, and so are NaN."""
    import numpy as np
    import pyarrow.compute as pc

    equal = pc.fill_null(pc.equal(one, other), fill_value=False)
    both_null = pc.and_(one.is_null(), other.is_null())
    return ~np.asarray(pc.or_(equal, both_null))


class Changes:
    """The changes that the rows of a block make, in order.

    ``if_equal``: whether results that a row does not change are given again.
    """

    def __init__(self, updates_before: bool, if_equal: bool = False) -> None:
        self._updates_before, self._if_equal = updates_before, if_equal
        self.rows: list[int] = []
        self.kinds: list[int] = []
        self.results: list[list[Any]] = []

    def add(self, row: int, before: list[Any] | None, after: list[Any] | None) -> None:
        """Add what changes from the results ``before`` to those ``after`` a row of the input."""
        if before is None:
            if after is not None:
                self._append(row, INSERT, after)
        elif after is None:
            self._append(row, DELETE, before)
        elif self._if_equal or before != after:
            if self._updates_before:
                self._append(row, UPDATE_BEFORE, before)
            self._append(row, UPDATE_AFTER, after)

    def _append(self, row: int, kind: int, results: list[Any]) -> None:
        self.rows.append(row)
        self.kinds.append(kind)
        self.results.append(results)

    def columns(self, batch: Any, shape: ChangeShape) -> Columns:
        """Return the changes; each has the key of its row of ``batch``."""
        import numpy as np
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        places = pa.array(self.rows)
        arrays = [batch.column(key).take(places) for key in shape.keys]
        fields = [*shape.result][len(arrays) :]
        arrays += [
            pa.array([results[number] for results in self.results], field.type)
            for number, field in enumerate(fields)
        ]
        made = pa.RecordBatch.from_arrays(arrays, schema=shape.result)
        return Columns(made, NAMED_ROWS, None, np.array(self.kinds, np.int8))
