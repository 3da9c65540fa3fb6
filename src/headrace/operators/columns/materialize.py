"""Rows by the primary key of a sink, where rows of several keys of the query have the same one.

All rows of a primary key are kept in the order of their changes, and the sink has the last one. As
it is retracted, the sink gets the previous one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.columns.gathering import (
    DELETE,
    INSERT,
    UPDATE_AFTER,
    retracted,
)
from headrace.operators.columns.keyed_value import KeyedValueOperator
from headrace.runtime.operator import Operator, OperatorSpec, Traits
from headrace.runtime.state.kinds import RESERVED_NAMES

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "rows"
"""The state of a primary key: its rows."""


@dataclass(frozen=True)
class UpsertMaterializerSpec(OperatorSpec):
    """``schema``: of the rows. ``upsert_key``: columns by which a later row replaces an earlier
    one; None: only equal rows are the same. ``ttl_ms``: how long the rows of a primary key are kept
    after their last change; 0: without end."""

    schema: Any
    upsert_key: tuple[str, ...] | None = None
    ttl_ms: int = 0
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "upsert-materializer"
    label = "SinkUpsertMaterializer"

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return upserts by the primary key."""
        return ChangelogMode.upsert()

    def build(self) -> Operator:
        return UpsertMaterializer(self)


class UpsertMaterializer(KeyedValueOperator):
    """Keeps the rows of each primary key as lists of values."""

    def __init__(self, spec: UpsertMaterializerSpec) -> None:
        super().__init__(spec.schema, SLOT, spec.ttl_ms, type_data("PICKLED_BYTE_ARRAY"))
        names = spec.schema.names
        key = spec.upsert_key
        self._key = [*range(len(names))] if key is None else [names.index(each) for each in key]
        self._replaces = key is not None

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        """Give the changes of the last row of each primary key."""
        if not len(columns):
            return
        kept: list[list[Any]] = [[*(self.load(key) or ())] for key in distinct]
        minus = retracted(columns)
        takes_back = [False] * len(columns) if minus is None else minus.tolist()
        values = [each.to_pylist() for each in columns.batch.columns]
        kinds, rows, changed = [], [], set[int]()
        for code, back, *row in zip(codes.tolist(), takes_back, *values, strict=True):
            place = self._find(kept[code], row) if back or self._replaces else None
            change: tuple[int, list[Any]] | None
            if not back:
                change = self._add(kept[code], place, row)
            elif place is not None:
                change = self._remove(kept[code], place, row)
            else:
                continue  # it never came, or has expired
            changed.add(code)
            if change is not None:
                kinds.append(change[0])
                rows.append(change[1])
        for code in changed:
            self.store(distinct[code], kept[code] or None)
        self._give(kinds, rows)

    def _add(self, kept: list[Any], place: int | None, row: list[Any]) -> tuple[int, list[Any]]:
        kind = UPDATE_AFTER if kept else INSERT
        if place is None:
            kept.append(row)
        else:
            kept[place] = row
        return kind, row

    def _remove(self, kept: list[Any], place: int, row: list[Any]) -> tuple[int, list[Any]] | None:
        del kept[place]
        if not kept:
            return DELETE, row
        return (UPDATE_AFTER, kept[-1]) if place == len(kept) else None

    def _find(self, kept: list[Any], row: list[Any]) -> int | None:
        """Return the place of the first row that is the same by the key."""
        key = [row[each] for each in self._key]
        for place, other in enumerate(kept):
            if [other[each] for each in self._key] == key:
                return place
        return None

    def _give(self, kinds: list[int], rows: list[list[Any]]) -> None:
        if not rows:
            return
        import numpy as np
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        fields = zip(zip(*rows, strict=True), self._schema, strict=True)
        arrays = [pa.array(values, field.type) for values, field in fields]
        made = pa.RecordBatch.from_arrays(arrays, schema=self._schema)
        self.outputs.columns(Columns(made, NAMED_ROWS, None, np.array(kinds, np.int8)))
