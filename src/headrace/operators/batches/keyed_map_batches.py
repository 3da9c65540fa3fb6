"""A function of record batches on a keyed stream: each batch has the records of one key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.operators.batches.map_batches import as_batch_function, timestamps_array
from headrace.operators.batches.records import (
    RecordBatchBuilder,
    insert_only_batch,
    untyped_records_error,
)
from headrace.operators.batches.results import ResultConverter
from headrace.operators.keyed import StatefulOperator
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.loops import Push
from headrace.runtime.operator import Operator, OperatorSpec, Outputs, Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.user_function import UserFunction


@dataclass(frozen=True)
class KeyedMapBatchesSpec(OperatorSpec):
    """``function(key, batch)`` returns batches and may use keyed state (see ``MapBatchesSpec``)."""

    function: UserFunction
    records: RecordBatchBuilder | None
    results: ResultConverter
    batch_size: int
    pandas: bool = False
    traits = Traits(keyed=True, state=True, takes_columns=True, gives_columns=True)
    kind = "keyed-map-batches"
    label = "MapBatches"

    def accepts(self, input: int) -> ChangelogMode | None:
        """Return inserts only: a batch has no row kinds."""
        return ChangelogMode.insert_only()

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts only."""
        return ChangelogMode.insert_only()

    def build(self) -> Operator:
        return KeyedMapBatchesOperator(self)


class KeyedMapBatchesOperator(StatefulOperator):
    """Sorts the records of a block by key, and calls the function for each key."""

    def __init__(self, spec: KeyedMapBatchesSpec) -> None:
        self._spec = spec

    def bind(self, outputs: Outputs) -> Push:
        self._outputs = outputs
        self._function = as_batch_function(self._spec.pandas, self._spec.function.as_callable())
        return self.reject_record

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        records, node = self._spec.records, self.node  # noqa: F841  for ``annotate``
        if records is None:
            raise untyped_records_error()
        positions: dict[Any, list[int]] = {}
        for position, key in enumerate(keys):
            positions.setdefault(key, []).append(position)
        order = [position for of_key in positions.values() for position in of_key]
        take = records.extract
        batch = records.batch([take(values[position]) for position in order])
        times = timestamps and timestamps_array([timestamps[position] for position in order])
        self._call_by_key(
            [(key, len(of_key)) for key, of_key in positions.items()], Columns(batch, times=times)
        )

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        import numpy as np

        codes = keys.codes
        found, counts = np.unique(codes, return_counts=True)
        by_key = columns.take(np.argsort(codes, kind="stable"))
        distinct = keys.distinct
        self._call_by_key(
            [(distinct[c], n) for c, n in zip(found.tolist(), counts.tolist(), strict=True)],
            by_key,
        )

    def _call_by_key(self, keys: Iterable[tuple[Any, int]], by_key: Columns) -> None:
        """Call the function for each key.

        ``by_key`` has the records sorted by key, ``keys`` their numbers.
        """
        node, key_context = self.node, self.key_context  # noqa: F841  for ``annotate``
        function, batch_size, results = self._function, self._spec.batch_size, self._spec.results
        outputs: list[Columns] = []
        rows = start = 0
        for key, count in keys:
            key_context.enter(key)
            for at in range(start, start + count, batch_size):
                columns = by_key[at : min(at + batch_size, start + count)]
                key_context.event_ms = columns.latest_ms()
                for result in results.convert(function(key, insert_only_batch(columns)), columns):
                    outputs.append(result)
                    rows += len(result)
            start += count
            if rows >= batch_size:
                self._emit(outputs)
                outputs, rows = [], 0
        self._emit(outputs)

    def _emit(self, outputs: list[Columns]) -> None:
        """Emit the results of several calls, as one batch if they have the same columns."""
        if not outputs:
            return
        if all(map(outputs[0].is_like, outputs)):
            self._outputs.columns(concatenate_columns(outputs))
            return
        for columns in outputs:
            self._outputs.columns(columns)

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Do nothing, because batch functions cannot set timers."""
