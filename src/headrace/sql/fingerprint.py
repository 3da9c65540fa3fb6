"""A text of what a relation computes. It is equal for plans with the same meaning.

It is the id of an operator with state in savepoints. So it does not depend on what does not change
the state: names of columns, views and subqueries, columns that are not read, successive
projections, the order of conditions, delays of watermarks, and options of tables that do not change
what is read. It does depend on the form in which an aggregate function keeps its state.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from headrace.sql.aggregates.table import find_aggregate
from headrace.sql.expressions import Call, ColumnRef, Expression, Literal, PythonCall
from headrace.sql.rel import (
    Aggregate,
    AggregateCall,
    Calc,
    ChangelogNormalize,
    Columns,
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
    WindowSpec,
)
from headrace.sql.types import SqlType, TimestampLtzType
from headrace.sql.zoned import has_moment, reads_time_zone

DescribeScan = Callable[[Scan], str]
"""Describes what a table reads, and which row kinds it emits."""

_LONGEST = 400
"""A longer text is replaced by its digest: with each projection, a text may grow many times."""


@dataclass(frozen=True)
class _Rows:
    """The rows of ``source`` that meet all ``conditions``; ``columns``: the text of each column by
    its name."""

    source: str
    columns: Mapping[str, str]
    conditions: frozenset[str] = field(default=frozenset())

    @property
    def text(self) -> str:
        """The text of the rows, without their columns."""
        return _call("where", [self.source, *sorted(self.conditions)])

    def of(self, names: Iterable[str]) -> list[str]:
        """Return the texts of columns."""
        return [self.columns[each] for each in names]


class Fingerprints:
    """Makes the texts for the plans of one statement.

    ``time_zone``: of the windows over a TIMESTAMP_LTZ.
    """

    def __init__(self, describe_scan: DescribeScan, time_zone: str) -> None:
        self._describe_scan = describe_scan
        self._time_zone = time_zone
        self._made: dict[Rel, _Rows] = {}

    def operator(self, rel: Rel) -> str:
        """Return the text of what the operator of a relation computes, and of its input."""
        return self._rows(rel).source

    def rows(self, rel: Rel) -> str:
        """Return the text of the rows of a relation, with all columns."""
        return _all_columns(self._rows(rel), rel.columns)

    def _rows(self, rel: Rel) -> _Rows:
        made = self._made.get(rel)
        if made is None:
            made = self._made[rel] = self._describe(rel)
        return made

    def _describe(self, rel: Rel) -> _Rows:
        match rel:
            case Scan():
                return self._scan(rel)
            case StreamScan():
                source = _call("stream", [rel.name, rel.gives, *rel.primary_key])
                return _Rows(source, _by_name(rel.columns))
            case Values():
                rows = [_call("row", [self._text(each, {}) for each in row]) for row in rel.rows]
                return _Rows(_call("values", rows), _by_place(rel.columns))
            case Union():
                parts = [_all_columns(self._rows(each), each.columns) for each in rel.parts]
                return _Rows(_call("union", sorted(parts)), _by_place(rel.columns))
            case SetOperation():
                parts = [self.rows(rel.left), self.rows(rel.right)]
                source = _call(f"{rel.kind} {rel.all}", parts)
                return _Rows(source, _by_place(rel.columns))
            case Calc():
                return self._calc(rel)
            case Watermark():
                below = self._rows(rel.input)
                source = _call("watermark", [below.text, below.columns[rel.column]])
                return _Rows(source, below.columns)
            case ChangelogNormalize():
                return self._normalized(rel)
            case Aggregate():
                return self._aggregate(rel)
            case WindowAggregate():
                return self._window_aggregate(rel)
            case CountWindowAggregate():
                return self._count_window_aggregate(rel)
            case Window():
                return self._window(rel)
            case Expand():
                return self._expand(rel)
            case Unnest():
                word = f"unnest {rel.outer} {rel.ordinality}"
                made = self._repeated(rel, (rel.expression,), word)
                if rel.condition is None:
                    return made
                kept = self._text(rel.condition, made.columns)
                return self._repeated(rel, (rel.expression,), f"{word} {kept}")
            case Correlate():
                return self._repeated(rel, (rel.call,), f"correlate {rel.outer}")
            case Sort():
                return self._sort(rel)
        raise AssertionError(f"no text of {type(rel).__name__}")

    def _scan(self, rel: Scan) -> _Rows:
        keys = dict(rel.metadata)
        # A line of CSV has no names, so a column is what stands at its place.
        places = any(key.endswith("format") and value == "csv" for key, value in rel.options)
        columns = {
            each.name: _call("metadata", [keys[each.name], str(each.type)])
            if each.name in keys
            else _named(f"{each.name} {place}" if places else each.name, each.type)
            for place, each in enumerate(rel.fields)
        }
        return _Rows(_call("scan", [rel.table[-1], self._describe_scan(rel)]), columns)

    def _calc(self, rel: Calc) -> _Rows:
        below = self._rows(rel.input)
        both = zip(rel.names, rel.expressions, strict=True)
        columns = {name: self._text(each, below.columns) for name, each in both}
        conditions = frozenset(self._conjuncts(rel.condition, below.columns))
        return _Rows(below.source, columns, below.conditions | conditions)

    def _normalized(self, rel: ChangelogNormalize) -> _Rows:
        below = self._rows(rel.input)
        conditions = sorted(self._conjuncts(rel.condition, below.columns))
        parts = [
            _all_columns(below, rel.columns),
            _call("key", below.of(rel.keys)),
            _call("where", conditions),
        ]
        return _Rows(_call("normalize", parts), _by_place(rel.columns))

    def _aggregate(self, rel: Aggregate) -> _Rows:
        below = self._rows(rel.input)
        parts = [
            below.text,
            _call("keys", below.of(rel.keys)),
            *self._calls(rel.calls, below, rel.input.columns),
        ]
        return _Rows(_call("aggregate", parts), _by_place(rel.columns))

    def _window_aggregate(self, rel: WindowAggregate) -> _Rows:
        below = self._rows(rel.input)
        window = self._window_text(rel.window, below, rel.of_moments)
        how = f"{rel.attached} {rel.emit is None}"  # results before the end need other state
        parts = [below.text, _call("keys", below.of(rel.keys)), window, how]
        columns = _by_place(rel.columns[: -len(rel.borders)] if rel.borders else rel.columns)
        columns |= {column.name: _named(border, column.type) for column, border in rel.borders}
        return _Rows(
            _call("window aggregate", [*parts, *self._calls(rel.calls, below, rel.input.columns)]),
            columns,
        )

    def _count_window_aggregate(self, rel: CountWindowAggregate) -> _Rows:
        below = self._rows(rel.input)
        window = f"{rel.size} {rel.slide}"
        parts = [
            below.text,
            _call("keys", below.of(rel.keys)),
            window,
            *self._calls(rel.calls, below, rel.input.columns),
        ]
        return _Rows(_call("count window aggregate", parts), _by_place(rel.columns))

    def _window_text(self, spec: WindowSpec, below: _Rows, of_moments: bool) -> str:
        lengths = f"{spec.kind} {spec.size_ms} {spec.slide_ms} {spec.offset_ms}"
        zone = self._time_zone if of_moments else ""
        return _call(lengths, [below.columns[spec.time], zone])

    def _window(self, rel: Window) -> _Rows:
        below = self._rows(rel.input)
        keys = _call("keys", below.of(rel.window.keys))
        (time,) = (each.type for each in rel.input.columns if each.name == rel.window.time)
        window = self._window_text(rel.window, below, isinstance(time, TimestampLtzType))
        # The rows of sessions are kept, with all of their columns.
        text = self.rows(rel.input) if rel.window.kind == "SESSION" else below.text
        given, borders = rel.columns[:-3], rel.columns[-3:]
        sources = below.of(each.name for each in rel.input.columns)
        columns = dict(zip((each.name for each in given), sources, strict=True))
        source = _call("window", [text, keys, window])
        words = ("start", "end", "time")
        named = zip(borders, words, strict=True)
        columns |= {each.name: _added(source, word, each.type) for each, word in named}
        return _Rows(source, columns)

    def _expand(self, rel: Expand) -> _Rows:
        below = self._rows(rel.input)
        sets = [_call("set", below.of(each)) for each in rel.sets]
        copies = zip(rel.keys, rel.copies, strict=True)
        source = _call("expand", [below.text, *sets])
        columns = dict(below.columns)
        columns |= {copy: _added(source, below.columns[key], None) for key, copy in copies}
        columns[rel.number] = _added(source, "set", None)
        return _Rows(source, columns)

    def _repeated(
        self, rel: Unnest | Correlate, computed: Sequence[Expression], word: str
    ) -> _Rows:
        below = self._rows(rel.input)
        source = _call(word, [below.text, *(self._text(each, below.columns) for each in computed)])
        added = {
            each.name: _added(source, f"{place}", each.type) for place, each in enumerate(rel.added)
        }
        return _Rows(source, {**below.columns, **added})

    def _sort(self, rel: Sort) -> _Rows:
        below = self._rows(rel.input)
        keys = [
            _call(f"{ascending} {nulls_first}", [below.columns[name]])
            for name, ascending, nulls_first in rel.keys
        ]
        text = self.rows(rel.input) if rel.keys else below.text  # without keys, rows are counted
        parts = [text, f"{rel.offset}", f"{rel.limit}", *keys]
        return _Rows(_call("sort", parts), below.columns)

    # Expressions

    def _text(self, expression: Expression, columns: Mapping[str, str]) -> str:
        """Return the text of an expression; ``columns``: the texts of the columns that it reads."""
        match expression:
            case ColumnRef():
                return columns[expression.name]
            case Literal():
                return f"{expression.value!r}:{expression.type}"
            case Call(function="AND" | "OR"):
                parts = {*self._flattened(expression.function, expression, columns)}
                return _call(expression.function, sorted(parts))
            case Call():
                word = f"{expression.function} {expression.options} {expression.type}"
            case PythonCall():
                word = f"python {expression.function.name} {expression.row_names} {expression.type}"
            case _:
                raise AssertionError(f"no text of {type(expression).__name__}")
        if reads_time_zone(expression):
            word += f" in {self._time_zone}"
        return _call(word, [self._text(each, columns) for each in expression.arguments])

    def _flattened(
        self, function: str, expression: Expression, columns: Mapping[str, str]
    ) -> Iterable[str]:
        if isinstance(expression, Call) and expression.function == function:
            for each in expression.arguments:
                yield from self._flattened(function, each, columns)
        else:
            yield self._text(expression, columns)

    def _conjuncts(self, condition: Expression | None, columns: Mapping[str, str]) -> Iterable[str]:
        return () if condition is None else self._flattened("AND", condition, columns)

    def _calls(self, calls: Sequence[AggregateCall], below: _Rows, columns: Columns) -> list[str]:
        types = {each.name: each.type for each in columns}
        return [
            _call(
                f"{each.function} {each.distinct} {each.options} {each.row_names} {each.type}"
                f"{self._zone_of(each, types)}{_state_form(each)}",
                [
                    *below.of(each.arguments),
                    "" if each.filter is None else _call("filter", [below.columns[each.filter]]),
                ],
            )
            for each in calls
        ]

    def _zone_of(self, call: AggregateCall, types: Mapping[str, SqlType]) -> str:
        """Return the time zone of the arguments and results of a user-defined function."""
        kinds = [*(types[name] for name in call.arguments), call.type]
        zoned = call.python is not None and any(map(has_moment, kinds))
        return f" in {self._time_zone}" if zoned else ""


def _state_form(call: AggregateCall) -> str:
    """Return which form the state of a built-in function has, if it had another one before."""
    function = None if call.python else find_aggregate(call.function)
    form = 1 if function is None else function.state_form
    return "" if form == 1 else f" in form {form}"


def _all_columns(rows: _Rows, columns: Columns) -> str:
    return _call("rows", [rows.text, *rows.of(each.name for each in columns)])


def _by_place(columns: Columns) -> dict[str, str]:
    return {each.name: f"{place}:{each.type}" for place, each in enumerate(columns)}


def _by_name(columns: Columns) -> dict[str, str]:
    return {each.name: _named(each.name, each.type) for each in columns}


def _added(source: str, word: str, kind: SqlType | None) -> str:
    """Return the text of a column that a relation adds to the columns of its input."""
    return _call("added", [source, word, str(kind)])


def _named(name: str, kind: SqlType) -> str:
    return _call("column", [name, str(kind)])


def _call(word: str, parts: Sequence[str]) -> str:
    """Return a text of several parts. Different parts give different texts."""
    text = f"{word}({''.join(f'{len(each)}:{each}' for each in parts)})"
    return text if len(text) <= _LONGEST else digest(text)


def digest(text: str) -> str:
    """Return a short text in place of a long one."""
    return hashlib.sha256(text.encode()).hexdigest()
