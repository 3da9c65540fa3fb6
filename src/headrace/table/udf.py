"""Functions of users; refused until they are built."""

from headrace.common._unsupported import unsupported

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

_REASON = "functions of users are not supported in SQL"
FunctionContext = unsupported("headrace.table.udf.FunctionContext", _REASON)
UserDefinedFunction = unsupported("headrace.table.udf.UserDefinedFunction", _REASON)
ScalarFunction = unsupported("headrace.table.udf.ScalarFunction", _REASON)
AsyncScalarFunction = unsupported("headrace.table.udf.AsyncScalarFunction", _REASON)
TableFunction = unsupported("headrace.table.udf.TableFunction", _REASON)
ImperativeAggregateFunction = unsupported("headrace.table.udf.ImperativeAggregateFunction", _REASON)
AggregateFunction = unsupported("headrace.table.udf.AggregateFunction", _REASON)
TableAggregateFunction = unsupported("headrace.table.udf.TableAggregateFunction", _REASON)
DelegatingScalarFunction = unsupported("headrace.table.udf.DelegatingScalarFunction", _REASON)
DelegatingAsyncScalarFunction = unsupported(
    "headrace.table.udf.DelegatingAsyncScalarFunction", _REASON
)
DelegationTableFunction = unsupported("headrace.table.udf.DelegationTableFunction", _REASON)
DelegatingPandasAggregateFunction = unsupported(
    "headrace.table.udf.DelegatingPandasAggregateFunction", _REASON
)
PandasAggregateFunctionWrapper = unsupported(
    "headrace.table.udf.PandasAggregateFunctionWrapper", _REASON
)
UserDefinedFunctionWrapper = unsupported("headrace.table.udf.UserDefinedFunctionWrapper", _REASON)
UserDefinedScalarFunctionWrapper = unsupported(
    "headrace.table.udf.UserDefinedScalarFunctionWrapper", _REASON
)
UserDefinedAsyncScalarFunctionWrapper = unsupported(
    "headrace.table.udf.UserDefinedAsyncScalarFunctionWrapper", _REASON
)
UserDefinedTableFunctionWrapper = unsupported(
    "headrace.table.udf.UserDefinedTableFunctionWrapper", _REASON
)
UserDefinedAggregateFunctionWrapper = unsupported(
    "headrace.table.udf.UserDefinedAggregateFunctionWrapper", _REASON
)
udf = unsupported("headrace.table.udf.udf", _REASON)
udtf = unsupported("headrace.table.udf.udtf", _REASON)
udaf = unsupported("headrace.table.udf.udaf", _REASON)
udtaf = unsupported("headrace.table.udf.udtaf", _REASON)
