"""Functions of users: ``udf``, ``udtf``, ``udaf``, ``udtaf``, and the classes that they can be."""

from __future__ import annotations

import functools
import inspect
from typing import Any

from headrace.common._unsupported import unsupported
from headrace.table._functions.definitions import (
    AggregateFunction,
    AsyncScalarFunction,
    FunctionContext,
    ImperativeAggregateFunction,
    ScalarFunction,
    TableAggregateFunction,
    TableFunction,
    UserDefinedFunction,
)
from headrace.table._functions.wrappers import (
    Types,
    UserDefinedAggregateFunctionWrapper,
    UserDefinedAsyncScalarFunctionWrapper,
    UserDefinedFunctionWrapper,
    UserDefinedScalarFunctionWrapper,
    UserDefinedTableFunctionWrapper,
)
from headrace.table._types.data_types import DataType

__all__ = [
    "AggregateFunction",
    "AsyncScalarFunction",
    "DelegatingAsyncScalarFunction",
    "DelegatingPandasAggregateFunction",
    "DelegatingScalarFunction",
    "DelegationTableFunction",
    "FunctionContext",
    "ImperativeAggregateFunction",
    "PandasAggregateFunctionWrapper",
    "ScalarFunction",
    "TableAggregateFunction",
    "TableFunction",
    "UserDefinedAggregateFunctionWrapper",
    "UserDefinedAsyncScalarFunctionWrapper",
    "UserDefinedFunction",
    "UserDefinedFunctionWrapper",
    "UserDefinedScalarFunctionWrapper",
    "UserDefinedTableFunctionWrapper",
    "udaf",
    "udf",
    "udtaf",
    "udtf",
]

_PROCESS = (
    "process table functions are not supported: use to_data_stream() and KeyedProcessFunction"
)
_PANDAS = "udaf(f, func_type='pandas') wraps a function by itself"

DelegatingPandasAggregateFunction = unsupported(
    "headrace.table.udf.DelegatingPandasAggregateFunction", _PANDAS
)
PandasAggregateFunctionWrapper = unsupported(
    "headrace.table.udf.PandasAggregateFunctionWrapper", _PANDAS
)

# Names of PyFlink after 2.3
ProcessTableFunction = unsupported("headrace.table.udf.ProcessTableFunction", _PROCESS)
ProcessTableFunctionArgument = unsupported(
    "headrace.table.udf.ProcessTableFunctionArgument", _PROCESS
)
ProcessTableFunctionArgumentTrait = unsupported(
    "headrace.table.udf.ProcessTableFunctionArgumentTrait", _PROCESS
)
ProcessTableFunctionState = unsupported("headrace.table.udf.ProcessTableFunctionState", _PROCESS)
table_arg = unsupported("headrace.table.udf.table_arg", _PROCESS)
udptf = unsupported("headrace.table.udf.udptf", _PROCESS)
value_state = unsupported("headrace.table.udf.value_state", _PROCESS)


class DelegatingScalarFunction(ScalarFunction):
    """A plain function as a ``ScalarFunction``."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        """Return the function's value."""
        return self.func(*args)


class DelegatingAsyncScalarFunction(AsyncScalarFunction):
    """A plain coroutine function as an ``AsyncScalarFunction``."""

    def __init__(self, func: Any) -> None:
        self.func = func

    async def eval(self, *args: Any) -> Any:
        """Return the function's value."""
        return await self.func(*args)


class DelegationTableFunction(TableFunction):
    """A plain function as a ``TableFunction``."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def eval(self, *args: Any) -> Any:
        """Return the function's rows."""
        return self.func(*args)


def udf(
    f: Any = None,
    input_types: Types | None = None,
    result_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Return a function of the columns of a row; without ``f`` a decorator.

    ``f``: a function, a callable object, or a ``ScalarFunction``; a coroutine function, or an
    ``AsyncScalarFunction``, is called for several rows at once. ``input_types``: what arguments
    are converted to; None: they stay as they are. ``deterministic``: whether equal arguments give
    equal results. ``func_type``: "general" for one row at a time, "pandas" for many: arguments and
    result are ``pandas.Series``.

    Raises:
        TypeError: ``f`` cannot be called, or a type is neither a DataType nor a text.
        ValueError: ``func_type`` is another one, or "pandas" for a coroutine function.
    """
    if func_type not in ("general", "pandas"):
        raise ValueError(f"The func_type must be one of 'general, pandas', got {func_type}.")
    if f is None:
        return functools.partial(
            udf,
            input_types=input_types,
            result_type=result_type,
            deterministic=deterministic,
            name=name,
            func_type=func_type,
        )
    made: type[UserDefinedScalarFunctionWrapper] = UserDefinedScalarFunctionWrapper
    if isinstance(f, AsyncScalarFunction) or inspect.iscoroutinefunction(f):
        if func_type == "pandas":
            raise ValueError(
                "Async scalar functions do not support pandas func_type: use 'general'"
            )
        made = UserDefinedAsyncScalarFunctionWrapper
    return made(f, input_types, result_type, func_type, deterministic, name)


def udtf(
    f: Any = None,
    input_types: Types | None = None,
    result_types: Types | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
) -> Any:
    """Return a table function, which gives any number of rows; without ``f`` a decorator.

    ``f``: a function, a callable object, or a ``TableFunction``. It yields rows, or returns a list
    of them; a row is a Row, a tuple, or a single value. ``result_types``: of its columns.

    Raises:
        TypeError: ``f`` cannot be called, or a type is neither a DataType nor a text.
    """
    if f is None:
        return functools.partial(
            udtf,
            input_types=input_types,
            result_types=result_types,
            deterministic=deterministic,
            name=name,
        )
    return UserDefinedTableFunctionWrapper(f, input_types, result_types, deterministic, name)


def udaf(
    f: Any = None,
    input_types: Types | None = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Return an aggregate function, which gives one value for a group; without ``f`` a decorator.

    ``f``: an ``AggregateFunction``; with ``func_type="pandas"`` also a function of Series (pandas)
    with the values of a group's rows, for windows and batches.

    Raises:
        TypeError: ``f`` is no aggregate function, or a type is neither a DataType nor a text.
    """
    if func_type not in ("general", "pandas"):
        raise ValueError(f"The func_type must be one of 'general, pandas', got {func_type}.")
    if f is None:
        return functools.partial(
            udaf,
            input_types=input_types,
            result_type=result_type,
            accumulator_type=accumulator_type,
            deterministic=deterministic,
            name=name,
            func_type=func_type,
        )
    return UserDefinedAggregateFunctionWrapper(
        f, input_types, result_type, accumulator_type, func_type, deterministic, name
    )


def udtaf(
    f: Any = None,
    input_types: Types | None = None,
    result_type: DataType | str | None = None,
    accumulator_type: DataType | str | None = None,
    deterministic: bool | None = None,
    name: str | None = None,
    func_type: str = "general",
) -> Any:
    """Return a table aggregate function, for ``flat_aggregate``; without ``f`` a decorator.

    ``f``: a ``TableAggregateFunction``, which gives any number of rows for a group.

    Raises:
        TypeError: ``f`` is not one, or a type is neither a DataType nor a text.
    """
    if func_type != "general":
        raise ValueError(f"The func_type must be 'general', got {func_type}.")
    if f is None:
        return functools.partial(
            udtaf,
            input_types=input_types,
            result_type=result_type,
            accumulator_type=accumulator_type,
            deterministic=deterministic,
            name=name,
        )
    return UserDefinedAggregateFunctionWrapper(
        f, input_types, result_type, accumulator_type, func_type, deterministic, name, True
    )
