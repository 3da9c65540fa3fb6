"""PyFlink's own aggregate functions in Python."""

from headrace.common._unsupported import unsupported

__all__ = [
    "AvgAggFunction",
    "Count1AggFunction",
    "CountAggFunction",
    "DecimalSum0AggFunction",
    "FirstValueAggFunction",
    "FirstValueWithRetractAggFunction",
    "FloatSum0AggFunction",
    "IntSum0AggFunction",
    "LastValueAggFunction",
    "LastValueWithRetractAggFunction",
    "ListAggFunction",
    "ListAggWithRetractAggFunction",
    "ListAggWsWithRetractAggFunction",
    "MaxAggFunction",
    "MaxWithRetractAggFunction",
    "MinAggFunction",
    "MinWithRetractAggFunction",
    "Sum0AggFunction",
    "SumAggFunction",
    "SumWithRetractAggFunction",
    "WelfordM2AggFunction",
]

_REASON = "the aggregate functions of SQL work on columns: col('a').sum"
AvgAggFunction = unsupported("headrace.table.functions.AvgAggFunction", _REASON)
Count1AggFunction = unsupported("headrace.table.functions.Count1AggFunction", _REASON)
CountAggFunction = unsupported("headrace.table.functions.CountAggFunction", _REASON)
FirstValueAggFunction = unsupported("headrace.table.functions.FirstValueAggFunction", _REASON)
FirstValueWithRetractAggFunction = unsupported(
    "headrace.table.functions.FirstValueWithRetractAggFunction", _REASON
)
LastValueAggFunction = unsupported("headrace.table.functions.LastValueAggFunction", _REASON)
LastValueWithRetractAggFunction = unsupported(
    "headrace.table.functions.LastValueWithRetractAggFunction", _REASON
)
ListAggFunction = unsupported("headrace.table.functions.ListAggFunction", _REASON)
ListAggWithRetractAggFunction = unsupported(
    "headrace.table.functions.ListAggWithRetractAggFunction", _REASON
)
ListAggWsWithRetractAggFunction = unsupported(
    "headrace.table.functions.ListAggWsWithRetractAggFunction", _REASON
)
MaxAggFunction = unsupported("headrace.table.functions.MaxAggFunction", _REASON)
MaxWithRetractAggFunction = unsupported(
    "headrace.table.functions.MaxWithRetractAggFunction", _REASON
)
MinAggFunction = unsupported("headrace.table.functions.MinAggFunction", _REASON)
MinWithRetractAggFunction = unsupported(
    "headrace.table.functions.MinWithRetractAggFunction", _REASON
)
Sum0AggFunction = unsupported("headrace.table.functions.Sum0AggFunction", _REASON)
IntSum0AggFunction = unsupported("headrace.table.functions.IntSum0AggFunction", _REASON)
FloatSum0AggFunction = unsupported("headrace.table.functions.FloatSum0AggFunction", _REASON)
DecimalSum0AggFunction = unsupported("headrace.table.functions.DecimalSum0AggFunction", _REASON)
SumAggFunction = unsupported("headrace.table.functions.SumAggFunction", _REASON)
SumWithRetractAggFunction = unsupported(
    "headrace.table.functions.SumWithRetractAggFunction", _REASON
)
WelfordM2AggFunction = unsupported("headrace.table.functions.WelfordM2AggFunction", _REASON)
