"""ORDER BY a time attribute in a stream: rows wait until no earlier one can come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.operators.columns.gathering import KeyedColumnOperator
from headrace.operators.columns.sort import SortKeys, sorted_rows
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import (
    NodeProgram,
    Operator,
    OperatorSpec,
    Traits,
)
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES, VALUE

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

SLOT = RESERVED_NAMES + "waiting"
"""The state of a key: the time of the last row given, that of the next timer, and the rows."""


@dataclass(frozen=True)
class TimeSortSpec(OperatorSpec):
    """Rows with one key in the order of ``keys``; the first key is the time of the rows.

    A row that is not after those given before is late: it is dropped and counted.
    """

    keys: SortKeys
    schema: Any
    traits = Traits(
        keyed=True,
        state=True,
        event_timers=True,
        event_time=True,
        takes_columns=True,
        gives_columns=True,
    )
    kind = "time-sort"
    label = "TimeSort"

    def accepts(self, input: int) -> ChangelogMode | None:
        """Return inserts: a retraction would not be in order."""
        return ChangelogMode.insert_only()

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts."""
        return ChangelogMode.insert_only()

    def build(self) -> Operator:
        return TimeSortOperator(self)


class TimeSortOperator(KeyedColumnOperator):
    """Keeps the rows that the watermark has not reached."""

    def __init__(self, spec: TimeSortSpec) -> None:
        super().__init__(spec.schema)
        self._spec = spec

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "rows to sort have a key"
        context.states.declare(SLOT, VALUE, type_data("PICKLED_BYTE_ARRAY"))
        self._late = context.get_metrics_group().counter("numLateRecordsDropped")

    def take(self, columns: Columns, codes: np.ndarray[Any, Any], distinct: list[Any]) -> None:
        import numpy as np

        for code, key in enumerate(distinct):
            rows = columns.take(np.flatnonzero(codes == code))
            last, timer, waiting = self._state(key)
            times = self._times(rows)
            in_time = np.flatnonzero(times > last)
            if len(in_time) < len(rows):
                self._late.inc(len(rows) - len(in_time))
            if len(in_time):
                self._keep(key, last, timer, [*waiting, rows.take(in_time)])

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Give the rows that the watermark has reached."""
        import numpy as np

        from headrace.runtime.columns.batch import concatenate_columns

        last, _, waiting = self._state(timer.key)
        if not waiting:
            return  # an earlier timer has given them
        rows = concatenate_columns(waiting)
        due = self._times(rows) <= self.key_context.watermark
        given = rows.take(np.flatnonzero(due))
        if len(given):
            last = int(self._times(given).max())
            self.outputs.columns(sorted_rows([given], self._spec.keys, 0, None))
        left = rows.take(np.flatnonzero(~due))
        self._keep(timer.key, last, None, [left] if len(left) else [])

    def _keep(self, key: Any, last: int, timer: int | None, waiting: list[Columns]) -> None:
        """Store the rows that wait, and set a timer for the first of them."""
        from headrace.runtime.columns.batch import concatenate_columns

        backend = self.key_context.backend
        if waiting:
            first = min(int(self._times(rows).min()) for rows in waiting)
            if timer is None or first < timer:
                backend.event_timers.register(Timer(first, key))
                timer = first
            waiting = [concatenate_columns(waiting)]
        backend.enter(key)[SLOT] = (last, timer, waiting)
        backend.changed(key)

    def _state(self, key: Any) -> tuple[int, int | None, list[Columns]]:
        stored: tuple[int, int | None, list[Columns]] = self.key_context.backend.enter(key).get(
            SLOT, (MIN_WATERMARK, None, [])
        )
        last, timer, waiting = stored
        return last, timer, [*map(self._with_names, waiting)]

    def _with_names(self, rows: Columns) -> Columns:
        """Return rows with the column names of this program; stored rows may have older names."""
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns

        schema = self._spec.schema
        if rows.batch.schema.names == schema.names:
            return rows
        batch = pa.RecordBatch.from_arrays(rows.batch.columns, schema=schema)
        return Columns(batch, rows.shape, rows.times, rows.kinds)

    def _times(self, rows: Columns) -> np.ndarray[Any, Any]:
        import numpy as np

        timed = rows.with_times_of_column(self._spec.keys[0][0])
        assert timed is not None, "a time attribute has no NULL"
        return np.asarray(timed.times)
