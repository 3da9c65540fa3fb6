"""Functions of batches that give rows more than once: for each grouping set, for each window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.operators.columns.calc import BatchContext
from headrace.sql.evaluate import compile_expressions
from headrace.sql.projection import Projected, reads, session_of
from headrace.sql.rel import Expand, Unnest, Window, arrow_schema
from headrace.sql.types import (
    BIGINT,
    MapType,
    MultisetType,
    RowType,
    SqlType,
    to_arrow,
)


class _Unchanging:
    """Gives what follows from the rows alone."""

    reads_chance = False
    reads_watermark = False


@dataclass(frozen=True)
class GroupingSets(_Unchanging):
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
class AssignedWindows(_Unchanging):
    """Each row once for each of its windows, with their borders; not for sessions."""

    window: Window

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
            column = batch.column(batch.schema.get_field_index(spec.time))
            at = column.cast(pa.timestamp("ms", column.type.tz)).cast(pa.int64())
            known = np.flatnonzero(~np.asarray(at.is_null()))
            rows, start, end = windows_of(at.take(pa.array(known)).to_numpy())
            rows = known[rows]
            arrays = [*batch.take(pa.array(rows)).columns]
            arrays += [pa.array(start).cast(border), pa.array(end).cast(border)]
            arrays.append(pa.array(end - 1).cast(schema.field(len(schema) - 1).type))
            return pa.RecordBatch.from_arrays(arrays, schema=schema), rows

        return assign


@dataclass(frozen=True)
class Unnested:
    """Each row once for each of its elements."""

    unnest: Unnest
    time_zone: str = "UTC"

    @property
    def reads_chance(self) -> bool:
        """Whether the elements are random values."""
        return reads([self.unnest.expression], chance=True)

    @property
    def reads_watermark(self) -> bool:
        """Whether the elements depend on the watermark."""
        return reads([self.unnest.expression], chance=False)

    @property
    def summary(self) -> str:
        """What it computes, for ``explain``."""
        return f"unnest=[{self.unnest.expression}]"

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

        def repeat(batch: Any, context: BatchContext) -> Projected:
            (values,) = compute(batch, session_of(context, self.time_zone))
            rows: list[int] = []
            found: list[tuple[Any, ...]] = []
            for row, value in enumerate(values.to_pylist()):
                elements = [] if value is None else [*_elements(value, kind)]
                if not elements and unnest.outer:
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

        return repeat


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
