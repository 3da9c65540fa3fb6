"""``from_data_stream(stream, col("a"), …)``: columns that are fields, by name or by place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headrace.common import typeinfo as info
from headrace.errors import SqlValidationError
from headrace.sql.dialect.nodes import WindowBorder
from headrace.sql.expressions import ColumnRef, Expression
from headrace.sql.refusals import refuse
from headrace.sql.rel import Calc, Column, Rel, reference
from headrace.sql.type_information import columns_of_info, plain
from headrace.sql.types import SqlType, TimestampLtzType, TimestampType
from headrace.table._api.selecting import trees_of
from headrace.table._planning.data_streams import TIMESTAMPS, Taken, scan_of

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream
    from headrace.table._planning.session import SqlSession

_TIME = TimestampType(3)


@dataclass(frozen=True)
class NamedField:
    """A column: ``field`` of the records, or the event time (None)."""

    name: str
    field: str | None


def named_table(session: SqlSession, stream: DataStream, expressions: Iterable[Any]) -> Rel:
    """Return the relation of a stream's records with the columns that expressions name.

    If one names a field of the records, or has an alias, all name fields; otherwise they are new
    names of the fields, by their places.
    """
    found = dict(columns_of_info(stream.get_type()))
    trees = trees_of(expressions, "from_data_stream")
    composite = isinstance(plain(stream.get_type()), info.RowTypeInfo | info.TupleTypeInfo)
    by_name = composite and any(_names_a_field(tree, found) for tree in trees)
    read = _by_name if by_name else _by_place
    fields = read(trees, [*found])
    timed = any(each.field is None for each in fields)
    taken = Taken(
        tuple(
            (each.field, Column(each.name, _legacy(found[each.field])))
            for each in fields
            if each.field is not None
        ),
        _TIME if timed else None,
        watermarks=timed,
    )
    scan = scan_of(session, stream, taken)
    if not timed:
        return scan
    columns = {column.name: column for column in scan.columns}
    kind = _TIME if session.batch else replace(_TIME, attribute="rowtime")
    values: list[Expression] = [
        ColumnRef(kind, TIMESTAMPS) if each.field is None else reference(columns[each.name])
        for each in fields
    ]
    return Calc(scan, tuple(each.name for each in fields), tuple(values))


def _names_a_field(tree: exp.Expr, found: Iterable[str]) -> bool:
    if isinstance(tree, exp.Column):
        return tree.name in found
    return isinstance(tree, exp.Alias) and isinstance(tree.this, exp.Column)


def _by_name(trees: Sequence[exp.Expr], found: Sequence[str]) -> list[NamedField]:
    fields = []
    for tree in trees:
        named = tree.this if isinstance(tree, exp.Alias) else tree
        if _is_time(named):
            fields.append(NamedField(tree.alias or named.this.name, None))
        elif not isinstance(named, exp.Column):
            raise SqlValidationError(f"from_data_stream() takes names of fields, not {tree.sql()}")
        elif named.name not in found:
            raise SqlValidationError(
                f"the records have no field {named.name!r}", where={"fields": ", ".join(found)}
            )
        else:
            fields.append(NamedField(tree.alias or named.name, named.name))
    return fields


def _by_place(trees: Sequence[exp.Expr], found: Sequence[str]) -> list[NamedField]:
    fields: list[NamedField] = []
    for tree in trees:
        if _is_time(tree):
            fields.append(NamedField(tree.this.name, None))
        elif not isinstance(tree, exp.Column):
            raise SqlValidationError(
                f"from_data_stream() takes names of columns, not {tree.sql()}",
                hint="name the fields of the records to select among them",
            )
        elif len(fields) == len(found):
            raise SqlValidationError(
                "there are more columns than fields", where={"fields": ", ".join(found)}
            )
        else:
            fields.append(NamedField(tree.name, found[len(fields)]))
    return fields


def _is_time(tree: exp.Expr) -> bool:
    if not isinstance(tree, WindowBorder):
        return False
    if tree.args["border"] != "ROWTIME":
        refuse("processing time of a stream's records")
    return True


def _legacy(kind: SqlType) -> SqlType:
    """Return the type of a column that no schema declares: with NULL, and moments in ms."""
    kind = kind.with_nullable(True)
    if isinstance(kind, TimestampType | TimestampLtzType):
        return replace(kind, precision=3)
    return kind
