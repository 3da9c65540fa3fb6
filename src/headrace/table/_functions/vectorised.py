"""Vectorised functions: they get a pandas.Series for each argument, and give one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headrace.common._extras import optional
from headrace.errors import TypeMismatchError
from headrace.sql.python_function import Kernel, Signature
from headrace.sql.types import RowType, SqlType, TimestampLtzType, to_arrow
from headrace.table._functions.arguments import python_values
from headrace.table._functions.implementation import PythonImplementation, shown

if TYPE_CHECKING:
    import pandas as pd


class VectorisedImplementation(PythonImplementation):
    """Calls a function once for each block."""

    def kernel(self, call: Signature) -> Kernel:
        """Return what computes the function's column for a block."""
        optional("pandas")
        import pandas as pd
        import pyarrow as pa

        evaluate = self.evaluate
        kind, arrow = call.result, to_arrow(call.result)

        def compute(values: Sequence[Any], rows: int, zone: str) -> Any:
            if not rows:
                return pa.nulls(0, arrow)
            arguments = [
                series_of(value, each, zone)
                for value, each in zip(values, call.arguments, strict=True)
            ]
            if call.row_names is not None:
                arguments = [frame_of(arguments, call.row_names)]
            try:
                found = evaluate(*arguments)
            except Exception as error:
                error.add_note(f"function: {call}, of {rows} rows")
                raise
            if not isinstance(found, pd.Series | pd.DataFrame):
                raise _wrong(call, f"a {type(found).__name__}: {shown(found)}, and no Series")
            if len(found) != rows:
                raise _wrong(call, f"a Series of {len(found)} values for {rows} rows")
            try:
                made = _column(found, kind, zone)
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise _wrong(call, f"values that are no {kind}: {error}") from error
            if made.null_count and not kind.nullable:
                raise _wrong(call, f"NULL, and {kind} has none")
            return made

        return compute


def _wrong(call: Signature, problem: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"the function {call.name} gave {problem}",
        where={"function": str(call)},
        hint="a vectorised function gives a pandas.Series of its result type, a value for each row",
    )


def series_of(value: Any, kind: SqlType, zone: str) -> Any:
    """Return a Series of a column; the Python value of a constant."""
    import pyarrow as pa

    if isinstance(value, pa.Scalar):
        return python_values(pa.array([value.as_py()], value.type), kind, zone)[0]
    if isinstance(kind, RowType):
        names = tuple(each.name for each in kind.fields)
        parts = [
            series_of(part, each.type, zone)
            for part, each in zip(value.flatten(), kind.fields, strict=True)
        ]
        return frame_of(parts, names)
    series: pd.Series[Any] = value.to_pandas(date_as_object=True)
    if isinstance(kind, TimestampLtzType):
        return series.dt.tz_convert(zone)
    return series


def frame_of(parts: Sequence[Any], names: Sequence[str]) -> pd.DataFrame:
    """Return the columns of a row as one frame; those of a row inside it stand in its place."""
    import pandas as pd

    named = [
        part.rename(name) if isinstance(part, pd.Series) else part
        for part, name in zip(parts, names, strict=True)
    ]
    return pd.concat(named, axis=1)


def _column(found: Any, kind: SqlType, zone: str) -> Any:
    """Return the Arrow column of what a function gave."""
    import pandas as pd
    import pyarrow as pa

    if isinstance(found, pd.DataFrame):
        if not isinstance(kind, RowType) or len(found.columns) != len(kind.fields):
            raise TypeError(f"a DataFrame with {len(found.columns)} columns")
        parts = [
            _column(found.iloc[:, place], each.type, zone) for place, each in enumerate(kind.fields)
        ]
        return pa.StructArray.from_arrays(parts, fields=[*to_arrow(kind)])
    if isinstance(kind, TimestampLtzType) and pd.api.types.is_datetime64_dtype(found.dtype):
        found = found.dt.tz_localize(zone)
    made = pa.Array.from_pandas(found, type=to_arrow(kind))
    return made.combine_chunks() if isinstance(made, pa.ChunkedArray) else made
