"""Columns of a source's chunk can be put together and taken from, whatever its arrays are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from headrace.connector import ColumnChunk
from headrace.operators.batches.results import ResultConverter
from headrace.runtime.columns.batch import Columns, concatenate_columns
from headrace.runtime.columns.building import from_chunk
from headrace.runtime.columns.exactness import to_groupable_column
from headrace.runtime.columns.shapes import DICTS

DICTIONARY = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int8()), ["x", None, "y"])
OTHER = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int8()), ["z", None])


@pytest.mark.parametrize("from_source", [True, False], ids=["source", "map_batches"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (DICTIONARY, OTHER),
        (
            pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array([None, 5])),
            pa.RunEndEncodedArray.from_arrays(pa.array([2], pa.int32()), pa.array([7])),
        ),
        (pa.array(["a", None], pa.string_view()), pa.array(["b" * 20], pa.string_view())),
        (pa.array([b"a", None], pa.binary_view()), pa.array([b"b" * 20], pa.binary_view())),
    ],
    ids=["null in a dictionary", "runs", "texts in views", "bytes in views"],
)
def test_arrays_that_arrow_cannot_take_from(first: Any, second: Any, from_source: bool) -> None:
    def made(array: Any) -> Columns:
        batch = pa.record_batch({"value": array, "n": pa.array(range(len(array)))})
        if from_source:
            return from_chunk(ColumnChunk(batch, DICTS))
        (columns,) = ResultConverter(None, True, DICTS).convert(batch, Columns(batch))
        return columns

    whole = concatenate_columns([made(first), made(second)])
    wanted = [*first.to_pylist(), *second.to_pylist()]
    assert [row["value"] for row in whole.rows()] == wanted
    assert [row["value"] for row in whole.take(np.arange(len(wanted))[::-1]).rows()] == wanted[::-1]
    counted = to_groupable_column(whole.batch.column(0), "count")
    assert counted is not None
    assert counted.column.null_count == wanted.count(None)
