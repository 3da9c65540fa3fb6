"""GROUP BY of aggregates over arrays."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any

from headrace.operators.columns.changes import Changes, GroupShape, changed_rows
from headrace.operators.columns.expiry import AddedTtl
from headrace.operators.columns.folding import BufferedPartials
from headrace.operators.columns.gathering import (
    KeyedColumnOperator,
    columns_of_rows,
    first_rows,
    last_rows,
    retracted,
)
from headrace.operators.columns.group_rows import RowAggregates, rows_of_keys
from headrace.operators.columns.partials import partial_schema, partials_of_rows, parts_of
from headrace.operators.columns.vectors import VectorAggregates
from headrace.runtime.columns.keys import ColumnKeys, distinct_keys
from headrace.runtime.context import TaskContext
from headrace.runtime.operator import NodeProgram
from headrace.runtime.state.backend import StateBackend, Timer, Values
from headrace.runtime.state.handles import KeyContext
from headrace.runtime.state.kinds import RESERVED_NAMES
from headrace.runtime.state.ttl import CLEANUP, Ttl

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

SLOT = RESERVED_NAMES + "parts"
"""The state of a key: its parts as bytes (``VectorAggregates.packed``)."""


class VectorGroupOperator(KeyedColumnOperator):
    """Keeps the parts of each key as bytes, which are read and written for a whole block."""

    def __init__(self, shape: GroupShape, vectors: VectorAggregates) -> None:
        partial = shape.gets_partials
        super().__init__(
            partial_schema(vectors, shape.schema, shape.keys) if partial else shape.schema
        )
        self._shape, self._vectors = shape, vectors
        self._ttl = Ttl(shape.ttl_ms) if shape.ttl_ms else None
        (self._none,) = vectors.packed(vectors.zeros(1))
        self._gives_each = shape.emits == "each" and not shape.folds
        self._buffered: BufferedPartials | None = None
        """What the micro-batch has brought, if only the last change of each key is given."""
        if shape.emits == "each" and shape.folds:
            self._buffered = BufferedPartials(vectors, shape.keys)

    def open(self, node: NodeProgram, context: TaskContext, key_context: KeyContext) -> None:
        super().open(node, context, key_context)
        assert context.states is not None, "an aggregate is keyed"
        self._added_ttl = AddedTtl(self._ttl, key_context)
        context.states.declare_only(SLOT, self._ttl is not None, self._added_ttl.evolution)

    def process_columns(self, keys: ColumnKeys, columns: Columns) -> None:
        if self._buffered is None:
            super().process_columns(keys, columns)
        else:
            self._buffer(self._buffered, columns)

    def process(
        self, keys: list[Any], values: list[Any], timestamps: list[int | None] | None
    ) -> None:
        if self._buffered is None:
            super().process(keys, values, timestamps)
        else:
            self._buffer(self._buffered, columns_of_rows(values, timestamps, self._schema))

    def _buffer(self, buffered: BufferedPartials, columns: Columns) -> None:
        batch = columns.batch
        if not self._shape.gets_partials:
            batch = partials_of_rows(self._vectors, batch, self._shape.keys, retracted(columns))
        buffered.add(batch)

    def take(self, columns: Columns, codes: Array, distinct: list[Any]) -> None:
        """Add and retract rows: all at once."""
        if not len(columns):
            return
        minus = retracted(columns)
        before = self._load(distinct)
        contributions = self._contributions(columns.batch, minus)
        if not self._gives_each:
            totals = self._vectors.totals(codes, contributions, before)
            if self._shape.gets_partials or minus is None or int(totals[0].min()) >= 0:
                self._store(distinct, totals)
            else:
                self._take_each(columns.batch, codes, minus, distinct, before)
            return
        after, previous = self._vectors.running(codes, contributions, before)
        if minus is not None and int(after[0].min()) < 0:
            self._take_each(columns.batch, codes, minus, distinct, before)
            return
        last = last_rows(codes, len(distinct))
        self._store(distinct, [array[last] for array in after])
        made = changed_rows(
            self._shape,
            columns.batch,
            self._vectors,
            before,
            after,
            previous,
            if_equal=self._ttl is not None,
        )
        if made is not None:
            self.outputs.columns(made)

    def _take_each(
        self, batch: Any, codes: Array, minus: Array, distinct: list[Any], before: Sequence[Array]
    ) -> None:
        """Take rows one by one: retractions of rows that were never added are ignored."""
        states = self._vectors.store(before)
        changes = Changes(self._shape.updates_before, bool(self._shape.ttl_ms))
        given = changes if self._gives_each else None
        RowAggregates(self._shape).take(batch, codes, minus, states, given)
        self._store(distinct, self._vectors.load(states))
        if changes.rows:
            self.outputs.columns(changes.columns(batch, self._shape))

    def _contributions(self, batch: Any, minus: Array | None) -> list[Array]:
        if self._shape.gets_partials:
            return parts_of(batch, self._vectors)
        return self._vectors.contributions(batch, minus)

    def _values(self) -> Values:
        values = self.key_context.values
        assert values is not None, "it has a single state"
        return values

    def _load(self, keys: Sequence[Any]) -> list[Array]:
        """Return the stored parts of keys."""
        ttl, none = self._ttl, self._none
        if ttl is None:
            return self._vectors.unpacked(self._values().read_all(keys, none))
        since = self.key_context.now_ms - ttl.ttl_ms
        stored = self._values().read_all(keys, (none, since))
        return self._vectors.unpacked([none if at <= since else packed for packed, at in stored])

    def _store(self, keys: Sequence[Any], parts: Sequence[Array]) -> None:
        """Store the parts of keys; a key without rows has none."""
        import numpy as np

        values = self._values()
        gone = np.flatnonzero(parts[0] <= 0).tolist()
        packed: list[Any] = self._vectors.packed(parts)
        if self._ttl is not None:
            packed = [*zip(packed, repeat(self.key_context.now_ms), strict=False)]
            self._schedule_cleanup(values, keys)
        values.update(zip(keys, packed, strict=True))
        for place in gone:
            values.drop(keys[place])
        self.key_context.entries.changed_all(keys)

    def _schedule_cleanup(self, values: Values, keys: Sequence[Any]) -> None:
        """Register a timer for each key whose last one is for another time."""
        ttl, timers = self._ttl, self.key_context.backend.processing_timers
        assert ttl is not None, "state expires"
        time_ms = ttl.cleanup_ms(self.key_context.now_ms)
        for key, stored in zip(keys, values.read_all(keys, None), strict=True):
            if stored is None or ttl.cleanup_ms(stored[1]) != time_ms:
                timers.register(Timer(time_ms, key, CLEANUP))

    def fire_timer(self, timer: Timer, is_event_time: bool) -> None:
        """Remove the state if it has expired. If the time-to-live is longer now, set the timer
        again."""
        ttl, values, key = self._ttl, self._values(), timer.key
        (stored,) = values.read_all([key], None)
        if ttl is None or stored is None:
            return
        if ttl.is_expired(stored[1], self.key_context.now_ms):
            values.drop(key)
            self.key_context.entries.changed(key)
        else:
            timers = self.key_context.backend.processing_timers
            timers.register(Timer(ttl.cleanup_ms(stored[1]), key, CLEANUP))

    def take_converted_state(self) -> None:
        self._added_ttl.schedule_cleanups()

    def complete(self) -> None:
        """Give the change of each key that the micro-batch has reached."""
        import numpy as np
        import pyarrow as pa

        from headrace.runtime.columns.batch import Columns

        partials = None if self._buffered is None else self._buffered.pop()
        if partials is None:
            return
        vectors, names = self._vectors, self._shape.keys
        added = parts_of(partials, vectors)
        keys = distinct_keys(partials, names)
        if keys is None:  # what differs in Arrow may be one key
            encoded = ColumnKeys(Columns(partials), names)
            keys = encoded.distinct
            added = vectors.totals(encoded.codes, added, vectors.zeros(len(keys)))
            partials = partials.take(pa.array(first_rows(encoded.codes, len(keys))))
        before = self._load(keys)
        now = vectors.merged(before, added)
        self._store(keys, now)
        every = np.arange(len(keys))
        again = self._ttl is not None
        made = changed_rows(self._shape, partials, vectors, before, now, every, if_equal=again)
        if made is not None:
            self.outputs.columns(made)

    def restore(self, state: Any | None) -> None:
        """Clear what a failed task run has left."""
        super().restore(state)
        if self._buffered is not None:
            self._buffered.clear()

    def finish(self, backend: StateBackend) -> None:
        """Emit the results of each key, at the end of a batch."""
        if self._shape.emits != "last":
            return
        found = [*backend.single_slot_items(SLOT)]
        if not found:
            return
        keys, stored = zip(*found, strict=True)
        packed = stored if self._ttl is None else [each for each, _ in stored]
        results = self._vectors.results(self._vectors.unpacked(packed))
        self.outputs.columns(rows_of_keys(self._shape, keys, results))
