"""``from_data_stream(stream, col("a"), …)``: columns that are fields, by name or by place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from headrace.common import typeinfo as info
from headrace.errors import SqlValidationError
from headrace.sql.dialect.nodes import WindowBorder
from headrace.sql.expressions import Call, ColumnRef, Expression
from headrace.sql.rel import Calc, Column, Rel, reference
from headrace.sql.type_information import columns_of_info, plain
from headrace.sql.types import SqlType, TimeAttribute, TimestampLtzType, TimestampType
from headrace.table._api.selecting import trees_of
from headrace.table._planning.data_streams import TIMESTAMPS, Taken, scan_of

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream
    from headrace.table._planning.session import SqlSession

_TIME = TimestampType(3)
_PROCESSING_TIME = TimestampLtzType(3, "proctime")


@dataclass(frozen=True)
class NamedField:
    """A column: ``field`` of the records, or their event time or processing time."""

    name: str
    field: str = ""
    time: TimeAttribute | None = None


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
    times = [each.time for each in fields if each.time is not None]
    for time in _ATTRIBUTES.values():
        if times.count(time) > 1:
            raise SqlValidationError(f"a table has one .{time}, not {times.count(time)}")
    timed = "rowtime" in times
    taken = Taken(
        tuple(
            (each.field, Column(each.name, _legacy(found[each.field])))
            for each in fields
            if each.time is None
        ),
        _TIME if timed else None,
        watermarks=timed,
    )
    scan = scan_of(session, stream, taken)
    if not times:
        return scan
    columns = {column.name: column for column in scan.columns}
    kind = _TIME if session.queries.batch else replace(_TIME, attribute="rowtime")
    values: list[Expression] = []
    for each in fields:
        if each.time == "proctime":
            values.append(Call(_PROCESSING_TIME, "PROCTIME", ()))
        elif each.time == "rowtime":
            values.append(ColumnRef(kind, TIMESTAMPS))
        else:
            values.append(reference(columns[each.name]))
    return Calc(scan, tuple(each.name for each in fields), tuple(values))


def _names_a_field(tree: exp.Expr, found: Iterable[str]) -> bool:
    if isinstance(tree, exp.Column):
        return tree.name in found
    return isinstance(tree, exp.Alias) and isinstance(tree.this, exp.Column)


def _by_name(trees: Sequence[exp.Expr], found: Sequence[str]) -> list[NamedField]:
    fields = []
    for tree in trees:
        named = tree.this if isinstance(tree, exp.Alias) else tree
        time = _time_of(named)
        if time is not None:
            name = tree.alias or named.this.name
            if time == "proctime" and name in found:
                raise _replaces_field(name)
            fields.append(NamedField(name, time=time))
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
        time = _time_of(tree)
        if time is not None:
            if time == "proctime" and len(fields) < len(found):
                raise _replaces_field(tree.this.name)
            fields.append(NamedField(tree.this.name, time=time))
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


_ATTRIBUTES: dict[str, TimeAttribute] = {"ROWTIME": "rowtime", "PROCTIME": "proctime"}


def _time_of(tree: exp.Expr) -> TimeAttribute | None:
    """Return the time that ``.rowtime`` or ``.proctime`` names; None: it is a field."""
    return _ATTRIBUTES.get(tree.args["border"]) if isinstance(tree, WindowBorder) else None


def _replaces_field(name: str) -> SqlValidationError:
    return SqlValidationError(
        f"{name}.proctime is a new column: it cannot replace a field",
        hint="write it after the columns of all fields, with a name that no field has",
    )


def _legacy(kind: SqlType) -> SqlType:
    """Return the type of a column that no schema declares: with NULL, and moments in ms."""
    kind = kind.with_nullable(True)
    if isinstance(kind, TimestampType | TimestampLtzType):
        return replace(kind, precision=3)
    return kind
