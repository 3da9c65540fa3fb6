"""The relational plan of a statement: what it computes, as frozen values.

Each node knows the columns that it gives. The resolver makes plans from statements, passes change
them, and ``lower`` makes the graph of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from headrace.operators.columns.emit_strategy import EmitStrategy
from headrace.operators.columns.set_operation import SetKind
from headrace.sql.expressions import ColumnRef, Expression, PythonCall
from headrace.sql.python_function import PythonFunction
from headrace.sql.types import (
    BIGINT,
    SqlType,
    to_arrow_schema,
)

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Column:
    """A column of a relation."""

    name: str
    type: SqlType


Columns = tuple[Column, ...]


def chosen_columns(columns: Columns, names: Collection[str] | None) -> Columns:
    """Return the columns with these names, in their order; None: all."""
    if names is None:
        return columns
    wanted = frozenset(names)
    return tuple(each for each in columns if each.name in wanted)


def reference(column: Column) -> ColumnRef:
    """Return the expression that reads a column."""
    return ColumnRef(column.type, column.name)


@dataclass(frozen=True)
class Rel:
    """A relation; subclasses are frozen dataclasses."""

    @property
    def columns(self) -> Columns:
        """The columns, in order; their names differ."""
        raise NotImplementedError

    @property
    def inputs(self) -> tuple[Rel, ...]:
        """The relations that it is computed from."""
        return ()


@dataclass(frozen=True)
class OverInput(Rel):
    """A relation that is computed from one other."""

    input: Rel

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return (self.input,)


@dataclass(frozen=True)
class Scan(Rel):
    """The rows of a table's connector: its physical and metadata columns.

    ``table``: the path ``(catalog, database, name)``. ``fields``: all of its columns. ``options``:
    those of the table, with the hints of the statement. ``projection``: the names of the columns
    that the source gives; None: all. ``files_where``: files whose rows do not meet it need not be
    read.
    """

    table: tuple[str, ...]
    fields: Columns
    options: tuple[tuple[str, str], ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    """The columns of metadata, each with its key."""
    primary_key: tuple[str, ...] = ()
    partitioned_by: tuple[str, ...] = ()
    projection: tuple[str, ...] | None = None
    files_where: Expression | None = None

    @property
    def columns(self) -> Columns:
        return chosen_columns(self.fields, self.projection)


StreamRows = Literal["inserts", "changes", "upserts"]
"""Which rows a stream gives: inserts, rows of all kinds, or rows that replace that of their key."""


@dataclass(frozen=True)
class StreamScan(Rel):
    """The records of a stream of the DataStream API, by its number in the environment.

    ``name``: the uid that the program gave the stream, or its number: what is computed of it goes
    on from its state by this name.
    """

    number: int = field(repr=False)
    fields: Columns
    name: str = ""
    gives: StreamRows = "inserts"
    primary_key: tuple[str, ...] = ()

    @property
    def columns(self) -> Columns:
        return self.fields


@dataclass(frozen=True)
class Values(Rel):
    """Constant rows: each is computed from its expressions once."""

    rows: tuple[tuple[Expression, ...], ...]
    fields: Columns

    @property
    def columns(self) -> Columns:
        return self.fields


@dataclass(frozen=True)
class Watermark(OverInput):
    """Makes a column the event time, with watermarks of an expression of each row."""

    column: str
    expression: Expression
    fields: Columns

    @property
    def columns(self) -> Columns:
        return self.fields


@dataclass(frozen=True)
class ChangelogNormalize(OverInput):
    """What rows change that replace and delete the row of their ``keys``.

    ``condition``: only rows for which it is true are there.
    """

    keys: tuple[str, ...]
    condition: Expression | None = None

    @property
    def columns(self) -> Columns:
        return self.input.columns


@dataclass(frozen=True)
class Calc(OverInput):
    """Rows for which ``condition`` is true, as new columns."""

    names: tuple[str, ...]
    expressions: tuple[Expression, ...]
    condition: Expression | None = None

    @property
    def columns(self) -> Columns:
        return tuple(
            Column(name, each.type) for name, each in zip(self.names, self.expressions, strict=True)
        )


@dataclass(frozen=True)
class AggregateCall:
    """An aggregate function over the rows of a group; arguments are columns of the input.

    ``filter``: a BOOLEAN column; only rows where it is true count. ``python``: the function of a
    user; ``row_names``: it gets the arguments as one row, with these names.
    """

    name: str
    function: str
    arguments: tuple[str, ...]
    type: SqlType
    distinct: bool = False
    filter: str | None = None
    options: tuple[str, ...] = ()
    python: PythonFunction | None = field(default=None, repr=False)
    row_names: tuple[str, ...] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        inside = ("DISTINCT " if self.distinct else "") + (", ".join(self.arguments) or "*")
        kept = "" if self.filter is None else f" FILTER (WHERE {self.filter})"
        return f"{self.function}({inside}){kept} AS {self.name}"


@dataclass(frozen=True)
class Aggregate(OverInput):
    """Groups of rows with equal ``keys`` (columns of the input): keys, then results.

    ``ttl_ms``: how long the state of a key is kept after its last change; 0: without end; None: as
    the configuration says. What is computed is the same, so it is no part of an operator's uid.
    """

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    ttl_ms: int | None = field(default=None, repr=False)

    def kept_ms(self, default_ms: int) -> int:
        """Return how long state is kept; ``default_ms``: as the configuration says."""
        return default_ms if self.ttl_ms is None else self.ttl_ms

    @property
    def columns(self) -> Columns:
        of_input = {each.name: each for each in self.input.columns}
        results = (Column(each.name, each.type) for each in self.calls)
        return (*(of_input[key] for key in self.keys), *results)


WindowKind = Literal["TUMBLE", "HOP", "CUMULATE", "SESSION"]


@dataclass(frozen=True)
class WindowSpec:
    """A window by time; all lengths in ms. ``slide``: HOP's slide, CUMULATE's step.

    ``keys``: the columns of PARTITION BY of a SESSION. ``grouped``: an older window of GROUP BY:
    its keys are those of the grouping. ``processing_time``: the time of a row is that of its
    micro-batch.
    """

    kind: WindowKind
    time: str
    size_ms: int
    slide_ms: int = 0
    offset_ms: int = 0
    keys: tuple[str, ...] = ()
    grouped: bool = False
    processing_time: bool = field(default=False, repr=False)

    def __str__(self) -> str:
        parts = [f"size={self.size_ms} ms"]
        if self.slide_ms:
            parts.append(f"slide={self.slide_ms} ms")
        if self.offset_ms:
            parts.append(f"offset={self.offset_ms} ms")
        if self.keys:
            parts.append(f"keys=[{', '.join(self.keys)}]")
        return f"{self.kind}({self.time}, {', '.join(parts)})"


Border = Literal["start", "end", "time"]
"""Which value of the window a column has; the time is the last millisecond before the end."""


@dataclass(frozen=True)
class Window(OverInput):
    """A window table function: each row once for each of its windows, with its borders.

    The last three columns are window_start, window_end and window_time.
    """

    window: WindowSpec
    fields: Columns

    @property
    def columns(self) -> Columns:
        return self.fields


@dataclass(frozen=True)
class WindowAggregate(OverInput):
    """Groups of rows by window and ``keys``. Each gives its result once, when the window ends.

    ``borders``: the columns with the start, end or time of the window, each with which of the three
    it is. ``attached``: each row has one window, whose end is in the column ``window.time``.
    ``of_moments``: the windows are over a TIMESTAMP_LTZ, in local time. ``emit``: when they give
    early and late results; None: never.
    """

    window: WindowSpec
    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    borders: tuple[tuple[Column, Border], ...]
    attached: bool = False
    of_moments: bool = False
    emit: EmitStrategy | None = field(default=None, repr=False)

    @property
    def columns(self) -> Columns:
        of_input = {each.name: each for each in self.input.columns}
        results = (Column(each.name, each.type) for each in self.calls)
        return (
            *(of_input[key] for key in self.keys),
            *results,
            *(column for column, _ in self.borders),
        )


@dataclass(frozen=True)
class CountWindowAggregate(OverInput):
    """Groups of ``size`` rows with the same ``keys``. Each gives its result with its last row.

    ``slide``: after how many rows with the same keys the next group begins.
    """

    keys: tuple[str, ...]
    calls: tuple[AggregateCall, ...]
    size: int
    slide: int

    @property
    def columns(self) -> Columns:
        return Aggregate(self.input, self.keys, self.calls).columns


@dataclass(frozen=True)
class Expand(OverInput):
    """Each row once for each grouping set, with copies of its keys; keys outside the set are NULL.

    ``keys``: columns of the input; ``copies``: the names of their copies. ``sets``: the keys of
    each set. ``number``: the column with the number of the set.
    """

    keys: tuple[str, ...]
    copies: tuple[str, ...]
    sets: tuple[tuple[str, ...], ...]
    number: str

    @property
    def columns(self) -> Columns:
        of_input = {each.name: each.type for each in self.input.columns}
        copies = tuple(
            Column(copy, of_input[key].with_nullable(of_input[key].nullable or self._is_left(key)))
            for key, copy in zip(self.keys, self.copies, strict=True)
        )
        return (*self.input.columns, *copies, Column(self.number, BIGINT.with_nullable(False)))

    def _is_left(self, key: str) -> bool:
        return any(key not in each for each in self.sets)


@dataclass(frozen=True)
class Unnest(OverInput):
    """Each row once for each element of an array, map or multiset, with the element's columns.

    ``outer``: a row without elements is given once, with NULLs. ``ordinality``: the last column is
    the element's place, from 1. ``condition``: over all columns; elements that do not meet it are
    left out.
    """

    expression: Expression
    added: Columns
    outer: bool
    ordinality: bool
    condition: Expression | None = None

    @property
    def columns(self) -> Columns:
        return (*self.input.columns, *self.added)


@dataclass(frozen=True)
class Correlate(OverInput):
    """Each row once for each row that a table function of a user gives for it.

    ``outer``: a row for which it gives none is given once, with NULLs.
    """

    call: PythonCall
    added: Columns
    outer: bool

    @property
    def columns(self) -> Columns:
        return (*self.input.columns, *self.added)


@dataclass(frozen=True)
class Union(Rel):
    """The rows of all inputs, which have the same types; UNION ALL."""

    parts: tuple[Rel, ...]

    @property
    def columns(self) -> Columns:
        first, *others = (part.columns for part in self.parts)
        return tuple(
            Column(each.name, each.type.with_nullable(any(c.type.nullable for c in (each, *rest))))
            for each, *rest in zip(first, *others, strict=True)
        )

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return self.parts


@dataclass(frozen=True)
class SetOperation(Rel):
    """INTERSECT or EXCEPT of two relations with the same types, in which NULLs are equal.

    ``all``: equal rows are counted; otherwise each row is given once.
    """

    left: Rel
    right: Rel
    kind: SetKind
    all: bool

    @property
    def columns(self) -> Columns:
        return Union((self.left, self.right)).columns

    @property
    def inputs(self) -> tuple[Rel, ...]:
        return self.left, self.right


@dataclass(frozen=True)
class Sort(OverInput):
    """The first ``limit`` rows in an order, after ``offset`` rows; None: all.

    ``keys``: columns, each with whether it is ascending and whether NULLs come first.
    """

    keys: tuple[tuple[str, bool, bool], ...]
    offset: int = 0
    limit: int | None = None

    @property
    def columns(self) -> Columns:
        return self.input.columns


def arrow_schema(columns: Columns) -> pa.Schema:
    """Return the Arrow schema of columns."""
    return to_arrow_schema((each.name for each in columns), (each.type for each in columns))


def walk(rel: Rel) -> Iterator[Rel]:
    """Return a relation and all that it is computed from, outer ones first."""
    yield rel
    for each in rel.inputs:
        yield from walk(each)


def with_inputs(rel: Rel, inputs: tuple[Rel, ...]) -> Rel:
    """Return the same relation over other inputs."""
    if inputs == rel.inputs:
        return rel
    if isinstance(rel, Union):
        return replace(rel, parts=inputs)
    if isinstance(rel, SetOperation):
        left, right = inputs
        return replace(rel, left=left, right=right)
    assert isinstance(rel, OverInput), "relations without inputs have equal ones"
    (input,) = inputs
    return replace(rel, input=input)
