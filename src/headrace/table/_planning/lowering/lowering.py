"""From a plan of SQL to streams: one operator for each of its nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module

from headrace.datastream._build.call_site import call_site
from headrace.datastream.data_stream import DataStream
from headrace.operators.columns.constraints import NotNullSpec
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Aggregate,
    Calc,
    ChangelogNormalize,
    Correlate,
    CountWindowAggregate,
    Expand,
    Rel,
    Scan,
    SetOperation,
    Sort,
    StreamScan,
    Union,
    Unnest,
    Values,
    Watermark,
    Window,
    WindowAggregate,
    arrow_schema,
)
from headrace.sql.repeating import GroupingSets, Unnested
from headrace.sql.rules.emit import with_emit_strategies
from headrace.sql.rules.no_rows import with_results_of_empty_inputs
from headrace.sql.rules.normalize import with_normalized_sources
from headrace.sql.rules.unique_groups import without_single_row_groups
from headrace.sql.rules.unread_columns import with_columns_read, without_unread_columns
from headrace.sql.rules.unread_files import with_files_read
from headrace.sql.rules.windows import with_window_aggregates
from headrace.table._planning.lowering.aggregates import (
    lower_aggregate,
    lower_count_window_aggregate,
)
from headrace.table._planning.lowering.calc import (
    lower_calc,
    lower_correlate,
    lower_repeated,
    lower_watermark,
)
from headrace.table._planning.lowering.context import LoweringContext

_LOWERED_ELSEWHERE: Mapping[type[Rel], str] = {
    ChangelogNormalize: "whole_rows:lower_changelog_normalize",
    SetOperation: "whole_rows:lower_set_operation",
    Sort: "sorting:lower_sort",
    Window: "windows:lower_window",
    WindowAggregate: "windows:lower_window_aggregate",
}
"""Modules beside this one, with functions of a relation. They are imported on use: their operators
are many, and most statements need none of them."""


class Lowering(LoweringContext):
    """Makes streams of the plans of a job."""

    def planned(self, rel: Rel) -> Rel:
        """Return the plan of a resolved relation that is lowered and explained."""
        rel = without_unread_columns(with_results_of_empty_inputs(with_window_aggregates(rel)))
        rel = without_single_row_groups(rel)
        if self.options.batch:
            return rel
        rel = with_emit_strategies(rel, self.options.emit)
        return with_normalized_sources(rel, self.streams.mode, self.options.duplicates)

    def planned_together(self, rels: Sequence[Rel]) -> list[Rel]:
        """Return the plans of a whole job, whose tables read only what they need."""
        narrow = with_columns_read(rels, self.streams.projects)
        return with_files_read(narrow, self.streams.columns_of_files, batch=self.options.batch)

    def planned_query(self, rel: Rel) -> Rel:
        """Return the plan of a job that is one query."""
        (made,) = self.planned_together([self.planned(rel)])
        return made

    def lower_required(
        self, rel: Rel, required: tuple[str, ...], table: str, drops: bool = False
    ) -> DataStream:
        """Return the stream of rows for a table; some of its columns must not be NULL.

        ``drops``: rows with such a NULL are left out; otherwise the job fails.
        """
        stream = self.lower(rel)
        if not required:
            return stream
        spec = NotNullSpec(arrow_schema(rel.columns), required, drops)
        return stream._add(spec, call_site(), "sql").name(f"NotNull({table})")

    def operator(self, rel: Rel) -> DataStream:
        match rel:
            case Scan():
                return self.streams.scan(rel, self.ids.of_source(rel))
            case StreamScan():
                return self.streams.stream(rel)
            case Values():
                return self.streams.values(rel).uid(self.ids.of(rel))
            case Watermark():
                return lower_watermark(self, rel)
            case Calc():
                return lower_calc(self, rel)
            case Aggregate():
                return lower_aggregate(self, rel)
            case CountWindowAggregate():
                return lower_count_window_aggregate(self, rel)
            case Expand():
                return lower_repeated(self, rel.input, GroupingSets(rel), "Expand")
            case Unnest():
                unnested = Unnested(rel, self.options.time_zone)
                return lower_repeated(self, rel.input, unnested, "Unnest")
            case Correlate():
                return lower_correlate(self, rel)
            case Union():
                first, *others = [self.lower(part) for part in rel.parts]
                return first.union(*others) if others else first
        return _function_of(rel)(self, rel)


def _function_of(rel: Rel) -> Callable[[LoweringContext, Rel], DataStream]:
    """Return the function that lowers a relation of this kind."""
    found = _LOWERED_ELSEWHERE.get(type(rel))
    if found is None:
        refuse(type(rel).__name__)
    module, _, name = found.partition(":")
    lower: Callable[[LoweringContext, Rel], DataStream] = getattr(
        import_module(f"{__package__}.{module}"), name
    )
    return lower
