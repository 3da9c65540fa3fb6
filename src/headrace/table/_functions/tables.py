"""Table functions: each gives any number of rows for the arguments of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import GeneratorType
from typing import Any

from headrace.common.types import Row
from headrace.sql.python_function import Kernel, Signature
from headrace.sql.types import RowType
from headrace.table._functions.implementation import (
    PythonImplementation,
    argument_lists,
    arguments_at,
    note_call,
    wrong_result,
)
from headrace.table._functions.results import ResultWriter, WrongResult

_MANY = (list, range, GeneratorType)
"""The types that contain rows; any other result is one row. As in PyFlink."""


class TableImplementation(PythonImplementation):
    """Calls a table function for each row."""

    def kernel(self, call: Signature) -> Kernel:
        """Return what computes columns, and the row that each of their values comes from."""
        import numpy as np

        evaluate = self.evaluate
        kind = call.result
        assert isinstance(kind, RowType)
        writers: dict[str, list[ResultWriter]] = {}

        def compute(values: Sequence[Any], rows: int, zone: str) -> Any:
            columns = argument_lists(call, values, rows, zone)
            counts: list[int] = []
            found: list[Any] = []
            try:
                _collect(evaluate, columns, rows, found, counts)
            except Exception as error:
                note_call(error, call, arguments_at(columns, len(counts)))
                raise
            numbers = np.repeat(np.arange(rows), counts)
            if zone not in writers:
                writers[zone] = [ResultWriter(each.type, zone) for each in kind.fields]
            try:
                split = _split(found, len(kind.fields))
                return [
                    write(column) for write, column in zip(writers[zone], split, strict=True)
                ], numbers
            except WrongResult as wrong:
                place, problem = int(numbers[wrong.place]), wrong.problem
            raise wrong_result(call, arguments_at(columns, place), problem)

        return compute


def _collect(
    evaluate: Callable[..., Any],
    columns: Sequence[list[Any]],
    rows: int,
    found: list[Any],
    counts: list[int],
) -> None:
    """Add the rows that the function gives, and how many each call gave."""
    arguments = zip(*columns, strict=True) if columns else [()] * rows
    for each in arguments:
        given = evaluate(*each)
        if given is None:
            counts.append(0)
        elif isinstance(given, _MANY):
            before = len(found)
            found.extend(given)
            counts.append(len(found) - before)
        else:
            found.append(given)
            counts.append(1)


def _split(found: list[Any], width: int) -> list[list[Any]]:
    """Return the fields of rows, as a list for each column.

    Raises:
        WrongResult: a row has another number of fields.
    """
    classes = {*map(type, found)}
    if width == 1 and not any(issubclass(each, tuple | Row) for each in classes):
        return [found]
    rows = [
        each if isinstance(each, tuple) else each._values if isinstance(each, Row) else (each,)
        for each in found
    ]
    for place, row in enumerate(rows):
        if len(row) != width:
            raise WrongResult(place, f"{found[place]!r}, and its rows have {width} fields")
    return [[*column] for column in zip(*rows, strict=True)] if rows else [[] for _ in range(width)]
