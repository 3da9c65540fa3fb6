"""Writes records of tables to the files of a savepoint, in Spark's tasks.

The records are shuffled by key group: a task writes all records of a key group, in order.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import groupby
from operator import attrgetter
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type
from pyspark.sql.types import ArrayType, MapType

from headrace.common._storage.locations import LOCAL_ONLY, StorageAccess, use_access, uses_urls
from headrace.common._storage.pickles import only_data
from headrace.errors import ConfigurationError, TypeMismatchError
from headrace.runners.spark.failures import worker_errors
from headrace.runners.spark.query.wire import encode_errors
from headrace.runners.spark.query.worker import attempt_name
from headrace.runners.spark.startup.storage import use_storage
from headrace.runners.spark.state_tables import Decode, Records, state_session
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.savepoint.arrow import from_batches, schema_of
from headrace.runtime.savepoint.folder import RecordFile
from headrace.runtime.savepoint.manifest import StoredFile
from headrace.runtime.savepoint.records import StateRecord, TimerRecord, decode, encode
from headrace.runtime.savepoint.savepoint import part_name
from headrace.runtime.state.kinds import LIST, MAP, TIMES

_REPORT = "report binary"
_PLAIN = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "string")
"""The types of columns whose values are keys without a declared type."""
_WIDER = {
    "smallint": ("tinyint",),
    "int": ("tinyint", "smallint"),
    "bigint": ("tinyint", "smallint", "int"),
    "double": ("float", "tinyint", "smallint", "int"),
}
"""By type, the types whose values it has as well."""


@dataclass(frozen=True)
class WantedColumn:
    """A column that a table must have. ``kind`` None: a number, a text or a boolean."""

    name: str
    kind: pa.DataType | None
    optional: bool = False


@dataclass(frozen=True)
class StateTable:
    """A table to write. ``columns``: those that it must have. ``of``: what it is, for errors.

    ``layout``: of a list or a map, whose elements may also be in one array or map for each key.
    """

    dataframe: DataFrame
    columns: Sequence[WantedColumn]
    encode: Decode
    of: str
    layout: str | None = None

    def records(self, table: str, only: bool) -> DataFrame:
        """Return the records; ``only``: pickles that can run code are refused.

        Raises:
            ConfigurationError: a column is missing, or unknown.
            TypeMismatchError: a column has another type.
        """
        rows = self._spread()
        known = {column.name for column in self.columns}
        unknown = [name for name in rows.columns if name not in known and name not in _SHOWN]
        if unknown:
            raise ConfigurationError(
                f"the table of {self.of} has the column {unknown[0]!r}, which has no meaning here",
                hint=f"select the columns: {', '.join(sorted(known))}",
            )
        types = dict(rows.dtypes)
        chosen = [self._checked(column, types) for column in self.columns if column.name in types]
        for column in self.columns:
            if column.name not in types and not column.optional:
                raise ConfigurationError(
                    f"the table of {self.of} has no column {column.name!r}",
                    where={"columns": ", ".join(rows.columns)},
                    hint=self._hint_for(column),
                )
        return rows.select(*chosen).mapInArrow(
            _Encode(self.encode, only), from_arrow_schema(schema_of(table))
        )

    def _spread(self) -> DataFrame:
        """Return one row for each element of a list or item of a map."""
        rows, wanted = self.dataframe, {column.name: column.kind for column in self.columns}
        if "value" not in rows.columns:
            return rows
        kind, others = rows.schema["value"].dataType, [c for c in rows.columns if c != "value"]
        if self.layout == LIST and "position" not in rows.columns and isinstance(kind, ArrayType):
            if kind.simpleString() != _sql(wanted["value"]):
                return rows.select(*others, F.posexplode("value").alias("position", "value"))
        elif self.layout == MAP and "item" not in rows.columns and isinstance(kind, MapType):
            return rows.select(*others, F.explode("value").alias("item", "value"))
        return rows

    def _checked(self, column: WantedColumn, types: dict[str, str]) -> Column:
        given, wanted = types[column.name], _sql(column.kind)
        fits = given in _PLAIN if wanted is None else given in (wanted, *_WIDER.get(wanted, ()))
        if not fits:
            raise TypeMismatchError(
                f"the column {column.name!r} of the table of {self.of} has the type {given},"
                f" not {wanted or 'number, string or boolean'}",
                hint="declare the type: key_type=Types.TUPLE([...])"
                if wanted is None
                else f"col({column.name!r}).cast({wanted!r}), or name another type in the"
                " state's descriptor",
            )
        found = F.col(column.name)
        return found if wanted in (None, given) else found.cast(str(wanted)).alias(column.name)

    def _hint_for(self, column: WantedColumn) -> str:
        if column.name == "position":
            return "number the elements of each list, or give one array for each key in 'value'"
        if column.name == "item":
            return "it has the keys of the map; or give one map for each key in 'value'"
        if column.name == "timestamp_ms":
            return "the state has a time-to-live: it counts from this time"
        return "SELECT … AS " + column.name


_SHOWN = ("key_group", "timestamp_ms")
"""Columns that ``Savepoint.read`` shows, and that are computed or not needed."""


def _sql(kind: pa.DataType | None) -> str | None:
    return None if kind is None else str(from_arrow_type(kind).simpleString())


class _Encode:
    """The task: encodes rows; the driver can decode its errors."""

    def __init__(self, encode: Decode, only: bool) -> None:
        self._encode, self._only = encode, only

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with only_data(self._only):
            yield from encode_errors(self._encode(batches))


@dataclass
class WrittenRecords:
    """What tasks have written: files by path, and the numbers of records by part."""

    files: dict[str, StoredFile] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)


def write_records(
    target: str,
    table: str,
    operator: str,
    kept: tuple[Records, Collection[str]] | None,
    added: Sequence[StateTable],
    new: Collection[str] = (),
    only: bool = True,
) -> WrittenRecords:
    """Write the records of an operator in one table to a savepoint's folder.

    ``kept``: other records, without those of the named states. ``new``: the names of the states in
    ``added``. ``only``: pickles that can run code are refused.

    Raises:
        ConfigurationError: a table has wrong columns, or two rows for one value.
        TypeMismatchError: a column or a value has another type than the state.
    """
    spark = state_session()
    storage = use_storage(spark) if uses_urls([target]) else LOCAL_ONLY
    frames = [each.records(table, only) for each in added]
    if kept is not None:
        records, without = kept
        found = records(spark)
        if found is not None:
            frames.append(found.where(~F.col("state").isin(*without)) if without else found)
    whole = WrittenRecords()
    if not frames:
        return whole
    names = schema_of(table).names
    rows = reduce(DataFrame.unionByName, (frame.select(*names) for frame in frames))
    rows = rows.repartition(spark.sparkContext.defaultParallelism, "key_group")
    rows = rows.sortWithinPartitions(*_order(table))
    task = RecordWriter(target, table, operator, frozenset(new), storage, only)
    with worker_errors():
        for row in rows.mapInArrow(task, _REPORT).collect():
            written: WrittenRecords = pickle.loads(row[0])
            whole.files |= written.files
            whole.counts |= written.counts
    return whole


def _order(table: str) -> list[Column | str]:
    if table == "timers":
        return ["key_group", "clock", "time_ms", "order", "key", "namespace"]
    shared = F.col("key_group") == ALL_GROUPS  # these are in the order in which they were put
    return [
        "key_group",
        F.when(shared, F.col("state")),
        F.when(shared, F.col("position")),
        *("key", "namespace", "state", "position", "item"),
    ]


class RecordWriter:
    """The task: writes the records of a partition, which are sorted, and yields a report.

    ``new``: the states that were made from tables; their broadcast state has no order yet.
    """

    def __init__(
        self,
        target: str,
        table: str,
        operator: str,
        new: frozenset[str],
        storage: StorageAccess = LOCAL_ONLY,
        only: bool = True,
    ) -> None:
        self._target, self._table, self._operator = target, table, operator
        self._new, self._storage, self._only = new, storage, only

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Write the records; yield a report."""
        with only_data(self._only):
            yield from encode_errors(self._run(batches))

    def _run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        use_access(self._storage)
        file = RecordFile(self._target, attempt_name(), self._table, self._operator)
        records = from_batches(self._table, batches)
        counts: dict[str, int] = {}
        try:
            finished = (
                numbered_timers(records) if self._table == "timers" else self._states(records)
            )
            for group, found in groupby(finished, key=attrgetter("key_group")):
                part = part_name(self._table, self._operator, group)
                counts[part] = file.write(found)
            written = WrittenRecords(file.close(), counts)
        except BaseException:
            file.abort()
            raise
        yield pa.record_batch([pa.array([pickle.dumps(written, 5)], pa.binary())], names=["report"])

    def _states(self, records: Iterable[StateRecord]) -> Iterator[StateRecord]:
        for group, found in groupby(records, key=attrgetter("key_group")):
            make: Callable[[Iterable[StateRecord]], Iterator[StateRecord]]
            make = self._ordered if group == ALL_GROUPS else numbered_states
            yield from make(found)

    def _ordered(self, records: Iterable[StateRecord]) -> Iterator[StateRecord]:
        """Yield broadcast state; what is new gets the order of its keys."""
        for state, found in groupby(records, key=attrgetter("state")):
            if state not in self._new:
                yield from found
                continue
            seen: set[bytes] = set()
            order = 0
            for record in found:
                if record.key in seen:
                    raise _twice_error(record)
                seen.add(record.key)
                order = max(record.position, order + 1)
                yield record._replace(position=0, value=encode((order, decode(record.value))))


def numbered_states(records: Iterable[StateRecord]) -> Iterator[StateRecord]:
    """Yield keyed state with final positions: from 0 in each list, map and buffer.

    The records are sorted by key, namespace, state and position.

    Raises:
        ConfigurationError: there are two rows for one value, element or item.
    """
    of_one_state = attrgetter("key", "namespace", "state")
    for _, found in groupby(records, key=of_one_state):
        last: int | None = None
        items: set[bytes | None] = set()
        for position, record in enumerate(found):
            if record.kind == MAP:
                twice = record.item in items
                items.add(record.item)
            else:
                twice = position > 0 and (
                    record.kind not in (LIST, TIMES) or record.position == last
                )
            if twice:
                raise _twice_error(record)
            last = record.position
            yield record if last == position else record._replace(position=position)


def numbered_timers(records: Iterable[TimerRecord]) -> Iterator[TimerRecord]:
    """Yield timers with their order; they are sorted by key group, clock and time.

    Equal ones are one timer.
    """
    for _, found in groupby(records, key=attrgetter("key_group", "clock")):
        order, last = 0, None
        for timer in found:
            if last is not None and timer._replace(order=0) == last._replace(order=0):
                continue
            last = timer
            yield timer._replace(order=order)
            order += 1


def _twice_error(record: StateRecord) -> ConfigurationError:
    where: dict[str, Any] = {"operator": record.operator, "state": record.state}
    where["key"] = repr(decode(record.key))
    if record.namespace is not None:
        where["namespace"] = repr(decode(record.namespace))
    what = "this key"
    if record.item is not None:
        what = f"the item {decode(record.item)!r} of this key"
    elif record.kind in (LIST, TIMES):
        what = f"the position {record.position} of this key"
    return ConfigurationError(
        f"two rows of the table are for {what}",
        where=where,
        hint="a table has one row for each value, element of a list, and item of a map",
    )
