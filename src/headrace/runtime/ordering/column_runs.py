"""Runs of columns put together, and put in the order of their timestamps."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.common.watermark_strategy import MIN_WATERMARK
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.columns.keys import ColumnKeys
from headrace.runtime.ordering.run import Run


def concatenate_column_runs(runs: Iterable[Run]) -> Run | None:
    """Concatenate runs of columns; return None if some are rows, or other kinds of columns."""
    found: list[Columns] = []
    names: set[tuple[str, ...] | None] = set()
    number = 0
    for run in runs:
        if isinstance(run.values, list) or (found and not found[0].is_like(run.values)):
            return None
        found.append(run.values)
        names.add(_key_columns(run))
        number = run.input
    if len(names) != 1:
        return None  # exchanges that find the key in different columns
    return _new_run(concatenate_columns(found), names.pop(), number)


def sort_columns_by_time(run: Run) -> Run:
    """Return the records in the order of their timestamps, those without one first."""
    import numpy as np

    columns = run.values
    assert isinstance(columns, Columns) and columns.times is not None
    times = columns.times.fill_null(MIN_WATERMARK).to_numpy()
    if (times[1:] >= times[:-1]).all():
        return run  # senders that do not overlap in time
    columns = columns.take(np.argsort(times, kind="stable"))
    return _new_run(columns, _key_columns(run), run.input)


def to_row_run(run: Run) -> Run:
    """Return a run of columns as rows."""
    values = run.values
    if isinstance(values, list):
        return run
    keys = None if run.keys is None else [*run.keys]
    timestamps = None if run.timestamps is None else [*run.timestamps]
    return run._replace(keys=keys, values=values.rows(), timestamps=timestamps)


def _key_columns(run: Run) -> tuple[str, ...] | None:
    return run.keys.names if isinstance(run.keys, ColumnKeys) else None


def _new_run(columns: Columns, names: tuple[str, ...] | None, input_index: int) -> Run:
    keys = None if names is None else ColumnKeys(columns, names)
    return Run(keys, columns, columns.timestamps, input_index)
