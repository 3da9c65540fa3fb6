"""The rows of a query as those of the table that they are written into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headrace.errors import SqlValidationError
from headrace.sql.assignment import is_assignable
from headrace.sql.calls import cast
from headrace.sql.catalog.errors import did_you_mean
from headrace.sql.catalog.objects import CatalogTable
from headrace.sql.expressions import Expression, Literal
from headrace.sql.rel import Calc, Column, Columns, Rel, reference
from headrace.sql.resolve.tables import written_columns


def fitted_insert(
    rel: Rel,
    definition: CatalogTable,
    names: Sequence[str],
    constants: Mapping[str, Expression],
    table: str,
) -> Rel:
    """Return the rows of an INSERT with the columns of its table.

    ``names``: the columns that the query gives; empty: all others. ``constants``: the values of
    PARTITION (…).

    Raises:
        SqlValidationError: columns are wrong, or their types do not fit.
    """
    columns = written_columns(definition)
    for name in constants:
        if name not in definition.partitioned_by:
            raise SqlValidationError(
                f"table {table!r} is not partitioned by {name!r}",
                where={"partitioned by": ", ".join(definition.partitioned_by) or "nothing"},
            )
    if not constants:
        return fitted(rel, columns, names, table)
    given = names or tuple(each.name for each in columns if each.name not in constants)
    both = [name for name in given if name in constants]
    if both:
        raise SqlValidationError(f"column {both[0]!r} of table {table!r} has two values")
    if len(rel.columns) != len(given):
        _refuse_number(rel.columns, [each for each in columns if each.name in given], table)
    types = {each.name: each.type for each in columns}
    values = [
        each if is_assignable(each.type, types[name]) else cast(each, types[name])
        for name, each in constants.items()
    ]
    made = (*map(reference, rel.columns), *values)
    inner = tuple(f"$c{number}" for number in range(len(made)))
    return fitted(Calc(rel, inner, made), columns, (*given, *constants), table)


def fitted(rel: Rel, columns: Columns, names: Sequence[str], table: str) -> Rel:
    """Return the rows of a query with the columns of a table, by their places.

    ``names``: those that the statement gives; the others are NULL.

    Raises:
        SqlValidationError: the numbers of columns differ, or a type does not fit.
    """
    given = rel.columns
    wanted = _named(columns, names, table) if names else columns
    if len(given) != len(wanted):
        _refuse_number(given, wanted, table)
    for one, column in zip(given, wanted, strict=True):
        if not is_assignable(one.type, column.type):
            raise SqlValidationError(
                f"column {column.name!r} of table {table!r} is {column.type}, and the query gives"
                f" {one.type}",
                hint=f"CAST({one.name} AS {column.type.summary})",
            )
    sources = {
        column.name: cast(reference(one), column.type.with_nullable(one.type.nullable))
        for one, column in zip(given, wanted, strict=True)
    }
    expressions = []
    for column in columns:
        found = sources.get(column.name)
        if found is None and not column.type.nullable:
            raise SqlValidationError(f"column {column.name!r} of {table!r} cannot be NULL")
        expressions.append(Literal(column.type, None) if found is None else found)
    return Calc(rel, tuple(column.name for column in columns), tuple(expressions))


def _named(columns: Columns, names: Sequence[str], table: str) -> Columns:
    by_name = {column.name: column for column in columns}
    for place, name in enumerate(names):
        if name not in by_name:
            problem = f"table {table!r} has no column {name!r}"
            raise SqlValidationError(problem, hint=did_you_mean(name, by_name))
        if name in names[:place]:
            raise SqlValidationError(f"column {name!r} of table {table!r} is assigned twice")
    return tuple(by_name[name] for name in names)


def _refuse_number(given: Sequence[Column], wanted: Sequence[Column], table: str) -> None:
    raise SqlValidationError(
        f"the query gives {len(given)} columns, and table {table!r} takes {len(wanted)}",
        where={
            "query": ", ".join(f"{each.name} {each.type}" for each in given),
            "table": ", ".join(f"{each.name} {each.type}" for each in wanted),
        },
    )
