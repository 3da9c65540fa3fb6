"""The states of slices by key, of aggregates that are computed row by row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from headrace.operators.aggregates.kernels import runs_of_keys
from headrace.operators.columns.group_rows import argument_rows, change_states
from headrace.operators.columns.window_contents import WindowContents, WindowResults, key_arrays

if TYPE_CHECKING:
    import numpy as np

    from headrace.runtime.columns.batch import Columns

    Array = np.ndarray[Any, Any]

MAX_RESULTS = 1 << 16
"""About how many results are given at once."""


class RowContents(WindowContents):
    """States in the tables of their slices; nothing is buffered."""

    def add(
        self, columns: Columns, slices: Array, minus: Array | None, keys: tuple[Any, Any] | None
    ) -> None:
        """Add rows to the states of their keys, or retract them."""
        assert keys is not None, "states are by key"
        codes, distinct = keys
        batch, aggregates = columns.batch, self.shape.aggregates
        values_of = argument_rows(batch, aggregates)
        accumulators = [each.accumulator for each in aggregates]
        signs = [1] * len(columns) if minus is None else (1 - 2 * minus).tolist()
        numbers = codes.tolist()
        order, _, begins, counts = runs_of_keys(slices)
        for begin, count in zip(begins.tolist(), counts.tolist(), strict=True):
            rows = order[begin : begin + count].tolist()
            stored = self.tables.values(int(slices[rows[0]]))
            reached: dict[int, list[Any]] = {}
            for row in rows:
                state = reached.get(numbers[row])
                if state is None:
                    state = stored.get(distinct[numbers[row]]) or self._zero()
                    reached[numbers[row]] = state
                state[0] += signs[row]
                change_states(state, accumulators, values_of(row), retracts=signs[row] < 0)
            for number, state in reached.items():
                stored.put(distinct[number], state)

    def _zero(self) -> list[Any]:
        return [0, *(each.accumulator.zero() for each in self.shape.aggregates)]

    def windows(self, ends: Sequence[int]) -> Iterator[WindowResults]:
        """Yield the results of windows."""
        keys: list[Any] = []
        results: list[list[Any]] = []
        found: list[int] = []
        for end, starts in self.slices_by_window(ends, self.tables.starts()):
            for key, state in self._states(starts).items():
                if state[0] > 0:
                    keys.append(key)
                    results.append(self._results(state))
                    found.append(end)
            if len(keys) >= MAX_RESULTS:
                yield self._made(keys, results, found)
                keys, results, found = [], [], []
        if keys:
            yield self._made(keys, results, found)

    def _states(self, starts: Sequence[int]) -> dict[Any, list[Any]]:
        """Return the states of the keys in some slices; those of several are new ones."""
        if len(starts) == 1:
            return dict(self.tables.items(starts[0]))
        merged: dict[Any, list[Any]] = {}
        for start in starts:
            for key, state in self.tables.items(start):
                if key not in merged:
                    merged[key] = self._zero()
                merged[key] = self._merge(merged[key], state)
        return merged

    def _merge(self, one: list[Any], other: list[Any]) -> list[Any]:
        parts = zip(self.shape.aggregates, one[1:], other[1:], strict=True)
        return [one[0] + other[0], *(each.accumulator.merge(a, b) for each, a, b in parts)]

    def _results(self, state: list[Any]) -> list[Any]:
        parts = zip(self.shape.aggregates, state[1:], strict=True)
        return [each.accumulator.result(part) for each, part in parts]

    def _made(self, keys: list[Any], results: list[list[Any]], ends: list[int]) -> WindowResults:
        import numpy as np
        import pyarrow as pa

        count, fields = len(self.shape.keys), [*self.shape.result]
        of_results = zip(*results, strict=True) if self.shape.aggregates else ()
        fields_of_results = fields[count : count + len(self.shape.aggregates)]
        return WindowResults(
            key_arrays(keys, count, self.shape.result),
            [
                pa.array(each, field.type)
                for each, field in zip(of_results, fields_of_results, strict=True)
            ],
            np.array(ends, np.int64),
        )

    def write(self) -> None:
        """Do nothing: it buffers nothing."""

    def forget(self) -> None:
        """Do nothing: it buffers nothing."""
