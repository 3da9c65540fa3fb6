"""Turns the rows of tables into records of a savepoint, in Spark's tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pyarrow as pa

from headrace.common.typeinfo import TypeInformation
from headrace.datastream.formats._arrow.types import from_arrow
from headrace.errors import ConfigurationError, TypeMismatchError
from headrace.runtime.block import ALL_GROUPS
from headrace.runtime.columns.shapes import python_values
from headrace.runtime.keys.key_groups import key_group_of
from headrace.runtime.keys.serialized_key import to_internal_key
from headrace.runtime.savepoint.arrow import schema_of
from headrace.runtime.savepoint.records import PICKLE, decode, encode, encode_key
from headrace.runtime.savepoint.write import EVENT, PROCESSING

Encoded = Sequence[bytes | None]


@dataclass(frozen=True)
class Values:
    """Reads a column of values. ``declared``: their type; None: plain values of Python.

    ``pickled``: the column has their pickles. ``nullable``: it may have nulls, which are None.
    """

    name: str
    declared: TypeInformation | None = None
    pickled: bool = False
    nullable: bool = False

    def read(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the values as the program has them.

        Raises:
            TypeMismatchError: one does not fit the declared type, or is null.
        """
        column = batch.column(self.name)
        if column.null_count and not self.nullable:
            raise TypeMismatchError(
                f"the column {self.name!r} has a null",
                hint=f"leave out such rows: dataframe.where('{self.name} IS NOT NULL')",
            )
        values = python_values(column)
        convert = self._convert
        return [None if value is None else convert(value) for value in values]

    def read_encoded(self, batch: pa.RecordBatch) -> list[Any]:
        """Return the values as they are stored; pickles stay to the byte. Errors as ``read``."""
        if not self.pickled:
            return [*map(encode, self.read(batch))]
        return replace(self, declared=None, pickled=False).read(batch)

    @cached_property
    def _convert(self) -> Callable[[Any], Any]:
        if self.pickled:
            return decode
        if self.declared is None:
            return _return_unchanged
        from_column = from_arrow(self.declared) or _return_unchanged
        coerce = self.declared.coercer() or _return_unchanged
        return lambda value: coerce(from_column(value))


def _with_one_zero(key: Any) -> Any:
    """Return a key with 0.0 for -0.0, which is the same key: one row of a table is for both."""
    kind = type(key)
    if kind is float:
        return key + 0.0
    return kind(map(_with_one_zero, key)) if kind in (tuple, list) else key


def _return_unchanged(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Keys:
    """Reads keys and namespaces.

    ``groups``: the number of key groups; 0: broadcast state. ``namespaced``: whether each row has a
    namespace; None: some may have one.
    """

    keys: Values
    groups: int
    namespaced: bool | None

    def read(self, batch: pa.RecordBatch) -> tuple[list[int], list[bytes], list[bytes | None]]:
        """Return the key groups, the encoded keys and the encoded namespaces.

        Raises:
            TypeMismatchError: a key is null, or does not fit the type of keys.
            ConfigurationError: a namespace is missing or no JSON.
        """
        groups, keys = [], []
        for key in map(_with_one_zero, self.keys.read(batch)):
            internal = to_internal_key(key)
            groups.append(key_group_of(internal, self.groups) if self.groups else ALL_GROUPS)
            keys.append(encode_key(internal))
        return groups, keys, self._namespaces(batch)

    def _namespaces(self, batch: pa.RecordBatch) -> list[bytes | None]:
        found: list[bytes | None] = []
        if "namespace" not in batch.schema.names:
            return [None] * batch.num_rows
        for shown in batch.column("namespace").to_pylist():
            if self.namespaced is not None and (shown is not None) is not self.namespaced:
                raise ConfigurationError(
                    "a row has no namespace, and the state is of keys in namespaces"
                    if self.namespaced
                    else f"a row has the namespace {shown!r}, and the state is of keys alone"
                )
            if shown is None:
                found.append(None)
            else:
                found.append(encode(decode(shown) if self.keys.pickled else _namespace_of(shown)))
        return found


@dataclass(frozen=True)
class StateEncoder:
    """The task: turns the rows of a state's table into records.

    ``layout``: ``StateKind.kind``. ``items``: of a map. The order among the elements of a list and
    the items of a map follows ``position``; the positions are not final yet.
    """

    operator: str
    state: str
    layout: str
    keys: Keys
    values: Values
    items: Values | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield records with the columns of the table ``states``."""
        for batch in batches:
            yield self._encode(batch)

    def _encode(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        try:
            groups, keys, namespaces = self.keys.read(batch)
            items: Encoded = [None] * batch.num_rows
            if self.items is not None:
                found = map(_with_one_zero, self.items.read(batch))
                items = [encode_key(to_internal_key(item)) for item in found]
            values = self.values.read_encoded(batch)
        except (TypeMismatchError, ConfigurationError) as error:
            error.where = {**error.where, "operator": self.operator, "state": self.state}
            raise
        count = batch.num_rows
        return pa.record_batch(
            [
                pa.array([self.operator] * count, pa.string()),
                pa.array([self.state] * count, pa.string()),
                pa.array([self.layout] * count, pa.string()),
                pa.array([PICKLE] * count, pa.string()),
                pa.array(groups, pa.int64()),
                pa.array(keys, pa.binary()),
                pa.array(namespaces, pa.binary()),
                pa.array(_numbers(batch, "position", 0), pa.int64()),
                pa.array(items, pa.binary()),
                pa.array(_numbers(batch, "timestamp_ms"), pa.int64()),
                pa.array(values, pa.binary()),
            ],
            schema=_nullable("states"),
        )


@dataclass(frozen=True)
class TimerEncoder:
    """The task: turns the rows of a table of timers into records; their order is not final yet."""

    operator: str
    keys: Keys

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield records with the columns of the table ``timers``."""
        for batch in batches:
            groups, keys, namespaces = self.keys.read(batch)
            clocks = batch.column("clock").to_pylist()
            other = [clock for clock in clocks if clock not in (EVENT, PROCESSING)]
            if other:
                raise ConfigurationError(
                    f"a timer has the clock {other[0]!r}",
                    where={"operator": self.operator},
                    hint=f"the clocks are {EVENT!r} and {PROCESSING!r}",
                )
            yield pa.record_batch(
                [
                    pa.array([self.operator] * batch.num_rows, pa.string()),
                    pa.array(clocks, pa.string()),
                    pa.array(groups, pa.int64()),
                    pa.array(_numbers(batch, "time_ms"), pa.int64()),
                    pa.array([0] * batch.num_rows, pa.int64()),
                    pa.array(keys, pa.binary()),
                    pa.array(namespaces, pa.binary()),
                ],
                schema=_nullable("timers"),
            )


def _nullable(table: str) -> pa.Schema:
    """Return the columns of a table as Spark has them."""
    return pa.schema([pa.field(field.name, field.type) for field in schema_of(table)])


def _numbers(batch: pa.RecordBatch, name: str, otherwise: int | None = None) -> list[int | None]:
    if name not in batch.schema.names:
        return [otherwise] * batch.num_rows
    return Values(name).read(batch)


def _namespace_of(text: str) -> Any:
    """Return a namespace from JSON: a number, a text or a tuple."""
    try:
        return with_tuples(json.loads(text))
    except ValueError as error:
        raise ConfigurationError(
            f"the namespace {text!r} is not JSON",
            hint="a window is [start, end] in ms; for windows of a program's own classes,"
            " read and write with as_pickle=True",
        ) from error


def with_tuples(value: Any) -> Any:
    """Return a value of JSON with tuples for its arrays, at any depth."""
    return tuple(map(with_tuples, value)) if isinstance(value, list) else value
