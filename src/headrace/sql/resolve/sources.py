"""The relations of FROM: tables, subqueries, windows of tables, and arrays that become rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from headrace.errors import SqlValidationError
from headrace.sql.convert import Converter
from headrace.sql.dialect.nodes import (
    Descriptor,
    FunctionCall,
    JoinTree,
    PlanTable,
    RowPattern,
    TableArgument,
)
from headrace.sql.dialect.printing import to_sql
from headrace.sql.expressions import ColumnRef, Expression, Literal
from headrace.sql.places import PLACED, add_place
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Calc,
    Column,
    Columns,
    Correlate,
    Rel,
    Unnest,
    Values,
    Window,
    WindowKind,
    WindowSpec,
    reference,
)
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.hints import options_of
from headrace.sql.resolve.scope import Scope, Source, unique_names
from headrace.sql.rules.time_attributes import time_attribute
from headrace.sql.rules.windows import with_window_aggregates
from headrace.sql.types import (
    INT,
    AnyTimestampType,
    ArrayType,
    BooleanType,
    MapType,
    MultisetType,
    RowType,
    SecondIntervalType,
    SqlType,
    TimestampType,
)

_WINDOWS: dict[str, tuple[WindowKind, tuple[str, ...]]] = {
    "TUMBLE": ("TUMBLE", ("DATA", "TIMECOL", "SIZE", "OFFSET")),
    "HOP": ("HOP", ("DATA", "TIMECOL", "SLIDE", "SIZE", "OFFSET")),
    "CUMULATE": ("CUMULATE", ("DATA", "TIMECOL", "STEP", "SIZE", "OFFSET")),
    "SESSION": ("SESSION", ("DATA", "TIMECOL", "GAP")),
}
"""The window functions, and the names of their arguments."""

BORDER_NAMES = ("window_start", "window_end", "window_time")
"""The columns that window functions add to a table."""

_CALLS = (exp.Anonymous, exp.Dot, FunctionCall)
"""Trees of calls of table functions."""

ONE_ROW = Values(((Literal(INT, 0),),), (Column("$row", INT),))
"""What a SELECT without FROM reads; no query can name its column."""


class Tables(Protocol):
    """The tables and views that queries name."""

    def find(self, path: Sequence[str], hints: Mapping[str, str]) -> Rel:
        """Return the plan of a table, with its computed columns and its watermark, or of a view.

        Raises:
            CatalogError: there is none.
        """


class Queries(Protocol):
    """What resolves the queries inside a query."""

    tables: Tables
    batch: bool
    ctes: dict[str, Rel]

    def subquery(self, node: exp.Expr) -> Rel:
        """Return the plan of a query inside another one."""

    def values(self, node: exp.Values) -> Rel:
        """Return the rows of VALUES."""

    def converter(self, scope: Scope) -> Converter:
        """Return what makes expressions over the columns of a scope."""


class SourceResolver:
    """Resolves the FROM clause of one SELECT."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries

    def from_clause(self, node: exp.Select) -> tuple[Rel, Scope]:
        """Return the relation that a SELECT reads, and the names of its columns."""
        clause = node.args.get("from_")
        if clause is None:
            return ONE_ROW, Scope(())
        if isinstance(clause.this, exp.Unnest):
            return self._unnested(ONE_ROW, Scope(()), clause.this, outer=False)
        rel, source = self._relation(clause.this)
        scope = Scope((source,))
        for join in node.args.get("joins") or ():
            rel, scope = self._joined(rel, scope, join)
        return rel, scope

    def _joined(self, rel: Rel, scope: Scope, join: exp.Join) -> tuple[Rel, Scope]:
        side = join.args.get("side") or ""
        condition = join.args.get("on")
        always = condition is None or (isinstance(condition, exp.Boolean) and condition.this)
        if isinstance(join.this, exp.Unnest) and side in ("", "LEFT"):
            on = None if always else condition
            return self._unnested(rel, scope, join.this, outer=side == "LEFT", on=on)
        if isinstance(join.this, exp.Lateral) and side in ("", "LEFT"):
            inside, alias = join.this.this, join.this.args.get("alias")
            if isinstance(inside, exp.Unnest):
                inside.set("alias", alias)
                on = None if always else condition
                return self._unnested(rel, scope, inside, outer=side == "LEFT", on=on)
            if isinstance(inside, _CALLS):
                if side == "LEFT" and not always:
                    refuse("LEFT JOIN LATERAL TABLE with a condition", to_sql(join)[:100])
                made = self._correlated(rel, scope, inside, alias, outer=side == "LEFT")
                return made if condition is None or always else self._filtered(*made, condition)
        refuse("a join", to_sql(join)[:100])

    def _condition(self, scope: Scope, tree: exp.Expr) -> Expression:
        condition = self._queries.converter(scope).expression(tree)
        if not isinstance(condition.type, BooleanType):
            raise SqlValidationError(f"ON needs a condition, not {condition.type}: {to_sql(tree)}")
        return condition

    def _filtered(self, rel: Rel, scope: Scope, tree: exp.Expr) -> tuple[Rel, Scope]:
        condition = self._condition(scope, tree)
        names = tuple(column.name for column in rel.columns)
        return Calc(rel, names, tuple(map(reference, rel.columns)), condition), scope

    def _correlated(
        self, rel: Rel, scope: Scope, node: exp.Expr, alias: exp.Expr | None, outer: bool
    ) -> tuple[Rel, Scope]:
        call = self._queries.converter(scope).table_call(node)
        assert isinstance(call.type, RowType)
        added = tuple(Column(each.name, each.type) for each in call.type.fields)
        if outer:
            added = tuple(Column(each.name, each.type.with_nullable(True)) for each in added)
        columns, source = _named_source(rel, added, alias, call.function.name)
        return Correlate(rel, call, columns, outer), Scope((*scope.sources, source))

    def _unnested(
        self,
        rel: Rel,
        scope: Scope,
        node: exp.Unnest,
        outer: bool,
        on: exp.Expr | None = None,
    ) -> tuple[Rel, Scope]:
        tree, *others = node.expressions
        if others:
            refuse("UNNEST of more than one value", to_sql(node)[:100])
        expression = self._queries.converter(scope).expression(tree)
        added = _columns_of_elements(expression.type)
        if added is None:
            raise SqlValidationError(f"UNNEST takes an ARRAY, MAP or MULTISET: {to_sql(tree)}")
        ordinality = bool(node.args.get("offset"))
        if ordinality:
            added = (*added, Column("ORDINALITY", INT.with_nullable(False)))
        if outer:
            added = tuple(Column(each.name, each.type.with_nullable(True)) for each in added)
        alias = node.args.get("alias")
        if alias is not None and len(added) == 1 and not _has_fields(expression.type):
            added = (Column(alias.name, added[0].type),)
        columns, source = _named_source(rel, added, alias, "UNNEST")
        scope = Scope((*scope.sources, source))
        condition = None if on is None else self._condition(scope, on)
        return Unnest(rel, expression, columns, outer, ordinality, condition), scope

    def _relation(self, node: exp.Expr) -> tuple[Rel, Source]:
        try:
            return self._named(node)
        except PLACED as error:
            add_place(error, node)
            raise

    def _named(self, node: exp.Expr) -> tuple[Rel, Source]:
        if isinstance(node, JoinTree):
            refuse("a join", to_sql(node)[:100])
        rel, default = self._rows(node)
        alias = node.args.get("alias")
        names = tuple(column.name for column in rel.columns)
        if isinstance(rel, Window):
            names = (*names[:-3], *BORDER_NAMES)  # ambiguous where the rows have such a column
        if alias is None:
            return rel, Source(default, names, rel.columns)
        given = [each.name for each in alias.args.get("columns") or ()]
        if given and len(given) != len(names):
            raise SqlValidationError(
                f"{len(given)} names are given to the {len(names)} columns of {alias.name!r}",
                where={"columns": ", ".join(names)},
            )
        return rel, Source(alias.name, tuple(given) or names, rel.columns)

    def _rows(self, node: exp.Expr) -> tuple[Rel, str | None]:
        """Return a relation, and the name that its columns may be called by without an alias."""
        match node:
            case exp.Subquery() | exp.Select() | exp.SetOperation() | exp.Paren():
                return self._queries.subquery(node), None
            case exp.Values():
                return self._queries.values(node), None
            case PlanTable():
                return node.args["this"], None
            case exp.Lateral() | exp.Table() if isinstance(node.this, _CALLS):
                name = (call_name(node.this) or "").upper()
                if name not in _WINDOWS:
                    return self._only_correlated(node.this), None
                return self._call(node.this), None
            case exp.Table() if isinstance(node.this, exp.Identifier):
                return self._table(node)
            case RowPattern():
                refuse("MATCH_RECOGNIZE")
        refuse("this kind of table", to_sql(node)[:100])

    def _only_correlated(self, node: exp.Expr) -> Rel:
        """Return the rows of a table function that is called once, with constants."""
        made, scope = self._correlated(ONE_ROW, Scope(()), node, None, outer=False)
        columns = scope.columns
        return Calc(made, tuple(each.name for each in columns), tuple(map(reference, columns)))

    def _table(self, node: exp.Table) -> tuple[Rel, str]:
        if node.args.get("version"):
            refuse("FOR SYSTEM_TIME AS OF", to_sql(node))
        path = [part.name for part in node.parts]
        if len(path) == 1 and path[0] in self._queries.ctes:
            return self._queries.ctes[path[0]], path[0]
        hints = {}
        for hint in node.args.get("hints") or ():
            hints.update(options_of(hint))
        return self._queries.tables.find(path, hints), path[-1]

    # Window table functions

    def _call(self, call: exp.Expr) -> Rel:
        name = (call_name(call) or "").upper()
        kind, parameters = _WINDOWS[name]
        arguments = _named(name, call.expressions, parameters)
        rel, keys = self._data(arguments, name)
        time = _time_column(rel, arguments.get("TIMECOL"), name, self._queries.batch)
        lengths = {
            each: length_ms(self._queries, arguments[each], name)
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

    def _data(self, arguments: dict[str, exp.Expr], name: str) -> tuple[Rel, tuple[str, ...]]:
        data = arguments.get("DATA")
        if isinstance(data, exp.Subquery):
            return self._relation(data)[0], ()
        if not isinstance(data, TableArgument):
            raise SqlValidationError(
                f"the first argument of {name} is a table",
                hint=f"{name}(TABLE orders, DESCRIPTOR(order_time), INTERVAL '1' MINUTE)",
            )
        rel, source = self._relation(data.this)
        scope = Scope((source,))
        keys = []
        converter = self._queries.converter(scope)
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


def _named_source(
    rel: Rel, added: Columns, alias: exp.Expr | None, what: str
) -> tuple[Columns, Source]:
    """Return columns that are added to a relation, with names of their own, and their source."""
    given = [] if alias is None else [each.name for each in alias.args.get("columns") or ()]
    if given and len(given) != len(added):
        raise SqlValidationError(f"{what} gives {len(added)} columns, not {len(given)}")
    names = tuple(given) or tuple(column.name for column in added)
    taken = [column.name for column in rel.columns]
    inner = unique_names([*taken, *names])[len(taken) :]
    columns = tuple(Column(name, each.type) for name, each in zip(inner, added, strict=True))
    return columns, Source(None if alias is None else alias.name, names, columns)


def _has_fields(kind: SqlType) -> bool:
    """Return whether the elements of a value are rows with named fields."""
    return isinstance(kind, ArrayType | MultisetType) and isinstance(kind.element, RowType)


def _columns_of_elements(kind: SqlType) -> Columns | None:
    """Return the columns that UNNEST makes of a value; None: it has no elements."""
    if isinstance(kind, MapType):
        return Column("KEY", kind.key), Column("VALUE", kind.value)
    if not isinstance(kind, ArrayType | MultisetType):
        return None
    element = kind.element
    if isinstance(element, RowType):
        return tuple(
            Column(each.name, each.type.with_nullable(each.type.nullable or element.nullable))
            for each in element.fields
        )
    return (Column("EXPR$0", element),)


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
