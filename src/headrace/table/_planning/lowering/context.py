"""The shared state of lowering: the streams made so far, and operators that many relations need."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

from headrace.common.changelog_mode import ChangelogMode
from headrace.datastream._build.call_site import call_site
from headrace.datastream.data_stream import DataStream
from headrace.operators.columns.calc import CalcSpec
from headrace.runtime.columns.selectors import ByColumns
from headrace.runtime.operator import OperatorSpec
from headrace.sql.projection import Projection
from headrace.sql.rel import Columns, Rel, Scan, StreamScan, Values, arrow_schema, reference
from headrace.sql.rules.changelog import INSERTS, changelog_mode
from headrace.table._planning.lowering.operator_ids import OperatorIds
from headrace.table._planning.options import PlanningOptions


class Streams(Protocol):
    """Makes the source streams of plans. Records are rows with the columns' fields."""

    def scan(self, scan: Scan, uid: str, dictionaries: bool = False) -> DataStream:
        """Return the rows of a table.

        ``uid``: of its source. ``dictionaries``: texts may be dictionary-encoded.
        """

    def stream(self, scan: StreamScan) -> DataStream:
        """Return the records of a stream that the program gave."""

    def values(self, values: Values) -> DataStream:
        """Return constant rows."""

    def mode(self, scan: Scan) -> ChangelogMode:
        """Return the row kinds of a table."""

    def projects(self, scan: Scan) -> bool:
        """Return whether a table's source can leave out columns."""

    def columns_of_files(self, scan: Scan) -> frozenset[str]:
        """Return the columns of a table with the same value in all rows of a file."""

    def locator(self, scan: Scan) -> str:
        """Return what a table reads."""


class LoweringContext(ABC):
    """Makes streams of plans; equal plans are one stream."""

    def __init__(self, streams: Streams, options: PlanningOptions) -> None:
        self.options = options
        self.streams = streams
        self.ids = OperatorIds(streams.locator, streams.mode, options.time_zone)
        self._made: dict[Rel, DataStream] = {}
        self._scans: dict[Scan, DataStream] = {}
        """The rows of tables, whose texts may be dictionary-encoded."""

    @abstractmethod
    def operator(self, rel: Rel) -> DataStream:
        """Return a new stream of a plan's rows."""

    def lower(self, rel: Rel) -> DataStream:
        """Return the stream of a plan's rows."""
        made = self._made.get(rel)
        if made is None:
            scan = self._scans.get(rel) if isinstance(rel, Scan) else None
            made = self.operator(rel) if scan is None else self.select(scan, rel.columns)
            self._made[rel] = made
        return made

    def lower_encoded(self, rel: Rel) -> DataStream:
        """Return the stream of a plan's rows; its texts may be dictionary-encoded."""
        if not isinstance(rel, Scan) or rel in self._made:
            return self.lower(rel)
        found = self._scans.get(rel)
        if found is None:
            found = self.streams.scan(rel, self.ids.of_source(rel), dictionaries=True)
            self._scans[rel] = found
        return found

    def mode(self, rel: Rel) -> ChangelogMode:
        """Return the row kinds of a plan."""
        return changelog_mode(rel, self.streams.mode, self.options.batch, self.options.ttl_ms)

    def declared_mode(self, rel: Rel) -> ChangelogMode:
        """Return the row kinds that Flink declares: every aggregation may give updates."""
        ttl_ms = max(self.options.ttl_ms, 1)
        return changelog_mode(rel, self.streams.mode, self.options.batch, ttl_ms)

    def changes(self, rel: Rel) -> bool:
        """Return whether rows of a plan may be retracted or replaced."""
        return self.mode(rel) != INSERTS

    def select(
        self, stream: DataStream, given: Columns, wanted: Columns | None = None
    ) -> DataStream:
        """Return the rows of a stream with some of its columns, in another order; None: all."""
        chosen = given if wanted is None else wanted
        names = tuple(column.name for column in chosen)
        spec = CalcSpec(
            Projection(given, names, tuple(map(reference, chosen))), arrow_schema(given)
        )
        return stream._add(spec, call_site(), "sql")

    def keyed(
        self, before: DataStream, keys: tuple[str, ...], spec: OperatorSpec, rel: Rel
    ) -> DataStream:
        """Return the output of the operator of a relation; its state has its own id."""
        keyed = before.key_by(ByColumns(*keys))
        made = keyed._add(spec, call_site(), "sql", inputs=keyed._keyed_edges())
        by_ttl = any(map(self._changes_by_ttl, rel.inputs))
        return made.uid(self.ids.of(rel, *(["retracts"] if by_ttl else [])))

    def _changes_by_ttl(self, rel: Rel) -> bool:
        """Return whether rows are retracted only because state has a time-to-live.

        An operator over them has other state than one over rows that are only added.
        """
        without = changelog_mode(rel, self.streams.mode, self.options.batch)
        return without == INSERTS and self.changes(rel)
