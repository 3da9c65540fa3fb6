"""Relations as streams of a program: rows with names, timestamps and kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.typeinfo import TypeInformation, Types
from headrace.common.types import Row, RowKind
from headrace.datastream._build.call_site import call_site
from headrace.errors import SqlValidationError
from headrace.operators.columns.records import ToRecordsSpec
from headrace.sql.definitions import MetadataColumn, PhysicalColumn
from headrace.sql.rel import Column, Columns, Rel, StreamScan, arrow_schema
from headrace.sql.resolve.fitting import fitted
from headrace.sql.rules.keys import upsert_keys
from headrace.sql.rules.time_attributes import time_attribute
from headrace.sql.rules.windows import with_window_aggregates
from headrace.table._planning.data_streams import check_metadata
from headrace.table._types.type_info import ColumnWriters, type_info_of

if TYPE_CHECKING:
    from headrace.datastream.data_stream import DataStream
    from headrace.table._planning.planner import Planner
    from headrace.table.schema import Schema


def append_stream(planner: Planner, rel: Rel) -> DataStream:
    """Return the rows of a relation that does not change.

    Raises:
        SqlValidationError: it changes, or has more than one event time.
    """
    stream, mode = planner.stream_of(rel)
    if mode != ChangelogMode.insert_only():
        raise SqlValidationError(
            "to_data_stream() takes tables whose rows do not change",
            where={"the table gives": str(mode)},
            hint="to_changelog_stream() gives rows with their kinds",
        )
    keeps_time = isinstance(rel, StreamScan)
    return _records(stream, rel.columns, _event_time(rel), keeps_time=keeps_time)


def changelog_stream(
    planner: Planner, rel: Rel, schema: Schema | None, accepted: ChangelogMode | None
) -> DataStream:
    """Return the changes of a relation.

    Raises:
        SqlValidationError: other changes are accepted, or the columns do not fit.
    """
    time, dropped = _event_time(rel), None
    key = None if schema is None else schema._primary_key
    if schema is not None:
        columns = _target_columns(rel.columns, schema)
        place = [each.name for each in rel.columns].index(time) if time is not None else None
        rel = fitted(rel, columns, (), "to_changelog_stream")
        time = None if place is None else columns[place].name
        dropped = _time_column(schema)
    stream, mode = planner.stream_of(rel)
    upserts = accepted is not None and accepted.by_key
    if upserts and key is not None and mode != ChangelogMode.insert_only():
        _require_key(rel, key.columns)
    kinds = mode.kinds - {RowKind.UPDATE_BEFORE} if upserts else mode.kinds
    if accepted is not None and not kinds <= accepted.kinds:
        raise SqlValidationError(
            "the table gives changes that the changelog mode does not have",
            where={"the table gives": str(mode), "mode": str(accepted)},
        )
    return _records(
        stream,
        rel.columns,
        dropped or time,
        drops_time=dropped is not None,
        drops_before=upserts and mode != ChangelogMode.insert_only(),
    )


def retract_stream(planner: Planner, rel: Rel, record: TypeInformation) -> DataStream:
    """Return the changes of a relation as pairs: whether a row is added, and the row."""
    changes = changelog_stream(planner, rel, None, None)
    return changes.map(_with_flag, Types.TUPLE([Types.BOOLEAN(), record]))


def _with_flag(row: Row) -> tuple[bool, Row]:
    added = row.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
    return added, Row(*row)


def _records(
    stream: DataStream,
    columns: Columns,
    time: str | None,
    *,
    keeps_time: bool = False,
    drops_time: bool = False,
    drops_before: bool = False,
) -> DataStream:
    given = [each for each in columns if not (drops_time and each.name == time)]
    kinds = tuple(each.type for each in given)
    names = [each.name for each in given]
    spec = ToRecordsSpec(
        arrow_schema(columns),
        ColumnWriters(kinds),
        time,
        keeps_time=keeps_time,
        drops_time=drops_time,
        drops_before=drops_before,
    )
    kept = Types.ROW_NAMED(names, [type_info_of(kind) for kind in kinds])
    return stream._add(spec, call_site(), "to_data_stream", kept_type=kept)


def _event_time(rel: Rel) -> str | None:
    planned = with_window_aggregates(rel)
    times = [each.name for each in rel.columns if time_attribute(planned, each.name) == "rowtime"]
    if len(times) > 1:
        raise SqlValidationError(
            "the table has more than one event time, and a record has one timestamp",
            where={"event times": ", ".join(times)},
            hint="cast all but one to TIMESTAMP(3): this makes ordinary columns of them",
        )
    return times[0] if times else None


def _target_columns(given: Columns, schema: Schema) -> Columns:
    """Return the columns that a target takes, in its order; without physical ones, those given."""
    declared = [
        each
        for each in schema._columns
        if isinstance(each, PhysicalColumn)
        or (isinstance(each, MetadataColumn) and not each.virtual)
    ]
    columns = tuple(Column(each.name, each.type) for each in declared)
    if any(isinstance(each, PhysicalColumn) for each in declared):
        return columns
    names = {each.name for each in columns}
    return (*(each for each in given if each.name not in names), *columns)


def _time_column(schema: Schema) -> str | None:
    found = [each for each in schema._columns if isinstance(each, MetadataColumn)]
    for each in found:
        check_metadata(each)
    return found[0].name if found else None


def _require_key(rel: Rel, wanted: tuple[str, ...]) -> None:
    keys = upsert_keys(rel)
    if frozenset(wanted) not in keys:
        shown = " or ".join(sorted(", ".join(sorted(key)) for key in keys))
        raise SqlValidationError(
            "the rows of the table are not identified by the primary key of the target schema",
            where={"primary key": ", ".join(wanted), "key of the rows": shown or "none"},
            hint="declare the columns of GROUP BY as the primary key",
        )
