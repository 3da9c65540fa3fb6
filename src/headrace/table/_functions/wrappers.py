"""What ``udf`` and ``udtf`` make: functions that can be called in expressions and registered."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any, Literal, Self

from headrace.sql import types as sql
from headrace.sql.dialect.nodes import FunctionCall
from headrace.sql.python_function import PythonFunction
from headrace.table._expressions.trees import tree_of
from headrace.table._functions.aggregates import AggregateImplementation
from headrace.table._functions.asynchronous import AsyncImplementation
from headrace.table._functions.definitions import (
    AggregateFunction,
    TableAggregateFunction,
    UserDefinedFunction,
)
from headrace.table._functions.implementation import PythonImplementation
from headrace.table._functions.tables import TableImplementation
from headrace.table._functions.vectorised import VectorisedImplementation
from headrace.table._types.data_types import DataType
from headrace.table._types.hints import result_of_hints
from headrace.table._types.rows import RowType
from headrace.table._types.sql import sql_type_of
from headrace.table.expression import Expression

Types = DataType | str | Iterable[DataType | str]


class UserDefinedFunctionWrapper:
    """A function of a user with its types."""

    _kind: Literal["scalar", "table", "aggregate", "table aggregate"]

    def __init__(
        self,
        func: Any,
        input_types: Types | None,
        func_type: str,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> None:
        of_user = isinstance(func, UserDefinedFunction)
        if inspect.isclass(func) or (not of_user and not callable(func)):
            raise TypeError(
                "Invalid function: not a function or callable (__call__ is not defined):"
                f" {type(func)}"
            )
        if of_user and deterministic is not None and deterministic != func.is_deterministic():
            raise ValueError(
                f"Inconsistent deterministic: {deterministic} and {func.is_deterministic()}"
            )
        if deterministic is None:
            deterministic = func.is_deterministic() if of_user else True
        self._func = func
        self._input_types = None if input_types is None else _types_of(input_types, "input_type")
        self._name: str = name or str(getattr(func, "__name__", type(func).__name__))
        self._deterministic = deterministic
        self._func_type = func_type
        self._function: PythonFunction | None = None
        self._alias_names: tuple[str, ...] = ()

    def __call__(self, *args: Any) -> Expression[Any]:
        """Return the expression of a call."""
        arguments = [*map(tree_of, args)]
        return Expression(FunctionCall(this=self._definition(), expressions=arguments))

    def alias(self, *alias_names: str) -> Self:
        """Name the columns that the function gives for whole rows."""
        self._alias_names = alias_names
        return self

    def _result(self) -> sql.SqlType:
        raise NotImplementedError

    def _implementation(self) -> PythonImplementation:
        raise NotImplementedError

    def _definition(self) -> PythonFunction:
        """Return the function as plans have it; always the same object, as calls are compared."""
        if self._function is None:
            parameters = self._input_types
            self._function = PythonFunction(
                self._name,
                self._kind,
                None if parameters is None else tuple(map(sql_type_of, parameters)),
                self._result(),
                self._deterministic,
                self._implementation(),
            )
        return self._function


class UserDefinedScalarFunctionWrapper(UserDefinedFunctionWrapper):
    """A function that gives one value for each row; ``func_type`` "pandas": for many at once."""

    _kind = "scalar"

    def __init__(
        self,
        func: Any,
        input_types: Types | None,
        result_type: DataType | str | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        if result_type is None and func_type == "general":
            result_type = result_of_hints(func)
        if not isinstance(result_type, DataType | str):
            raise TypeError(
                f"Invalid returnType: returnType should be DataType or str but is {result_type}"
            )
        self._result_type = result_type

    def _result(self) -> sql.SqlType:
        return sql_type_of(self._result_type)

    def _implementation(self) -> PythonImplementation:
        vectorised = self._func_type == "pandas"
        return (VectorisedImplementation if vectorised else PythonImplementation)(self._func)


class UserDefinedAsyncScalarFunctionWrapper(UserDefinedScalarFunctionWrapper):
    """A coroutine function that gives one value for each row."""

    def _implementation(self) -> PythonImplementation:
        return AsyncImplementation(self._func)


class UserDefinedTableFunctionWrapper(UserDefinedFunctionWrapper):
    """A function that gives any number of rows for each row."""

    _kind = "table"

    def __init__(
        self,
        func: Any,
        input_types: Types | None,
        result_types: Types | None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(func, input_types, "general", deterministic, name)
        if result_types is None:
            raise TypeError("Invalid result_type: a table function has result types")
        self._result_types: str | list[DataType | str] = (
            result_types
            if isinstance(result_types, str)
            else _types_of(result_types, "result_type")
        )

    def _result(self) -> sql.SqlType:
        given = self._result_types
        if isinstance(given, str):
            kind = sql_type_of(given)
            if isinstance(kind, sql.RowType):
                return kind
            given = [given]
        fields = (sql.Field(f"f{n}", sql_type_of(each)) for n, each in enumerate(given))
        return sql.RowType(tuple(fields))

    def _implementation(self) -> PythonImplementation:
        return TableImplementation(self._func)


class UserDefinedAggregateFunctionWrapper(UserDefinedFunctionWrapper):
    """A function that gives one value for the rows of a group, or any number of rows.

    ``accumulator_type`` is accepted and not needed: accumulators are kept as they are.
    """

    _kind: Literal["aggregate", "table aggregate"] = "aggregate"

    def __init__(
        self,
        func: Any,
        input_types: Types | None,
        result_type: DataType | str | None,
        accumulator_type: DataType | str | None,
        func_type: str,
        deterministic: bool | None,
        name: str | None,
        is_table_aggregate: bool = False,
    ) -> None:
        super().__init__(func, input_types, func_type, deterministic, name)
        needed = TableAggregateFunction if is_table_aggregate else AggregateFunction
        if func_type == "general" and not isinstance(func, needed):
            maker = "udtaf" if is_table_aggregate else "udaf"
            raise TypeError(f"{maker}() takes objects of {needed.__name__}, not {func!r}")
        if is_table_aggregate:
            self._kind = "table aggregate"
        if result_type is None:
            result_type = func.get_result_type()
        if not isinstance(result_type, DataType | str):
            raise TypeError(
                f"Invalid returnType: returnType should be DataType or str but is {result_type}"
            )
        if func_type == "pandas" and isinstance(sql_type_of(result_type), sql.MapType):
            raise TypeError(
                "Invalid returnType: Pandas UDAF doesn't support DataType type"
                f" {result_type} currently"
            )
        self._result_type = result_type

    def _result(self) -> sql.SqlType:
        kind = sql_type_of(self._result_type)
        if self._kind == "aggregate":
            return kind
        row = kind if isinstance(kind, sql.RowType) else sql.RowType((sql.Field("f0", kind),))
        return sql.ArrayType(row.with_nullable(False), nullable=False)

    def _implementation(self) -> PythonImplementation:
        return AggregateImplementation(self._func, self._func_type == "pandas")


def _types_of(given: Types, what: str) -> list[DataType | str]:
    if isinstance(given, RowType):
        return [*given.field_types()]
    types = [given] if isinstance(given, DataType | str) else [*given]
    for each in types:
        if not isinstance(each, DataType | str):
            raise TypeError(f"Invalid {what}: {what} should be DataType or str but contains {each}")
    return types
