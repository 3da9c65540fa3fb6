"""From the plans of INSERTs to sinks of a job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from headrace.common.changelog_mode import ChangelogMode
from headrace.connector import Sink
from headrace.datastream._build.call_site import call_site
from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError
from headrace.operators.columns.constraints import UpsertChangesSpec
from headrace.operators.columns.materialize import UpsertMaterializerSpec
from headrace.runtime.columns.selectors import ByColumns
from headrace.sql.definitions import MetadataColumn
from headrace.sql.rel import Rel, Scan, arrow_schema, walk
from headrace.sql.resolve.fitting import fitted
from headrace.sql.resolve.tables import written_columns
from headrace.sql.rules.conflicts import SinkChanges, sink_changes
from headrace.table._connectors.connector import MetadataField, TableRequest
from headrace.table._connectors.registry import find_connector
from headrace.table._planning.lowering.lowering import Lowering
from headrace.table._planning.options import PlanningOptions
from headrace.table._planning.targets import PlannedInsert, Target


def required_of_result(rel: Rel) -> tuple[str, ...]:
    """Return the columns of a query's result to look for NULLs in.

    Only a source may have NULLs where it says that there are none.
    """
    scans = [each for each in walk(rel) if isinstance(each, Scan)]
    if all(column.type.nullable for scan in scans for column in scan.columns):
        return ()
    return tuple(column.name for column in rel.columns if not column.type.nullable)


@dataclass(frozen=True)
class SinkPlan:
    """The rows of an INSERT with the columns of its table, and the sink."""

    target: Target
    rel: Rel
    sink: Sink
    changes: SinkChanges
    primary_key: tuple[str, ...]
    required: tuple[str, ...]


class TableSinks:
    """Plans the sinks of tables, and adds them to a job."""

    def __init__(self, lowering: Lowering, options: PlanningOptions) -> None:
        self._lowering = lowering
        self._options = options

    def add(self, plan: SinkPlan) -> None:
        """Write the rows of a plan into its table."""
        target, drops = plan.target, self._options.drops_nulls
        stream = self._lowering.lower_required(plan.rel, plan.required, target.name, drops)
        uid = self._lowering.ids.of_sink(f"{target.full_name} {plan.sink.locator}")
        self._with_changes(stream, plan).sink_to(plan.sink).uid(uid)

    def plans_of_job(self, inserts: Sequence[PlannedInsert]) -> list[SinkPlan]:
        """Return the plans of the only INSERTs of a job; ``plan`` has the errors."""
        plans = [self.plan(each) for each in inserts]
        rels = self._lowering.planned_together([each.rel for each in plans])
        return [replace(plan, rel=rel) for plan, rel in zip(plans, rels, strict=True)]

    def plan(self, insert: PlannedInsert) -> SinkPlan:
        """Return what an INSERT means for its table.

        Raises:
            SqlValidationError: the table cannot be written, or does not take the query's changes.
        """
        definition, name = insert.target.definition, insert.target.name
        columns = written_columns(definition)
        rel = self._lowering.planned(fitted(insert.rel, columns, (), name))
        key = () if definition.primary_key is None else definition.primary_key.columns
        options = {**dict(definition.options), **dict(insert.hints)}
        identifier = options.pop("connector", None)
        connector = find_connector(identifier, name, options)
        if insert.overwrite and not connector.overwrites:
            raise SqlValidationError(
                f"table {name!r} cannot be overwritten: its connector {identifier!r} only appends"
            )
        metadata = tuple(
            MetadataField(each.name, each.key or each.name)
            for each in definition.columns
            if isinstance(each, MetadataColumn) and not each.virtual
        )
        if metadata and not connector.writes_metadata:
            raise SqlValidationError(
                f"table {name!r} has metadata that its connector {identifier!r} does not write",
                where={"column": metadata[0].name},
                hint="declare the column VIRTUAL",
            )
        request = TableRequest(
            name,
            columns,
            options,
            metadata,
            primary_key=key,
            partition_keys=definition.partitioned_by,
            batch=self._options.batch,
            time_zone=self._options.time_zone,
            overwrite=insert.overwrite,
        )
        sink = connector.sink(request).sink
        mode = self._lowering.mode(rel)
        changes = SinkChanges()
        if not self._options.batch:
            changes = sink_changes(
                rel, mode, sink.accepts, key, insert.action, self._options.materialize, name
            )
        _check_mode(self._lowering.declared_mode(rel), changes, sink.accepts, name)
        required = tuple(
            each.name for each in columns if not each.type.nullable or each.name in key
        )
        return SinkPlan(insert.target, rel, sink, changes, key, required)

    def _with_changes(self, stream: DataStream, plan: SinkPlan) -> DataStream:
        schema, changes = arrow_schema(plan.rel.columns), plan.changes
        if changes.materialized:
            keyed = stream.key_by(ByColumns(*plan.primary_key))
            spec = UpsertMaterializerSpec(schema, changes.upsert_key, self._options.ttl_ms)
            made = keyed._add(spec, call_site(), "sql", inputs=keyed._keyed_edges())
            columns = [*plan.primary_key, "", *(changes.upsert_key or ("",))]
            names = [each.name for each in plan.rel.columns]
            places = (str(names.index(each)) if each else "" for each in columns)
            target = plan.sink.locator or plan.target.name
            uid = self._lowering.ids.of_rows(plan.rel, "materialize", target, *places)
            return made.uid(uid)
        if changes.updates_before == "kept":
            return stream
        deletes = changes.updates_before == "deletes"
        return stream._add(UpsertChangesSpec(schema, deletes), call_site(), "sql")


def _check_mode(
    mode: ChangelogMode, changes: SinkChanges, accepts: ChangelogMode | None, table: str
) -> None:
    if changes.materialized or changes.updates_before != "kept":
        mode = ChangelogMode.upsert()
    if not mode.is_accepted_by(accepts):
        raise SqlValidationError(
            f"table {table!r} does not accept the changes of this query",
            where={"it accepts": str(accepts), "the query gives": str(mode)},
            hint="insert into a table that accepts changes (upsert-kafka, print), or aggregate in"
            " windows",
        )
