"""Streams of a program as relations: columns, event time and kinds of their records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import exp

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream._build.call_site import call_site
from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError
from headrace.operators.columns.records import FromRecordsSpec
from headrace.sql.calls import cast
from headrace.sql.definitions import ComputedColumn, MetadataColumn, PhysicalColumn
from headrace.sql.expressions import Expression
from headrace.sql.rel import Calc, Column, Rel, StreamRows, arrow_schema, reference
from headrace.sql.resolve.calls import call_name
from headrace.sql.resolve.tables import (
    scope_of,
    timed_columns,
    watermarked_column,
    with_watermark,
)
from headrace.sql.type_information import columns_of_info
from headrace.sql.types import SqlType, TimestampLtzType
from headrace.table._types.type_info import FieldReaders

if TYPE_CHECKING:
    from headrace.sql.definitions import WatermarkDefinition
    from headrace.table._planning.session import SqlSession
    from headrace.table.schema import Schema

ROWTIME = "rowtime"
"""The key of the only metadata that records have: their timestamps."""

TIMESTAMPS = "$rowtime"
"""The column of these."""

_TIMESTAMP = TimestampLtzType(3)


@dataclass(frozen=True)
class Taken:
    """What a relation takes of a stream's records.

    ``fields``: names of fields, each with its column. ``time``: the type of a column with the
    timestamps; None: there is none. ``watermarks``: whether the watermarks of the stream are those
    of the table. ``gives``: which rows there are, with their ``primary_key``. ``whole``: whether
    the rows are the records as they are; only then do they keep their timestamps.
    """

    fields: tuple[tuple[str, Column], ...]
    time: SqlType | None = None
    watermarks: bool = False
    gives: StreamRows = "inserts"
    primary_key: tuple[str, ...] = ()
    whole: bool = False


def scan_of(session: SqlSession, stream: DataStream, taken: Taken) -> Rel:
    """Return the relation of a stream's records; timestamps are in ``TIMESTAMPS``."""
    places = [name for name, _ in columns_of_info(stream.get_type())]
    columns = tuple(column for _, column in taken.fields)
    required = tuple(column.name for column in columns if not column.type.nullable)
    if taken.gives == "upserts":
        required = taken.primary_key  # a row that deletes may have no others
    if taken.time is not None:
        columns = (*columns, Column(TIMESTAMPS, taken.time))
    spec = FromRecordsSpec(
        FieldReaders(stream.get_type(), tuple(places.index(name) for name, _ in taken.fields)),
        arrow_schema(columns),
        timed=taken.time is not None,
        keeps_time=taken.whole,
        required=required,
        inserts=taken.gives == "inserts",
        upserts=taken.gives == "upserts",
    )
    uid = stream._edges[0].source.uid
    with session.env._job_apart():
        if not taken.watermarks:
            silent = WatermarkStrategy.no_watermarks()
            stream = stream.assign_timestamps_and_watermarks(silent)
        rows = stream._add(spec, call_site(), "from_data_stream")
    return session.streams.add(
        rows, columns, name=uid or "", gives=taken.gives, primary_key=taken.primary_key
    )


class DeclaredTable:
    """The relation of a stream as a schema declares it, or as its type says."""

    def __init__(
        self, session: SqlSession, stream: DataStream, schema: Schema | None = None
    ) -> None:
        self._session = session
        self._stream = stream
        self._schema = schema
        columns = () if schema is None else schema._columns
        found = dict(columns_of_info(stream.get_type()))
        key = None if schema is None else schema._primary_key
        self._key = () if key is None else key.columns
        if not any(isinstance(each, PhysicalColumn) for each in columns):
            derived = tuple(
                PhysicalColumn(name, kind.with_nullable(kind.nullable and name not in self._key))
                for name, kind in found.items()
            )
            columns = (*derived, *columns)
        self._columns = columns
        self._found = found
        self._watermark = _watermark_of(schema)
        self._check_key()

    def _check_key(self) -> None:
        types = {each.name: each.type for each in self._columns if isinstance(each, PhysicalColumn)}
        for name in self._key:
            if name not in types:
                raise SqlValidationError(f"the primary key has a column {name!r} that is not there")
            if types[name].nullable:
                raise SqlValidationError(
                    f"the column {name!r} of the primary key may be NULL",
                    hint=f"declare it as {types[name].summary} NOT NULL",
                )

    def rel(self, gives: StreamRows = "inserts") -> Rel:
        """Return the relation."""
        declared = [each for each in self._columns if isinstance(each, PhysicalColumn)]
        physical = [*declared, *self._computed_from()]
        metadata = [each for each in self._columns if isinstance(each, MetadataColumn)]
        for each in metadata:
            check_metadata(each)
        own = self._watermark is not None and is_source_watermark(self._watermark)
        fields = tuple((each.name, Column(each.name, self._taken(each))) for each in physical)
        time = _TIMESTAMP if metadata else None
        whole = self._schema is None and gives == "inserts"
        taken = Taken(fields, time, own, gives, self._key, whole)
        scan = scan_of(self._session, self._stream, taken)
        rel = self._with_computed(self._with_types(scan, physical, metadata))
        if self._watermark is None:
            return rel
        if own:
            return _with_event_time(rel, self._watermark, self._session.queries.batch)
        converter = self._session.queries.resolver().converter
        return with_watermark(rel, self._watermark, converter, self._session.queries.batch)

    def _computed_from(self) -> list[PhysicalColumn]:
        """Return the fields that are not columns, but that computed columns read."""
        computed = [each for each in self._columns if isinstance(each, ComputedColumn)]
        read = {
            each.parts[0].name for one in computed for each in one.expression.find_all(exp.Column)
        }
        names = read - {each.name for each in self._columns}
        return [PhysicalColumn(name, kind) for name, kind in self._found.items() if name in names]

    def changed(self, mode: ChangelogMode) -> Rel:
        """Return the relation that rows of all kinds change."""
        if mode == ChangelogMode.insert_only():
            return self.rel()
        if self._session.queries.batch:
            raise SqlValidationError("in a batch, streams have inserts only")
        if mode.by_key and not self._key:
            raise SqlValidationError(
                "a stream of upserts needs a primary key",
                hint="Schema.new_builder()….primary_key('…')",
            )
        return self.rel("upserts" if mode.by_key else "changes")

    def _taken(self, column: PhysicalColumn) -> SqlType:
        """Return the type of a field, with the nullability that is declared."""
        found = self._found.get(column.name)
        if found is None:
            raise SqlValidationError(
                f"the records have no field {column.name!r}",
                where={"fields": ", ".join(self._found)},
            )
        if not _fits(found, column.type):
            raise SqlValidationError(
                f"the field {column.name!r} is {found}, and is declared as {column.type}",
                hint="declare its own type, and CAST it in a query",
            )
        return found.with_nullable(column.type.nullable)

    def _with_types(
        self, scan: Rel, physical: Sequence[PhysicalColumn], metadata: Sequence[MetadataColumn]
    ) -> Rel:
        by_name = {column.name: column for column in scan.columns}
        names, expressions = [], list[Expression]()
        for each in physical:
            names.append(each.name)
            expressions.append(_as(by_name[each.name], each.type))
        for one in metadata:
            names.append(one.name)
            expressions.append(cast(reference(by_name[TIMESTAMPS]), one.type))
        return _calc(scan, names, expressions)

    def _with_computed(self, rel: Rel) -> Rel:
        scope = scope_of(rel.columns)
        by_name = {column.name: column for column in rel.columns}
        names, expressions = [], list[Expression]()
        for each in self._columns:
            names.append(each.name)
            if isinstance(each, ComputedColumn):
                converter = self._session.queries.resolver().converter(scope)
                expressions.append(converter.expression(each.expression))
            else:
                expressions.append(reference(by_name[each.name]))
        return _calc(rel, names, expressions)


def is_source_watermark(watermark: WatermarkDefinition) -> bool:
    """Return whether the watermarks of the stream are those of the table."""
    return call_name(watermark.expression) == "SOURCE_WATERMARK"


def _watermark_of(schema: Schema | None) -> WatermarkDefinition | None:
    watermarks = () if schema is None else schema._watermarks
    if len(watermarks) > 1:
        raise SqlValidationError("a schema has one watermark, not more")
    return watermarks[0] if watermarks else None


def check_metadata(column: MetadataColumn) -> None:
    """Raise an error for metadata that records have not."""
    key = column.key or column.name
    if key != ROWTIME:
        raise SqlValidationError(
            f"records have no metadata {key!r}", where={"metadata": f"{ROWTIME}: {_TIMESTAMP}"}
        )


def _with_event_time(rel: Rel, watermark: WatermarkDefinition, batch: bool) -> Rel:
    """Return the rows, of which a column is the event time, with the watermarks that there are."""
    name = watermarked_column(rel, watermark).name
    columns = timed_columns(rel.columns, name, batch)
    if columns == rel.columns:
        return rel
    return Calc(rel, tuple(each.name for each in columns), tuple(map(reference, columns)))


def _fits(given: SqlType, declared: SqlType) -> bool:
    """Return whether values of a type are also values of a declared one, but for their digits."""
    return given.root == declared.root or {given.root, declared.root} <= {"CHAR", "VARCHAR"}


def _as(column: Column, kind: SqlType) -> Expression:
    found = reference(column)
    return found if column.type == kind else cast(found, kind)


def _calc(rel: Rel, names: Sequence[str], expressions: Sequence[Expression]) -> Rel:
    """Return new columns of the rows; the rows themselves where they are the same."""
    same = [reference(column) for column in rel.columns]
    if [column.name for column in rel.columns] == [*names] and same == [*expressions]:
        return rel
    return Calc(rel, tuple(names), tuple(expressions))
