"""The rows of a relation over constants, computed when a statement is planned.

A subquery without tables has the same rows for each row of the query around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headrace.operators.columns.calc import BatchContext
from headrace.operators.columns.set_operation import copies
from headrace.sql.aggregates.table import find_aggregate, make_accumulator
from headrace.sql.evaluate import compile_expressions
from headrace.sql.expressions import Call, Expression, PythonCall
from headrace.sql.expressions import walk as walk_expression
from headrace.sql.functions.function import Session
from headrace.sql.functions.table import FUNCTIONS
from headrace.sql.projection import Projection
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    Expand,
    Rel,
    SetOperation,
    Sort,
    Union,
    Unnest,
    Values,
    arrow_schema,
    walk,
)
from headrace.sql.repeating import GroupingSets, Unnested

Row = tuple[Any, ...]
"""The values of a row, as Arrow gives them."""


def is_constant(rel: Rel) -> bool:
    """Return whether a relation has the same rows whenever it is computed."""
    known = Values | Calc | Aggregate | Union | Sort | SetOperation | Expand | Unnest
    return all(
        isinstance(each, known)
        and not any(map(varies, _expressions(each)))
        and not (isinstance(each, Aggregate) and any(call.python for call in each.calls))
        for each in walk(rel)
    )


def varies(expression: Expression) -> bool:
    """Return whether an expression over constants has another value at each time."""
    return any(_varies(each) for each in walk_expression(expression))


def _varies(expression: Expression) -> bool:
    if isinstance(expression, PythonCall):
        return True
    if not isinstance(expression, Call):
        return False
    function = FUNCTIONS.get(expression.function)
    if function is None:
        return True
    return not function.deterministic or (function.of_session and not expression.arguments)


def _expressions(rel: Rel) -> Iterator[Expression]:
    match rel:
        case Values():
            for row in rel.rows:
                yield from row
        case Calc():
            yield from rel.expressions
            if rel.condition is not None:
                yield rel.condition
        case Unnest():
            yield rel.expression
            if rel.condition is not None:
                yield rel.condition


@dataclass(frozen=True)
class ConstantRows:
    """Computes relations for which ``is_constant`` is true."""

    time_zone: str = "UTC"

    def of(self, rel: Rel) -> Any:
        """Return the rows as an Arrow record batch."""
        match rel:
            case Values():
                return _batch(rel, self.values(rel))
            case Calc():
                return self._calc(rel)
            case Aggregate():
                return _batch(rel, self._groups(rel))
            case Union():
                return _batch(rel, [row for part in rel.parts for row in self.rows(part)])
            case SetOperation():
                return _batch(rel, self._set_operation(rel))
            case Sort():
                return self._sorted(rel)
            case Expand():
                return GroupingSets(rel).compile()(self.of(rel.input), BatchContext())[0]
            case Unnest():
                return Unnested(rel, self.time_zone).compile()(self.of(rel.input), BatchContext())[
                    0
                ]
        raise AssertionError(f"no constant: {rel!r}")

    def rows(self, rel: Rel) -> list[Row]:
        """Return the rows as values."""
        batch = self.of(rel)
        if not batch.num_columns:
            return [()] * batch.num_rows
        return [*zip(*(each.to_pylist() for each in batch.columns), strict=True)]

    def values(self, rel: Values) -> list[Row]:
        """Return the rows of VALUES."""
        import pyarrow as pa

        one = pa.RecordBatch.from_pydict({"$row": [0]})
        session = Session(self.time_zone)
        return [
            tuple(each[0].as_py() for each in compile_expressions(row, one.schema)(one, session))
            for row in rel.rows
        ]

    def _calc(self, rel: Calc) -> Any:
        projection = Projection(
            rel.input.columns, rel.names, rel.expressions, rel.condition, self.time_zone
        )
        return projection.compile()(self.of(rel.input), BatchContext())[0]

    def _groups(self, rel: Aggregate) -> list[Row]:
        names = [column.name for column in rel.input.columns]
        groups: dict[str, tuple[Row, list[dict[str, Any]]]] = {}
        if not rel.keys:
            groups[""] = (), []
        for values in self.rows(rel.input):
            row = dict(zip(names, values, strict=True))
            key = tuple(row[name] for name in rel.keys)
            groups.setdefault(repr(key) if key else "", (key, []))[1].append(row)
        return [
            (*key, *(_result(rel, call, rows) for call in rel.calls))
            for key, rows in groups.values()
        ]

    def _set_operation(self, rel: SetOperation) -> list[Row]:
        left, right = self.rows(rel.left), self.rows(rel.right)
        in_left, in_right = Counter(map(repr, left)), Counter(map(repr, right))
        first = {repr(row): row for row in left}
        return [
            row
            for key, row in first.items()
            for _ in range(copies(rel.kind, rel.all, in_left[key], in_right[key]))
        ]

    def _sorted(self, rel: Sort) -> Any:
        from headrace.operators.columns.sort import sorted_rows
        from headrace.runtime.columns.batch import Columns

        end = None if rel.limit is None else rel.offset + rel.limit
        return sorted_rows([Columns(self.of(rel.input))], rel.keys, rel.offset, end).batch


def _batch(rel: Rel, rows: list[Row]) -> Any:
    import pyarrow as pa

    schema = arrow_schema(rel.columns)
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _result(rel: Aggregate, call: AggregateCall, rows: list[dict[str, Any]]) -> Any:
    types = {column.name: column.type for column in rel.input.columns}
    function = find_aggregate(call.function)
    assert function is not None, call
    accumulator = make_accumulator(
        function,
        [types[name] for name in call.arguments],
        call.type,
        distinct=call.distinct,
        retracts=False,
        constants=call.options,
    )
    state = accumulator.zero()
    for row in rows:
        if call.filter is None or row[call.filter]:
            state = accumulator.add(state, tuple(row[name] for name in call.arguments))
    return accumulator.result(state)
