"""The streams that plans begin with: tables of connectors, streams of the program, constants."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.types import row_of
from headrace.common.watermark_strategy import WatermarkStrategy
from headrace.datastream._build.call_site import call_site
from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError
from headrace.operators.columns.calc import CalcSpec
from headrace.sql.constant_rows import ConstantRows
from headrace.sql.rel import Columns, Rel, Scan, StreamRows, StreamScan, Values, arrow_schema
from headrace.table._connectors.connector import MetadataField, TableRequest, TableSource
from headrace.table._connectors.legacy_options import with_current_names
from headrace.table._connectors.registry import find_connector
from headrace.table._planning.options import PlanningOptions
from headrace.table._planning.watermark_options import watermark_options

if TYPE_CHECKING:
    from headrace.datastream.stream_execution_environment import StreamExecutionEnvironment


class ProgramStreams:
    """The streams of a program that tables are made of."""

    def __init__(self, env: StreamExecutionEnvironment) -> None:
        self._env = env
        self._streams: list[DataStream] = []

    def add(
        self,
        stream: DataStream,
        columns: Columns,
        *,
        name: str = "",
        gives: StreamRows = "inserts",
        primary_key: tuple[str, ...] = (),
    ) -> Rel:
        """Return the relation of a stream, whose records are rows with the columns' names.

        ``name``: identifies the stream in later programs; "": its number does.
        """
        number = len(self._streams)
        self._streams.append(stream)
        return StreamScan(number, columns, name or str(number), gives, primary_key)

    def add_values(self, columns: Columns, rows: Sequence[Sequence[Any]]) -> Rel:
        """Return the relation of rows that are known, with values as Arrow gives them."""
        names = tuple(column.name for column in columns)
        with self._env._job_apart():
            stream = self._env.from_collection([row_of(names, [*row]) for row in rows])
        return self.add(stream, columns)

    def find(self, scan: StreamScan) -> DataStream:
        """Return the stream of a relation."""
        return self._streams[scan.number]


class TableStreams:
    """Makes the streams in one environment."""

    def __init__(
        self, env: StreamExecutionEnvironment, streams: ProgramStreams, options: PlanningOptions
    ) -> None:
        self._env = env
        self._streams = streams
        self._batch = options.batch
        self._time_zone = options.time_zone
        self._sources: dict[Scan, TableSource] = {}

    def scan(self, scan: Scan, uid: str, dictionaries: bool = False) -> DataStream:
        """Return the rows of a table."""
        found = self._source(scan)
        source = found.with_dictionaries if dictionaries else None
        without = WatermarkStrategy.no_watermarks()
        stream = self._env.from_source(source or found.source, without, scan.table[-1]).uid(uid)
        if found.conversion is None:
            return stream
        return stream._add(
            CalcSpec(found.conversion, arrow_schema(scan.columns)), call_site(), "sql"
        )

    def stream(self, scan: StreamScan) -> DataStream:
        """Return the records of a stream that the program gave."""
        return self._streams.find(scan)

    def values(self, values: Values) -> DataStream:
        """Return constant rows, computed once."""
        names = tuple(column.name for column in values.fields)
        rows = ConstantRows(self._time_zone).values(values)
        return self._env.from_collection([row_of(names, [*row]) for row in rows])

    def mode(self, scan: Scan) -> ChangelogMode:
        """Return the row kinds of a table."""
        return self._whole(scan).mode

    def projects(self, scan: Scan) -> bool:
        """Return whether a table's source can leave out columns.

        A changelog is read whole: its rows replace each other by all their columns.
        """
        found = self._whole(scan)
        return found.projects and found.mode == ChangelogMode.insert_only()

    def columns_of_files(self, scan: Scan) -> frozenset[str]:
        """Return the columns of a table with the same value in all rows of a file."""
        found = self._whole(scan)
        return found.columns_of_files if found.mode == ChangelogMode.insert_only() else frozenset()

    def locator(self, scan: Scan) -> str:
        """Return what a table reads."""
        source = self._whole(scan).source
        return f"{source.kind} {source.locator}"

    def _whole(self, scan: Scan) -> TableSource:
        """Return the source of all columns and files: what it is like depends on neither."""
        return self._source(replace(scan, projection=None, files_where=None))

    def _source(self, scan: Scan) -> TableSource:
        found = self._sources.get(scan)
        if found is None:
            watermark_options(scan)  # wrong options are refused also in a table without a watermark
            options = with_current_names(scan.table[-1], dict(scan.options))
            connector = find_connector(options.pop("connector", None), scan.table[-1], options)
            request = TableRequest(
                scan.table[-1],
                scan.fields,
                options,
                tuple(MetadataField(name, key) for name, key in scan.metadata),
                scan.primary_key,
                scan.partitioned_by,
                projection=scan.projection,
                files_where=scan.files_where,
                batch=self._batch,
                time_zone=self._time_zone,
            )
            found = connector.source(request)
            if self._batch:
                _check_batch(scan, found)
            self._sources[scan] = found
        return found


def _check_batch(scan: Scan, found: TableSource) -> None:
    if found.mode != ChangelogMode.insert_only():
        raise SqlValidationError(
            f"table {scan.table[-1]!r} is a changelog, but a batch reads only inserts",
            where={"it gives": str(found.mode)},
            hint="read it in streaming mode",
        )
    if not found.source.bounded:
        raise SqlValidationError(
            f"table {scan.table[-1]!r} is unbounded, but a batch needs bounded tables",
            hint="read it in streaming mode, or set where it ends (scan.bounded.mode,"
            " number-of-rows)",
        )
