"""Functions of batches that give rows more than once: for each grouping set, for each window."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from headrace.operators.columns.calc import BatchContext, BatchFunction
from headrace.operators.columns.window_zones import LocalTime
from headrace.sql.evaluate import compile_expressions
from headrace.sql.expressions import Expression, PythonCall, implementations, with_implementations
from headrace.sql.projection import Projected, reads, session_of
from headrace.sql.rel import Correlate, Expand, Unnest, Window, arrow_schema
from headrace.sql.types import (
    BIGINT,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    to_arrow,
)


@dataclass(frozen=True)
class GroupingSets(BatchFunction):
    """Each row once for each grouping set."""

    expand: Expand

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""
        sets = ", ".join(f"({', '.join(each)})" for each in self.expand.sets)
        return f"groupingSets=[{sets}]"

    def compile(self) -> Callable[[Any, BatchContext], Projected]:
        """Return the function: of a batch, and of what is known of its task."""
        import numpy as np
        import pyarrow as pa

        expand = self.expand
        columns = expand.columns
        schema = arrow_schema(columns)
        count = len(expand.sets)

        def repeat(batch: Any, context: BatchContext) -> Projected:
            rows = np.repeat(np.arange(batch.num_rows), count)
            numbers = np.tile(np.arange(count), batch.num_rows)
            taken = batch.take(pa.array(rows))
            arrays = [*taken.columns]
            for key in expand.keys:
                outside = np.array([key not in each for each in expand.sets])[numbers]
                column = taken.column(batch.schema.get_field_index(key))
                missing = pa.scalar(None, column.type)
                arrays.append(pa.compute.if_else(pa.array(outside), missing, column))
            arrays.append(pa.array(numbers, to_arrow(BIGINT)))
            return pa.RecordBatch.from_arrays(arrays, schema=schema), rows

        return repeat


@dataclass(frozen=True)
class AssignedWindows(BatchFunction):
    """Each row once for each of its windows, with their borders; not for sessions."""

    window: Window
    time_zone: str = "UTC"

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""
        return str(self.window.window)

    def compile(self) -> Callable[[Any, BatchContext], Projected]:
        """Return the function: of a batch, and of what is known of its task."""
        import numpy as np
        import pyarrow as pa

        spec, columns = self.window.window, self.window.columns
        schema = arrow_schema(columns)
        size, slide, offset = spec.size_ms, spec.slide_ms, spec.offset_ms
        border = schema.field(len(schema) - 2).type
        local = None
        if schema.field(len(schema) - 1).type.tz is not None and self.time_zone != "UTC":
            local = LocalTime(self.time_zone)
        by_clock = spec.processing_time

        def windows_of(at: Any) -> tuple[Any, Any, Any]:
            """Return row numbers, starts and ends."""
            numbers = np.arange(len(at))
            if spec.kind == "TUMBLE":
                start = at - (at - offset) % size
                return numbers, start, start + size
            if spec.kind == "HOP":
                last = at - (at - offset) % slide
                count = -(-size // slide)
                starts = last[:, None] - np.arange(count) * slide
                rows, places = np.nonzero(starts + size > at[:, None])
                start = starts[rows, places]
                return rows, start, start + size
            first = at - (at - offset) % size
            ends = first[:, None] + np.arange(1, size // slide + 1) * slide
            rows, places = np.nonzero(ends > at[:, None])
            return rows, first[rows], ends[rows, places]

        def assign(batch: Any, context: BatchContext) -> Projected:
            if by_clock:
                known = np.arange(batch.num_rows)
                moments = np.full(batch.num_rows, context.now_ms, np.int64)
            else:
                column = batch.column(batch.schema.get_field_index(spec.time))
                at = column.cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64())
                known = np.flatnonzero(~np.asarray(at.is_null()))
                moments = at.take(pa.array(known)).to_numpy()
            rows, start, end = windows_of(moments if local is None else local.of_moments(moments))
            if by_clock:
                last = np.full(len(end), context.now_ms, np.int64)
            else:
                last = end - 1 if local is None else local.to_moments(end - 1)
            rows = known[rows]
            arrays = [*batch.take(pa.array(rows)).columns]
            arrays += [pa.array(start).cast(border), pa.array(end).cast(border)]
            arrays.append(pa.array(last).cast(schema.field(len(schema) - 1).type))
            return pa.RecordBatch.from_arrays(arrays, schema=schema), rows

        return assign


@dataclass(frozen=True)
class Unnested(BatchFunction):
    """Each row once for each of its elements."""

    unnest: Unnest
    time_zone: str = "UTC"

    @property
    def reads_chance(self) -> bool:
        """Whether the elements are random values."""
        return reads(self._computed, chance=True)

    @property
    def reads_watermark(self) -> bool:
        """Whether the elements depend on the watermark."""
        return reads(self._computed, chance=False)

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""
        return f"unnest=[{self.unnest.expression}]"

    @property
    def _computed(self) -> list[Expression]:
        condition = self.unnest.condition
        return [self.unnest.expression, *([] if condition is None else [condition])]

    @property
    def functions(self) -> tuple[Any, ...]:
        return implementations(self._computed)

    def with_functions(self, copies: Mapping[Any, Any]) -> Unnested:
        made = [with_implementations(each, copies) for each in self._computed]
        expression, condition = (*made, None)[:2]
        assert expression is not None
        return replace(
            self, unnest=replace(self.unnest, expression=expression, condition=condition)
        )

    def compile(self) -> Callable[[Any, BatchContext], Projected]:
        """Return the function: of a batch, and of what is known of its task."""
        import numpy as np
        import pyarrow as pa

        unnest = self.unnest
        columns, kind = unnest.columns, unnest.expression.type
        schema = arrow_schema(columns)
        before = unnest.input.columns
        given = arrow_schema(before)
        compute = compile_expressions([unnest.expression], given)
        outer = unnest.outer and unnest.condition is None

        def repeat(batch: Any, context: BatchContext) -> Projected:
            (values,) = compute(batch, session_of(context, self.time_zone))
            rows: list[int] = []
            found: list[tuple[Any, ...]] = []
            for row, value in enumerate(values.to_pylist()):
                elements = [] if value is None else [*_elements(value, kind)]
                if not elements and outer:
                    elements = [(None,) * len(unnest.added)]
                for place, element in enumerate(elements, 1):
                    rows.append(row)
                    found.append((*element, place) if unnest.ordinality and value else element)
            indices = np.array(rows, np.int64)
            arrays = [*batch.take(pa.array(indices)).columns]
            fields = [*schema][len(arrays) :]
            by_column = zip(*found, strict=True) if found else [()] * len(fields)
            arrays += [
                pa.array(each, field.type) for each, field in zip(by_column, fields, strict=True)
            ]
            return pa.RecordBatch.from_arrays(arrays, schema=schema), indices

        return repeat if unnest.condition is None else self._with_condition(repeat)

    def _with_condition(
        self, repeat: Callable[[Any, BatchContext], Projected]
    ) -> Callable[[Any, BatchContext], Projected]:
        """Return a function that drops the elements that do not meet the condition."""
        import numpy as np
        import pyarrow as pa

        unnest = self.unnest
        assert unnest.condition is not None
        schema = arrow_schema(unnest.columns)
        compute = compile_expressions([unnest.condition], schema)

        def chosen(batch: Any, context: BatchContext) -> Projected:
            made, rows = repeat(batch, context)
            assert rows is not None, "each element has its row"
            (there,) = compute(made, session_of(context, self.time_zone))
            kept = np.flatnonzero(np.asarray(there.fill_null(False)))
            made, rows = made.take(pa.array(kept)), rows[kept]
            if not unnest.outer:
                return made, rows
            left = np.setdiff1d(np.arange(batch.num_rows), rows)
            arrays = [*batch.take(pa.array(left)).columns]
            arrays += [pa.nulls(len(left), field.type) for field in [*schema][len(arrays) :]]
            alone = pa.RecordBatch.from_arrays(arrays, schema=schema)
            both, numbers = pa.concat_batches([made, alone]), np.concatenate([rows, left])
            order = np.argsort(numbers, kind="stable")
            return both.take(pa.array(order)), numbers[order]

        return chosen


@dataclass(frozen=True)
class Correlated(BatchFunction):
    """Each row once for each row that a table function gives for it."""

    correlate: Correlate
    time_zone: str = "UTC"

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""
        return f"call=[{self.correlate.call}]"

    @property
    def functions(self) -> tuple[Any, ...]:
        return implementations([self.correlate.call])

    @property
    def reads_chance(self) -> bool:
        """Whether the arguments are random values."""
        return reads([self.correlate.call], chance=True)

    @property
    def reads_watermark(self) -> bool:
        """Whether the arguments depend on the watermark."""
        return reads([self.correlate.call], chance=False)

    def with_functions(self, copies: Mapping[Any, Any]) -> Correlated:
        call = with_implementations(self.correlate.call, copies)
        assert isinstance(call, PythonCall)
        return replace(self, correlate=replace(self.correlate, call=call))

    def compile(self) -> Callable[[Any, BatchContext], Projected]:
        """Return the function: of a batch, and of what is known of its task."""
        import numpy as np
        import pyarrow as pa

        correlate = self.correlate
        schema = arrow_schema(correlate.columns)
        call = correlate.call
        evaluate = compile_expressions(call.arguments, arrow_schema(correlate.input.columns))
        give = call.function.implementation.kernel(call.signature)

        def repeat(batch: Any, context: BatchContext) -> Projected:
            arguments = evaluate(batch, session_of(context, self.time_zone))
            added, rows = give(arguments, batch.num_rows, self.time_zone)
            if correlate.outer:
                rows, places = _with_missing(rows, batch.num_rows)
                chosen = pa.array(places, mask=places < 0)
                added = [each.take(chosen) for each in added]
            arrays = [*batch.take(pa.array(rows, pa.int64())).columns, *added]
            return pa.RecordBatch.from_arrays(arrays, schema=schema), rows.astype(np.int64)

        return repeat


def _with_missing(rows: Any, count: int) -> tuple[Any, Any]:
    """Return row numbers in order with those up to ``count`` that are missing, and their places.

    The place of a missing one is -1.
    """
    import numpy as np

    missing = np.setdiff1d(np.arange(count), rows)
    everything = np.concatenate([rows, missing])
    places = np.concatenate([np.arange(len(rows)), np.full(len(missing), -1)])
    order = np.argsort(everything, kind="stable")
    return everything[order], places[order]


def _elements(value: Any, kind: SqlType) -> Any:
    """Yield the columns of each element."""
    if isinstance(kind, MapType):
        yield from value
        return
    if isinstance(kind, MultisetType):
        for element, count in value:
            for _ in range(count):
                yield _columns_of(element, kind.element)
        return
    of: SqlType = kind.element  # type: ignore[attr-defined]
    for element in value:
        if element is not None or not isinstance(of, RowType):
            yield _columns_of(element, of)


def _columns_of(element: Any, kind: SqlType) -> tuple[Any, ...]:
    return (*element.values(),) if isinstance(kind, RowType) else (element,)
