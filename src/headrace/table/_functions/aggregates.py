"""Aggregate functions of users, as accumulators of the operators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from headrace.common.types import Row, row_of
from headrace.operators.columns.accumulator import Accumulator
from headrace.sql.aggregates.accumulators import Distinct
from headrace.sql.python_function import Kernel, Signature
from headrace.sql.types import to_arrow
from headrace.table._functions.arguments import change_of
from headrace.table._functions.definitions import (
    AggregateFunction,
    ImperativeAggregateFunction,
    TableAggregateFunction,
)
from headrace.table._functions.implementation import (
    PythonImplementation,
    note_call,
    shown,
    wrong_result,
)
from headrace.table._functions.results import encoder
from headrace.table._functions.vectorised import frame_of, series_of

if TYPE_CHECKING:
    from headrace.runtime.context import TaskContext


class AggregateImplementation(PythonImplementation):
    """An aggregate function; ``vectorised``: it gets the rows of a group at once."""

    def __init__(self, function: Any, vectorised: bool) -> None:
        super().__init__(function)
        self.vectorised = vectorised

    @property
    def lacks_retract(self) -> bool:
        """Whether it cannot retract rows."""
        return self.vectorised or _is_inherited(self.function, "retract")

    @property
    def lacks_merge(self) -> bool:
        """Whether accumulators cannot be merged, which session windows need."""
        return not self.vectorised and _is_inherited(self.function, "merge")

    def kernel(self, call: Signature) -> Kernel:
        raise AssertionError("an aggregate function has accumulators")

    def accumulator(self, call: Signature, zone: str, *, distinct: bool = False) -> Accumulator:
        """Return the accumulator of a call.

        ``distinct``: the function gets equal arguments once.
        """
        made = (_OfSeries if self.vectorised else _OfRows)(self, call, zone)
        return _DistinctArguments(made) if distinct else made


def _is_inherited(function: Any, name: str) -> bool:
    return getattr(type(function), name) is getattr(ImperativeAggregateFunction, name)


class _PythonAccumulator(Accumulator):
    """Calls the methods of an aggregate function; a task has its own copy, which is opened."""

    def __init__(self, implementation: AggregateImplementation, call: Signature, zone: str) -> None:
        self._implementation = implementation
        self._call = call
        self._zone = zone

    def open(self, runtime_context: TaskContext) -> None:
        """Open the function for a task."""
        self._implementation.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        self._implementation.close()

    @property
    def name(self) -> str:
        """The function's name."""
        return self._call.name

    def __getstate__(self) -> dict[str, Any]:
        own = ("_implementation", "_call", "_zone")
        return {key: value for key, value in vars(self).items() if key in own}

    @cached_property
    def _encode(self) -> Callable[[Any], Any]:
        return encoder(self._call.result, self._zone)

    def _encoded(self, value: Any) -> Any:
        """Return a result as a value of its Arrow type.

        Raises:
            TypeMismatchError: it is no value of the result type.
        """
        if value is None and self._call.result.nullable:
            return None
        try:
            return self._encode(value)
        except (TypeError, ValueError, OverflowError, ArithmeticError) as error:
            problem = f"{shown(value)} ({type(value).__name__}): {error}"
        raise wrong_result(self._call, (), problem)


class _OfRows(_PythonAccumulator):
    """An accumulator of the function for each group."""

    @property
    def _function(self) -> ImperativeAggregateFunction[Any, Any]:
        function: ImperativeAggregateFunction[Any, Any] = self._implementation.function
        return function

    @cached_property
    def _changes(self) -> list[Callable[[Any], Any] | None]:
        return [change_of(each, self._zone) for each in self._call.arguments]

    def _python(self, values: tuple[Any, ...]) -> list[Any]:
        found = [
            value if value is None or change is None else change(value)
            for value, change in zip(values, self._changes, strict=True)
        ]
        names = self._call.row_names
        return found if names is None else [row_of(names, found)]

    def zero(self) -> Any:
        return self._function.create_accumulator()

    def add(self, state: Any, values: tuple[Any, ...]) -> Any:
        arguments = self._python(values)
        try:
            self._function.accumulate(state, *arguments)
        except Exception as error:
            note_call(error, self._call, tuple(arguments))
            raise
        return state

    def retract(self, state: Any, values: tuple[Any, ...]) -> Any:
        arguments = self._python(values)
        try:
            self._function.retract(state, *arguments)
        except Exception as error:
            note_call(error, self._call, tuple(arguments))
            raise
        return state

    def merge(self, state: Any, other: Any) -> Any:
        self._function.merge(state, [other])
        return state

    def result(self, state: Any) -> Any:
        function = self._function
        if isinstance(function, TableAggregateFunction):
            given = function.emit_value(state)
            return self._encoded([_row(each) for each in given or ()])
        assert isinstance(function, AggregateFunction)
        return self._encoded(function.get_value(state))


@dataclass(frozen=True)
class _DistinctArguments(Distinct):
    """Gives a user's function equal arguments once."""

    inner: _PythonAccumulator

    def open(self, runtime_context: TaskContext) -> None:
        """Open the function for a task."""
        self.inner.open(runtime_context)

    def close(self) -> None:
        """Close the function."""
        self.inner.close()

    @property
    def name(self) -> str:
        """The function's name."""
        return self.inner.name


def _row(value: Any) -> Any:
    return value if isinstance(value, Row | tuple) else (value,)


class _OfSeries(_PythonAccumulator):
    """The values of a group's rows; the function gets them as Series."""

    def zero(self) -> list[Any]:
        return []

    def add(self, state: list[Any], values: tuple[Any, ...]) -> list[Any]:
        state.append(values)
        return state

    def retract(self, state: list[Any], values: tuple[Any, ...]) -> list[Any]:
        raise AssertionError("refused when it is planned")

    def merge(self, state: list[Any], other: list[Any]) -> list[Any]:
        return state + other

    def result(self, state: list[Any]) -> Any:
        import pandas as pd
        import pyarrow as pa

        kinds = self._call.arguments
        columns = zip(*state, strict=True) if state else [()] * len(kinds)
        arguments = [
            series_of(pa.array(column, to_arrow(kind)), kind, self._zone)
            for column, kind in zip(columns, kinds, strict=True)
        ]
        if self._call.row_names is not None:
            arguments = [frame_of(arguments, self._call.row_names)]
        try:
            found = self._aggregated(arguments)
        except Exception as error:
            error.add_note(f"function: {self._call}, of {len(state)} rows")
            raise
        missing = pd.api.types.is_scalar(found) and pd.isna(found)
        return self._encoded(None if missing else found)

    def _aggregated(self, arguments: list[Any]) -> Any:
        function = self._implementation.function
        if not isinstance(function, AggregateFunction):
            return function(*arguments)
        accumulator = function.create_accumulator()
        function.accumulate(accumulator, *arguments)
        return function.get_value(accumulator)
