"""Aggregation by key and session: windows that end when a key has had no rows for some time.

All sessions of a key are one value of its state, with one timer, as in the sessions of streams
(``operators/windows/sessions.py``). The rows of a block become partial sessions first, on arrays
where the aggregates allow it and no row can be late.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.common._types.data import type_data
from headrace.common.changelog_mode import ChangelogMode
from headrace.common.watermark_strategy import MAX_WATERMARK
from headrace.operators.columns.accumulator import Aggregated
from headrace.operators.columns.aggregate_spec import AggregatesSpec
from headrace.operators.columns.gathering import KeyedColumnOperator, retracted
from headrace.operators.columns.group_rows import argument_rows
from headrace.operators.columns.vectors import VectorAggregates
from headrace.operators.columns.window_contents import Border, border_arrays, key_arrays
from headrace.operators.columns.window_time import WindowTime, kind_of_windows, traits_of_windows
from headrace.operators.columns.window_zones import LocalTime
from headrace.operators.windows.general.operator import LATE_COUNTER
from headrace.operators.windows.sessions import SESSIONS
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram, Operator, PushWatermark, Traits
from headrace.runtime.state.backend import Timer
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import VALUE

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

Session = tuple[int, int, list[Any]]
"""Start, end (ms, exclusive), and the state: the number of rows, and that of each accumulator."""


@dataclass(frozen=True)
class SessionAggregateSpec(AggregatesSpec):
    """``schema``: of the input; ``result``: of keys, results and ``borders``. ``local``: sessions
    of local time. ``retracts``: whether the input may have retractions. ``processing_time``: the
    time of a row is that of the micro-batch in which it comes."""

    keys: tuple[str, ...]
    gap_ms: int
    aggregates: tuple[Aggregated, ...]
    schema: Any
    result: Any
    borders: tuple[Border, ...]
    retracts: bool = False
    local: LocalTime | None = None
    processing_time: bool = False
    label = "SessionAggregate"

    @cached_property
    def traits(self) -> Traits:  # type: ignore[override]
        """The timers are of event time or of processing time."""
        return traits_of_windows(self.processing_time, timers=True)

    @cached_property
    def kind(self) -> str:  # type: ignore[override]
        """The operator's kind in checkpoints."""
        return kind_of_windows("session-aggregate", self.processing_time)

    def gives(self, inputs: Sequence[ChangelogMode | None]) -> ChangelogMode | None:
        """Return inserts."""
        return ChangelogMode.insert_only()

    def build(self) -> Operator:
        return SessionAggregateOperator(self)


class SessionAggregateOperator(KeyedColumnOperator):
    """Gives the sessions that have ended with each watermark."""

    def __init__(self, spec: SessionAggregateSpec) -> None:
        super().__init__(spec.schema)
        self._spec, self._gap_ms, self._local = spec, spec.gap_ms, spec.local
        self._time = WindowTime(spec.processing_time, spec.local)
        self._accumulators = [each.accumulator for each in spec.aggregates]
        vectors = VectorAggregates.of(spec.aggregates, spec.schema, spec.retracts)
        self._vectors = None if spec.retracts else vectors
        self._ended: list[tuple[Any, Session]] = []

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "sessions are keyed"
        context.states.declare(SESSIONS, VALUE, type_data("PICKLED_BYTE_ARRAY"))
        self._late = context.get_metrics_group().counter(LATE_COUNTER)

    def restore(self, state: Any | None) -> None:
        """Clear what a failed task run has left."""
        super().restore(state)
        self._ended.clear()

    # Rows

    def take(self, columns: Columns, codes: Array, distinct: list[Any]) -> None:
        """Add rows to the sessions of their keys."""
        if not len(columns):
            return
        times = self._time.of_rows(columns, self.key_context)
        if self._local is not None:
            times = self._local.of_moments(times)
        reached = self._time.reached(self.key_context)
        if self._vectors is None or int(times.min()) + self._gap_ms - 1 <= reached:
            found = self._sessions_of_rows(columns, codes, times)
        else:
            found = self._sessions_of_block(self._vectors, columns.batch, codes, times)
        for code, session in found:
            if not self._add(distinct[code], session, reached):
                self._late.inc()

    def _sessions_of_rows(
        self, columns: Columns, codes: Array, times: Array
    ) -> Iterable[tuple[int, Session]]:
        """Yield a session of each row: what is late depends on the rows before it."""
        values_of = argument_rows(columns.batch, self._spec.aggregates)
        minus = retracted(columns)
        for row, (code, time) in enumerate(zip(codes.tolist(), times.tolist(), strict=True)):
            retracts = minus is not None and bool(minus[row])
            state = [-1 if retracts else 1]
            for each, values in zip(self._accumulators, values_of(row), strict=True):
                zero = each.zero()
                if values is not None:
                    zero = (each.retract if retracts else each.add)(zero, values)
                state.append(zero)
            yield code, (time, time + self._gap_ms, state)

    def _sessions_of_block(
        self, vectors: VectorAggregates, batch: Any, codes: Array, times: Array
    ) -> Iterable[tuple[int, Session]]:
        """Return the sessions of all rows."""
        import numpy as np

        order = np.lexsort((times, codes))
        at, of = times[order], codes[order]
        begins = np.ones(len(at), bool)
        begins[1:] = (of[1:] != of[:-1]) | (at[1:] - at[:-1] > self._gap_ms)
        first = np.flatnonzero(begins)
        last = np.append(first[1:], len(at)) - 1
        numbers = np.empty(len(at), np.int64)
        numbers[order] = np.cumsum(begins) - 1
        parts = vectors.totals(
            numbers, vectors.contributions(batch, None), vectors.zeros(len(first))
        )
        starts, ends = at[first].tolist(), (at[last] + self._gap_ms).tolist()
        sessions = zip(starts, ends, vectors.store(parts), strict=True)
        return zip(of[first].tolist(), sessions, strict=True)  # type: ignore[arg-type]

    def _add(self, key: Any, session: Session, reached: int) -> bool:
        """Add a session to those of its key, with which it may merge; False: it is late."""
        backend = self.key_context.backend
        entry = backend.enter(key)
        due, sessions = entry.get(SESSIONS, (MAX_WATERMARK, ()))
        start, end, state = session
        touching = [one for one in sessions if start <= one[1] and one[0] <= end]
        if not touching and end - 1 <= reached:
            return False
        if touching:
            merged = self._merged([one[2] for one in touching], state)
            start = min(start, *(one[0] for one in touching))
            end = max(end, *(one[1] for one in touching))
            sessions = (*(one for one in sessions if one not in touching), (start, end, merged))
        else:
            sessions = (*sessions, session)
        first = self._time.due(end - 1)
        if not touching and first < due:
            due = first
            self._time.set_timer(due, key, self.key_context)
        entry[SESSIONS] = (due, sessions)
        backend.changed(key)
        return True

    def _merged(self, states: Sequence[list[Any]], added: list[Any]) -> list[Any]:
        merged, *others = states
        for other in (*others, added):
            parts = zip(self._accumulators, merged[1:], other[1:], strict=True)
            merged = [merged[0] + other[0], *(each.merge(a, b) for each, a, b in parts)]
        return merged

    # Time

    def fire_user_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Take the sessions of a key that have ended, and set a timer for the next one."""
        key, backend = timer.key, self.key_context.backend
        entry = backend.enter(key)
        stored = entry.get(SESSIONS)
        if stored is None or stored[0] > timer.time_ms:
            return  # an earlier session has set another timer
        reached = self._time.reached_by(timer)
        ended = [one for one in stored[1] if one[1] - 1 <= reached]
        self._ended += [(key, one) for one in sorted(ended, key=_end_of)]
        left = tuple(one for one in stored[1] if one[1] - 1 > reached)
        if left:
            due = self._time.due(min(map(_end_of, left)) - 1)
            self._time.set_timer(due, key, self.key_context)
            entry[SESSIONS] = (due, left)
        else:
            del entry[SESSIONS]
        backend.changed(key)

    def watermark(self, watermark: int, idle: bool, push_watermark: PushWatermark) -> None:
        """Give the sessions whose timers have fired, before the watermark."""
        self._give()
        push_watermark(watermark, idle)

    def complete(self) -> None:
        """Emit the changes that are left."""
        self._give()

    def _give(self) -> None:
        import numpy as np
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns
        from headrace.runtime.columns.shapes import NAMED_ROWS

        ended, self._ended = [one for one in self._ended if one[1][2][0] > 0], []
        if not ended:
            return
        spec = self._spec
        schema = spec.result
        starts = np.array([session[0] for _, session in ended], np.int64)
        ends = np.array([session[1] for _, session in ended], np.int64)
        times, stamps = self._times_of_results(ends)
        arrays = key_arrays([key for key, _ in ended], len(spec.keys), schema)
        for number, each in enumerate(self._accumulators, 1):
            results = [each.result(session[2][number]) for _, session in ended]
            arrays.append(pa.array(results, schema.field(len(arrays)).type))
        arrays += border_arrays(spec.borders, starts, ends, times, [*schema][len(arrays) :])
        made = pa.RecordBatch.from_arrays(arrays, schema=schema)
        self.outputs.columns(Columns(made, NAMED_ROWS, stamps))

    def _times_of_results(self, ends: Array) -> tuple[Array, Any | None]:
        """Return the times of sessions, and the timestamps of their rows."""
        import numpy as np
        import pyarrow as pa

        if self._spec.processing_time:
            return np.full(len(ends), self.key_context.now_ms, np.int64), None
        times = ends - 1 if self._local is None else self._local.to_moments(ends - 1)
        return times, pa.array(times)


def _end_of(session: Session) -> int:
    return session[1]
