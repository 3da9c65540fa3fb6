"""Which partial results windows need of columns."""

from __future__ import annotations

from headrace.operators.slots import Wanted
from headrace.operators.windows.first_records import FirstRecords, PartialRecords
from headrace.operators.windows.grid import Grid
from headrace.operators.windows.partials import Partials
from headrace.runtime.columns.batch import Columns


def partials_of(wanted: Wanted, keys: tuple[str, ...], grid: Grid, columns: Columns) -> Partials:
    """What makes the partial results of some columns, or merges them."""
    shape, names = columns.shape, columns.batch.schema.names
    if not wanted.first_record:
        return Partials(wanted.slots, keys, grid.pane_ms, grid.offset_ms)
    fields = names
    if isinstance(shape, PartialRecords):
        shape, fields = shape.records, names[:-2]
    return FirstRecords(wanted.slots, keys, grid.pane_ms, grid.offset_ms, (*fields,), shape)
