"""TUMBLE, HOP, CUMULATE and SESSION in FROM, and what windows of GROUP BY share with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.catalog.errors import did_you_mean
from headrace.sql.dialect.nodes import Descriptor, TableArgument
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import ColumnRef, Literal
from headrace.sql.places import placed_at
from headrace.sql.refusals import refuse
from headrace.sql.rel import Column, Rel, Window, WindowKind, WindowSpec
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.protocols import Queries
from headrace.sql.resolve.scope import Scope, Source, unique_names
from headrace.sql.rules.time_attributes import time_attribute
from headrace.sql.rules.windows import with_window_aggregates
from headrace.sql.types import AnyTimestampType, SecondIntervalType, TimestampType

Relation = Callable[[exp.Expr], tuple[Rel, Source]]

WINDOW_FUNCTIONS: dict[str, tuple[WindowKind, tuple[str, ...]]] = {
    "TUMBLE": ("TUMBLE", ("DATA", "TIMECOL", "SIZE", "OFFSET")),
    "HOP": ("HOP", ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET")),
    "CUMULATE": ("CUMULATE", ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET")),
    "SESSION": ("SESSION", ("DATA", "TIMECOL", "GAP")),
}
"""The window functions, and the names of their arguments."""

BORDER_NAMES = ("window_start", "window_end", "window_time")
"""The columns that window functions add to a table."""


def window_function(queries: Queries, call: exp.Expr, relation: Relation) -> Window:
    """Return the rows of a call with their windows' borders.

    ``relation``: resolves the table that the call is given.
    """
    name = (call_name(call) or "").upper()
    kind, parameters = WINDOW_FUNCTIONS[name]
    arguments = _named(name, call.expressions, parameters)
    rel, keys = _data(queries, arguments, name, relation)
    descriptor = arguments.get("TIMECOL")
    with placed_at(call if descriptor is None else descriptor):
        time = _time_column(rel, descriptor, name, queries.batch)
    lengths = {
        each: length_ms(queries, arguments[each], name)
        for each in parameters[2:]
        if each in arguments
    }
    required = [each for each in parameters[2:] if each != "OFFSET" and each not in lengths]
    if required:
        raise SqlValidationError(f"{name} needs {' and '.join(required)}")
    size_ms = lengths.get("SIZE", lengths.get("GAP", 0))
    slide_ms = lengths.get("SLIDE", lengths.get("STEP", 0))
    spec = WindowSpec(
        kind,
        time.name,
        size_ms,
        slide_ms,
        lengths.get("OFFSET", 0),
        keys,
        processing_time=is_processing_time(rel, time.name),
    )
    check_lengths(spec, name)
    return windowed(rel, spec, time)


def _data(
    queries: Queries, arguments: dict[str, exp.Expr], name: str, relation: Relation
) -> tuple[Rel, tuple[str, ...]]:
    data = arguments.get("DATA")
    if isinstance(data, exp.Subquery):
        return relation(data)[0], ()
    if not isinstance(data, TableArgument):
        raise SqlValidationError(
            f"the first argument of {name} is a table",
            hint=f"{name}(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' MINUTE)",
        )
    rel, source = relation(data.this)
    scope = Scope((source,))
    keys = []
    converter = queries.converter(scope)
    for each in data.args.get("partition_by") or ():
        found = converter.expression(each)
        if not isinstance(found, ColumnRef):
            refuse(f"PARTITION BY {to_sql(each)} in {name}")
        keys.append(found.name)
    if keys and name != "SESSION":
        refuse(f"PARTITION BY in {name}")
    return rel, tuple(keys)


def length_ms(queries: Queries, node: exp.Expr, name: str) -> int:
    """Return the length (ms) that a constant interval says."""
    found = queries.converter(Scope(())).expression(node)
    if not isinstance(found, Literal) or not isinstance(found.type, SecondIntervalType):
        raise SqlValidationError(
            f"{name} needs constant intervals up to days, not {to_sql(node)}",
            hint="INTERVAL '10' MINUTE",
        )
    return int(found.value)


def windowed(rel: Rel, spec: WindowSpec, time: Column) -> Window:
    """Return the rows with their windows' borders as three more columns."""
    assert isinstance(time.type, AnyTimestampType)
    border = TimestampType(3, nullable=False)
    kept = [column.name for column in rel.columns]
    *_, start, end, last = unique_names([*kept, *BORDER_NAMES])
    added = (
        Column(start, border),
        Column(end, border),
        Column(last, time.type.with_nullable(False)),
    )
    return Window(rel, spec, (*rel.columns, *added))


def check_lengths(spec: WindowSpec, name: str) -> None:
    """Check the lengths of a window.

    Raises:
        SqlValidationError: one is not positive, or the size is no multiple of the step.
    """
    for length in (spec.size_ms, *((spec.slide_ms,) if spec.slide_ms else ())):
        if length <= 0:
            raise SqlValidationError(f"{name}: a window's length must be positive")
    if spec.kind == "CUMULATE" and spec.size_ms % spec.slide_ms:
        raise SqlValidationError(
            f"CUMULATE: the size ({spec.size_ms} ms) must be a multiple of the step"
            f" ({spec.slide_ms} ms)"
        )


def is_processing_time(rel: Rel, name: str) -> bool:
    """Return whether a column is the processing time of its rows."""
    return time_attribute(with_window_aggregates(rel), name) == "proctime"


def is_time(rel: Rel, column: Column, batch: bool) -> bool:
    """Return whether windows can be by a column: in a batch, any timestamp of milliseconds."""
    if batch and isinstance(column.type, AnyTimestampType):
        return column.type.precision <= 3
    return time_attribute(with_window_aggregates(rel), column.name) is not None


def _time_column(rel: Rel, node: exp.Expr | None, name: str, batch: bool) -> Column:
    names = [each.name for each in node.expressions] if isinstance(node, Descriptor) else []
    if len(names) != 1:
        raise SqlValidationError(f"{name} needs DESCRIPTOR(column) with the column of its time")
    column = next((each for each in rel.columns if each.name == names[0]), None)
    if column is None:
        raise SqlValidationError(
            f"{name}: there is no column {names[0]!r}",
            where={"columns": ", ".join(each.name for each in rel.columns)},
            hint=did_you_mean(names[0], [each.name for each in rel.columns]),
        )
    if not is_time(rel, column, batch):
        kind = column.type
        shown = kind.without_attribute() if isinstance(kind, AnyTimestampType) else kind
        raise SqlValidationError(
            f"{name} needs a time attribute, but {names[0]!r} is {shown}",
            hint="declare WATERMARK FOR the column in CREATE TABLE; a column that is computed from"
            " it is not a time attribute",
        )
    return column


def _named(name: str, nodes: Sequence[exp.Expr], parameters: Sequence[str]) -> dict[str, exp.Expr]:
    """Return the arguments of a call by the names of its parameters."""
    found: dict[str, exp.Expr] = {}
    for place, node in enumerate(nodes):
        if isinstance(node, exp.Kwarg):
            key, value = node.this.name.upper(), node.expression
        elif place < len(parameters):
            key, value = parameters[place], node
        else:
            raise SqlValidationError(f"{name} takes at most {len(parameters)} arguments")
        if key not in parameters or key in found:
            raise SqlValidationError(
                f"{name} has no argument {key}", where={"arguments": ", ".join(parameters)}
            )
        found[key] = value
    return found
