"""From a plan of SQL to streams: one operator for each of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from headrace.common.changelog_mode import ChangelogMode
from headrace.datastream._build.call_site import call_site
from headrace.datastream._windows.session_assigners import (
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from headrace.datastream.data_stream import DataStream
from headrace.errors import SqlValidationError
from headrace.operators.columns.accumulator import Accumulator, Aggregated
from headrace.operators.columns.calc import BatchFunction, CalcSpec
from headrace.operators.columns.changelog_normalize import ChangelogNormalizeSpec
from headrace.operators.columns.constraints import NotNullSpec
from headrace.operators.columns.count_windows import CountWindowSpec
from headrace.operators.columns.group_aggregate import GroupAggregateSpec
from headrace.operators.columns.set_operation import SetOperationSpec
from headrace.operators.columns.sort import LimitSpec, SortSpec
from headrace.operators.columns.time_sort import ClockSortSpec, TimeSortSpec
from headrace.operators.columns.window_aggregate import WindowAggregateSpec
from headrace.operators.columns.window_sessions import SessionAggregateSpec
from headrace.operators.columns.window_updates import WindowUpdatesSpec
from headrace.operators.columns.window_zones import LocalTime
from headrace.runtime.columns.selectors import ByColumns
from headrace.runtime.layout import SQL_UIDS
from headrace.runtime.operator import OperatorSpec
from headrace.sql.aggregates.table import find_aggregate, make_accumulator
from headrace.sql.expressions import Call, Expression, PythonCall, walk
from headrace.sql.fingerprint import Fingerprints, digest
from headrace.sql.projection import Projection
from headrace.sql.python_function import AggregateImplementation, PythonFunction, Signature
from headrace.sql.refusals import refuse
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    ChangelogNormalize,
    Column,
    Columns,
    Correlate,
    CountWindowAggregate,
    Expand,
    OverInput,
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
    WindowSpec,
    arrow_schema,
    reference,
)
from headrace.sql.repeating import AssignedWindows, Correlated, GroupingSets, Unnested
from headrace.sql.rules.changelog import INSERTS, changelog_mode
from headrace.sql.rules.emit import EmitOptions, with_emit_strategies
from headrace.sql.rules.no_rows import with_results_of_no_rows
from headrace.sql.rules.normalize import with_normalized_sources
from headrace.sql.rules.one_group import ALL, with_a_group, with_constant_key
from headrace.sql.rules.sides import SIDE, with_side
from headrace.sql.rules.time_order import time_order
from headrace.sql.rules.unique_groups import without_groups_of_one
from headrace.sql.rules.windows import with_window_aggregates
from headrace.sql.types import BOOLEAN, SqlType, TimestampLtzType
from headrace.table._functions.asynchronous import AsyncImplementation, AsyncSettings
from headrace.table._planning.watermarks import (
    WATERMARK,
    constant_delay_ms,
    strategy_of,
    with_options_of_table,
)
from headrace.table._planning.windows import SessionRows, check_aggregates, slices_of

_THERE = "$there"
"""The column that says which rows there are, of a condition."""


class Streams(Protocol):
    """Makes the streams that plans begin with. Records are rows with the columns' fields."""

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

    def locator(self, scan: Scan) -> str:
        """Return what a table reads."""


class Lowering:
    """Makes streams of plans; equal plans are one stream."""

    def __init__(
        self,
        streams: Streams,
        *,
        batch: bool,
        time_zone: str,
        mini_batch: bool = False,
        duplicates: bool = False,
        ttl_ms: int = 0,
        async_settings: AsyncSettings | None = None,
        emit: EmitOptions | None = None,
    ) -> None:
        self._streams = streams
        self._batch = batch
        self._mini_batch = mini_batch
        self._duplicates = duplicates
        self.ttl_ms = ttl_ms
        self._async_settings = async_settings or AsyncSettings()
        self._emit = EmitOptions() if emit is None else emit
        self._time_zone = time_zone
        self._made: dict[Rel, DataStream] = {}
        self._scans: dict[Scan, DataStream] = {}
        """The rows of tables, whose texts may be dictionary-encoded."""
        self._fingerprints = Fingerprints(self._describe_scan, time_zone)
        self._uids: dict[str, int] = {}
        """How many operators with state each uid was computed for."""

    def planned(self, rel: Rel) -> Rel:
        """Return the plan of a resolved relation that is lowered and explained."""
        rel = without_groups_of_one(with_results_of_no_rows(with_window_aggregates(rel)))
        if self._batch:
            return rel
        rel = with_emit_strategies(rel, self._emit)
        return with_normalized_sources(rel, self._streams.mode, self._duplicates)

    def lower(self, rel: Rel) -> DataStream:
        """Return the stream of a plan's rows."""
        made = self._made.get(rel)
        if made is None:
            made = self._made[rel] = self._lower(rel)
        return made

    def lower_required(
        self, rel: Rel, required: tuple[str, ...], table: str, drops: bool = False
    ) -> DataStream:
        """Return the stream of rows for a table, of which some columns must not be NULL.

        ``drops``: rows with such a NULL are left out; otherwise the job fails.
        """
        stream = self.lower(rel)
        if not required:
            return stream
        spec = NotNullSpec(arrow_schema(rel.columns), required, drops)
        return stream._add(spec, call_site(), "sql").name(f"NotNull({table})")

    def mode(self, rel: Rel) -> ChangelogMode:
        """Return the row kinds of a plan."""
        return changelog_mode(rel, self._streams.mode, self._batch)

    def uid_of_rows(self, rel: Rel, kind: str, *more: str) -> str:
        """Return the uid of an operator with state that takes the rows of a relation.

        ``more``: what else says what it does.
        """
        return self._uid(kind, "\n".join((self._fingerprints.rows(rel), *more)))

    def sink_uid(self, target: str) -> str:
        """Return the uid of a sink, by the table that it writes."""
        return self._uid("sink", target)

    def _scan_uid(self, scan: Scan) -> str:
        return self._uid("source", f"{scan.table[-1]} {self._describe_scan(scan)}")

    def _operator_uid(self, rel: Rel) -> str:
        return self._uid(type(rel).__name__.lower(), self._fingerprints.operator(rel))

    def _uid(self, kind: str, text: str) -> str:
        """Return a uid by what an operator computes, and of what.

        So a statement that changes elsewhere goes on from its state. Operators that compute the
        same are numbered.
        """
        found = f"{SQL_UIDS}{kind}-{digest(text)[:16]}"
        count = self._uids[found] = self._uids.get(found, 0) + 1
        return found if count == 1 else f"{found}-{count}"

    def _describe_scan(self, scan: Scan) -> str:
        return f"{self._streams.locator(scan)} {self._streams.mode(scan)}"

    def _lower(self, rel: Rel) -> DataStream:
        match rel:
            case Scan() if rel in self._scans:
                return self._select(self._scans[rel], rel.columns, rel.columns)
            case Scan():
                return self._streams.scan(rel, self._scan_uid(rel))
            case StreamScan():
                return self._streams.stream(rel)
            case Values():
                return self._streams.values(rel).uid(self._operator_uid(rel))
            case Watermark():
                return self._watermark(rel)
            case Calc():
                return self._calc(rel)
            case ChangelogNormalize():
                return self._normalized(rel)
            case Aggregate():
                return self._aggregate(rel)
            case WindowAggregate():
                return self._window_aggregate(rel)
            case CountWindowAggregate():
                return self._count_window_aggregate(rel)
            case Expand():
                return self._repeated(rel.input, GroupingSets(rel), "Expand")
            case Unnest():
                return self._repeated(rel.input, Unnested(rel, self._time_zone), "Unnest")
            case Correlate():
                self._check_deterministic(rel, (rel.call,))
                return self._repeated(rel.input, Correlated(rel, self._time_zone), "Correlate")
            case Window() if rel.window.kind != "SESSION":
                self._check_clock(rel.window)
                windows = AssignedWindows(rel, self._time_zone)
                return self._repeated(rel.input, windows, "WindowTableFunction")
            case Window():
                return self._session_rows(rel)
            case Sort():
                return self._sort(rel)
            case SetOperation():
                return self._set_operation(rel)
            case Union():
                first, *others = [self.lower(part) for part in rel.parts]
                return first.union(*others) if others else first
        refuse(type(rel).__name__)

    def _select(self, stream: DataStream, given: Columns, wanted: Columns) -> DataStream:
        """Return the rows of a stream with some of its columns, in another order."""
        names = tuple(column.name for column in wanted)
        function = Projection(given, names, tuple(map(reference, wanted)))
        spec = CalcSpec(function, arrow_schema(given))
        return stream._add(spec, call_site(), "sql")

    def _repeated(self, before: Rel, function: BatchFunction, name: str) -> DataStream:
        spec = CalcSpec(self._configured(function), arrow_schema(before.columns))
        stream = self.lower(before)._add(spec, call_site(), "sql").name(name)
        return stream.set_description(f"{name}({function.summary})")

    def _check_time_zone(self, columns: Columns, time: str) -> None:
        """Refuse sessions of local time, which are shorter or longer where clocks are changed."""
        (kind,) = [column.type for column in columns if column.name == time]
        if isinstance(kind, TimestampLtzType) and self._time_zone != "UTC":
            refuse(f"a window over {kind.summary} in the time zone {self._time_zone}")

    def _check_deterministic(self, rel: OverInput, computed: Sequence[Expression]) -> None:
        """Refuse results that could not be taken back: they would differ from those given."""
        for each in (each for expression in computed for each in walk(expression)):
            changes = isinstance(each, PythonCall) and not each.function.deterministic
            if changes and self.mode(rel.input) != INSERTS:
                refuse(f"the function {each} over rows that change, as it is not deterministic,")

    def _watermark(self, rel: Watermark) -> DataStream:
        if self._batch:  # times may be NULL: windows read the column, and leave such rows out
            return self.lower(rel.input)
        columns = rel.input.columns
        names, expressions = [c.name for c in columns], [*map(reference, columns)]
        delay_ms = constant_delay_ms(rel)
        if delay_ms is None:
            names.append(WATERMARK)
            expressions.append(rel.expression)  # type: ignore[arg-type]
        timed = self._calc(Calc(rel.input, tuple(names), tuple(expressions)), rel.column)
        strategy = with_options_of_table(strategy_of(delay_ms), rel.input)
        stream = timed.assign_timestamps_and_watermarks(strategy)
        if delay_ms is not None:
            return stream
        made = (*columns, Column(WATERMARK, rel.expression.type))
        return self._select(stream, made, columns)

    def _calc(self, rel: Calc, time: str | None = None) -> DataStream:
        columns = rel.input.columns
        computed = rel.expressions if rel.condition is None else (*rel.expressions, rel.condition)
        self._check_deterministic(rel, computed)
        function = Projection(columns, rel.names, rel.expressions, rel.condition, self._time_zone)
        spec = CalcSpec(self._configured(function), arrow_schema(columns), time)
        stream = self._before_calc(rel.input)._add(spec, call_site(), "sql")
        return stream.set_description(f"Calc({function.summary})")

    def _before_calc(self, rel: Rel) -> DataStream:
        """Return the stream of a plan's rows, of which texts may be dictionary-encoded."""
        if not isinstance(rel, Scan) or rel in self._made:
            return self.lower(rel)
        found = self._scans.get(rel)
        if found is None:
            found = self._streams.scan(rel, self._scan_uid(rel), dictionaries=True)
            self._scans[rel] = found
        return found

    def _configured(self, function: BatchFunction) -> BatchFunction:
        """Return a function whose asynchronous functions are called as the job's options say."""
        settings = self._async_settings
        configured = {
            each: each.configured(settings) if isinstance(each, AsyncImplementation) else each
            for each in function.functions
        }
        return function.with_functions(configured) if configured else function

    def _aggregate(self, rel: Aggregate) -> DataStream:
        given = self.mode(rel.input)
        for call in rel.calls:
            if not self._batch and call.python and _implementation(call.python).vectorised:
                refuse(
                    f"the vectorised aggregate function {call.function} in a stream, not in"
                    " windows,"
                )
        if rel.keys:
            before, keys = rel.input, rel.keys
        elif self._batch:
            return self.lower(with_a_group(rel))
        else:
            before, keys = with_constant_key(rel.input), (ALL,)
        key_columns = _chosen(before.columns, keys)
        results = tuple(column for column in rel.columns if column.name not in rel.keys)
        result = (*key_columns, *results)
        spec = GroupAggregateSpec(
            keys,
            self._aggregates(rel.calls, rel.input.columns, given != INSERTS),
            arrow_schema(before.columns),
            arrow_schema(result),
            retracts=given != INSERTS,
            folds=self._mini_batch,
            ttl_ms=self._ttl_ms_of(rel),
            emits="last" if self._batch else "each",
        )
        stream = self._keyed(before, keys, spec, rel)
        shown = f"GroupAggregate(groupBy=[{', '.join(rel.keys)}], {_calls(rel.calls)})"
        stream = stream.set_description(shown)
        return stream if rel.keys else self._select(stream, result, rel.columns)

    def _ttl_ms_of(self, rel: Aggregate) -> int:
        if self._batch:
            return 0
        return self.ttl_ms if rel.ttl_ms is None else rel.ttl_ms

    def _aggregates(
        self, calls: Sequence[AggregateCall], columns: Columns, retracts: bool
    ) -> tuple[Aggregated, ...]:
        types = {column.name: column.type for column in columns}
        made = []
        for call in calls:
            if call.python is not None:
                accumulator = self._python_accumulator(call, call.python, types, retracts)
                made.append(Aggregated(accumulator, call.arguments, call.filter))
                continue
            function = find_aggregate(call.function)
            assert function is not None, call
            accumulator = make_accumulator(
                function,
                [types[name] for name in call.arguments],
                call.type,
                distinct=call.distinct,
                retracts=retracts,
                constants=call.options,
            )
            made.append(Aggregated(accumulator, call.arguments, call.filter))
        return tuple(made)

    def _python_accumulator(
        self,
        call: AggregateCall,
        function: PythonFunction,
        types: Mapping[str, SqlType],
        retracts: bool,
    ) -> Accumulator:
        implementation = _implementation(function)
        if retracts and implementation.lacks_retract:
            refuse(f"the aggregate function {call.function} without retract, over rows that change")
        arguments = tuple(types[name] for name in call.arguments)
        signature = Signature(call.function, arguments, call.type, call.row_names)
        return implementation.accumulator(signature, self._time_zone, distinct=call.distinct)

    def _keyed(
        self, before: Rel, keys: tuple[str, ...], spec: OperatorSpec, rel: Rel
    ) -> DataStream:
        keyed = self.lower(before).key_by(ByColumns(*keys))
        made = keyed._add(spec, call_site(), "sql", inputs=keyed._keyed_edges())
        return made.uid(self._operator_uid(rel))

    def _normalized(self, rel: ChangelogNormalize) -> DataStream:
        columns, condition = rel.columns, None
        if rel.condition is not None:
            condition = Projection(columns, (_THERE,), (rel.condition,), None, self._time_zone)
        if self.ttl_ms:
            refuse("rows by key with table.exec.state.ttl")
        spec = ChangelogNormalizeSpec(
            rel.keys, arrow_schema(columns), condition, folds=self._mini_batch
        )
        stream = self._keyed(rel.input, rel.keys, spec, rel)
        return stream.set_description(f"ChangelogNormalize(key=[{', '.join(rel.keys)}])")

    def _sort(self, rel: Sort) -> DataStream:
        before = with_constant_key(rel.input)
        schema = arrow_schema(before.columns)
        if self._batch:
            spec: OperatorSpec = SortSpec(rel.keys, rel.offset, rel.limit, schema)
        elif rel.keys and (rel.limit is not None or rel.offset):
            refuse("ORDER BY with LIMIT or OFFSET in a stream (Top-N)")
        elif self.mode(rel.input) != INSERTS:
            refuse(f"{'ORDER BY' if rel.keys else 'LIMIT'} of rows that change in a stream")
        elif rel.keys:
            by_clock = time_order(rel) == "proctime"
            spec = (
                ClockSortSpec(rel.keys[1:], schema) if by_clock else TimeSortSpec(rel.keys, schema)
            )
        elif rel.limit is None:
            refuse("OFFSET without LIMIT in a stream")
        elif self.ttl_ms:
            refuse("LIMIT in a stream with table.exec.state.ttl")
        else:
            spec = LimitSpec(rel.offset, rel.limit, schema)
        stream = self._keyed(before, (ALL,), spec, rel)
        return self._select(stream, before.columns, rel.columns)

    def _set_operation(self, rel: SetOperation) -> DataStream:
        sided = Union((with_side(rel.left, left=True), with_side(rel.right, left=False)))
        if self.ttl_ms and not self._batch:
            refuse(f"{rel.kind} with table.exec.state.ttl")
        spec = SetOperationSpec(
            rel.kind,
            rel.all,
            SIDE,
            arrow_schema(sided.columns),
            arrow_schema(rel.columns),
            emits="last" if self._batch else "each",
        )
        keys = tuple(column.name for column in rel.columns)
        stream = self._keyed(sided, keys, spec, rel)
        return stream.set_description(f"{rel.kind}{' ALL' if rel.all else ''}")

    def _window_aggregate(self, rel: WindowAggregate) -> DataStream:
        given = self.mode(rel.input)
        for call in rel.calls:
            merged = call.python if rel.window.kind == "SESSION" else None
            if merged is not None and _implementation(merged).lacks_merge:
                refuse(f"the aggregate function {call.function} without merge, in SESSION windows")
        before, keys = rel.input, rel.keys
        window = rel.window
        if not (self._batch or window.grouped) and window.size_ms % (window.slide_ms or 1):
            raise SqlValidationError(
                f"an aggregation over {window.kind} needs a size ({window.size_ms} ms) that is a"
                f" multiple of the slide ({window.slide_ms} ms)"
            )
        check_aggregates(rel)
        if not keys:
            before, keys = with_constant_key(before), (ALL,)
        columns = before.columns
        clock = window.processing_time
        self._check_clock(window)
        timed = self.lower(before) if clock else self._with_time(before, window.time)
        aggregates = self._aggregates(rel.calls, columns, retracts=given != INSERTS)
        results = {call.name for call in rel.calls}
        made = (
            *_chosen(columns, keys),
            *(column for column in rel.columns if column.name in results),
            *(column for column, _ in rel.borders),
        )
        local = rel.of_moments and self._time_zone != "UTC"
        zone = LocalTime(self._time_zone) if local else None
        schemas = arrow_schema(columns), arrow_schema(made)
        borders, retracts = tuple(border for _, border in rel.borders), given != INSERTS
        spec: OperatorSpec
        if window.kind == "SESSION":
            self._check_streaming()
            gap_ms = window.size_ms
            spec = SessionAggregateSpec(
                keys,
                gap_ms,
                aggregates,
                *schemas,
                borders,
                retracts,
                local=zone,
                processing_time=clock,
            )
        elif rel.emit is not None:
            spec = WindowUpdatesSpec(
                keys, slices_of(rel, zone), aggregates, *schemas, borders, rel.emit, clock
            )
        else:
            slices = slices_of(rel, zone)
            spec = WindowAggregateSpec(
                keys, slices, aggregates, *schemas, borders, retracts, processing_time=clock
            )
        keyed = timed.key_by(ByColumns(*keys))
        stream = keyed._add(spec, call_site(), "sql", inputs=keyed._keyed_edges())
        emit = "" if rel.emit is None else f", emit=[{rel.emit}]"
        stream = stream.uid(self._operator_uid(rel)).set_description(
            f"WindowAggregate({rel.window}, groupBy=[{', '.join(rel.keys)}], {_calls(rel.calls)}"
            f"{emit})"
        )
        return self._select(stream, made, rel.columns)

    def _count_window_aggregate(self, rel: CountWindowAggregate) -> DataStream:
        if self._batch:
            refuse("a window of a number of rows in a batch")
        if self.mode(rel.input) != INSERTS:
            refuse("a window of a number of rows over rows that change")
        before, keys = rel.input, rel.keys
        if not keys:
            before, keys = with_constant_key(before), (ALL,)
        results = tuple(column for column in rel.columns if column.name not in rel.keys)
        made = (*_chosen(before.columns, keys), *results)
        spec = CountWindowSpec(
            keys,
            rel.size,
            rel.slide,
            self._aggregates(rel.calls, before.columns, retracts=False),
            arrow_schema(before.columns),
            arrow_schema(made),
        )
        stream = self._keyed(before, keys, spec, rel).set_description(
            f"CountWindowAggregate(size={rel.size}, slide={rel.slide},"
            f" groupBy=[{', '.join(rel.keys)}], {_calls(rel.calls)})"
        )
        return self._select(stream, made, rel.columns)

    def _check_streaming(self) -> None:
        """Refuse sessions in a batch, as Flink does."""
        if self._batch:
            refuse("SESSION in a batch")

    def _check_clock(self, window: WindowSpec) -> None:
        """Refuse windows by processing time in a batch, as Flink does."""
        if self._batch and window.processing_time:
            refuse("a window by processing time in a batch")

    def _with_time(self, rel: Rel, time: str) -> DataStream:
        """Return rows whose timestamps are those of a column; in a batch, those that have one."""
        names = tuple(column.name for column in rel.columns)
        (at,) = (column for column in rel.columns if column.name == time)
        there = Call(BOOLEAN.with_nullable(False), "IS NOT NULL", (reference(at),))
        condition = there if self._batch and at.type.nullable else None
        return self._calc(Calc(rel, names, tuple(map(reference, rel.columns)), condition), time)

    def _session_rows(self, rel: Window) -> DataStream:
        """Return the rows of sessions, which each session gives when it has ended."""
        self._check_streaming()
        self._check_clock(rel.window)
        self._check_time_zone(rel.input.columns, rel.window.time)
        if self.mode(rel.input) != INSERTS:
            refuse("SESSION over rows that change")
        before, keys = rel.input, rel.window.keys
        if not keys:
            before, keys = with_constant_key(before), (ALL,)
        function = SessionRows(
            tuple(column.name for column in rel.columns),
            len(rel.input.columns),
            isinstance(rel.columns[-1].type, TimestampLtzType),
        )
        if rel.window.processing_time:
            timed = self.lower(before)
            assigner: Any = ProcessingTimeSessionWindows(rel.window.size_ms)
        else:
            timed = self._with_time(before, rel.window.time)
            assigner = EventTimeSessionWindows(rel.window.size_ms)
        windowed = timed.key_by(ByColumns(*keys)).window(assigner)
        stream = windowed.apply(function).uid(self._operator_uid(rel)).name("WindowTableFunction")
        stream = stream.set_description(f"WindowTableFunction({rel.window})")
        if not rel.window.processing_time:
            return self._select(stream, rel.columns, rel.columns)
        *kept, time = rel.columns  # which is the present one
        values = (*map(reference, kept), Call(time.type, "PROCTIME", ()))
        projection = Projection(rel.columns, tuple(each.name for each in rel.columns), values)
        return stream._add(CalcSpec(projection, arrow_schema(rel.columns)), call_site(), "sql")


def _implementation(function: PythonFunction) -> AggregateImplementation:
    return cast(AggregateImplementation, function.implementation)


def _chosen(columns: Columns, names: Sequence[str]) -> Columns:
    by_name = {column.name: column for column in columns}
    return tuple(by_name[name] for name in names)


def _calls(calls: Sequence[AggregateCall]) -> str:
    return f"select=[{', '.join(map(str, calls))}]"
