"""Turns records of a savepoint into columns that people and SQL can read, in Spark's tasks."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

import pyarrow as pa

from headrace.common._storage.pickles import only_data, stand_ins
from headrace.common._types.data import ANY, TypeData
from headrace.common._types.from_data import type_from_data
from headrace.common.typeinfo import TypeInformation
from headrace.datastream.formats._arrow.types import arrow_type, arrow_values
from headrace.errors import PlanError, TypeMismatchError
from headrace.runtime.keys.serialized_key import serialize_key
from headrace.runtime.savepoint.records import decode, decode_key, encode
from headrace.runtime.state.kinds import LIST, MAP, TIMES, StateKind

_OF_PYTHON = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}


class StateTypes(NamedTuple):
    """The declared types of the parts of a state; None: it has none, or one that SQL lacks.

    ``key``: of broadcast state, whose keys are those of the map.
    """

    key: TypeInformation | None = None
    item: TypeInformation | None = None
    value: TypeInformation | None = None


def types_of(kind: StateKind, shared: bool) -> StateTypes:
    """Return the types of the parts of a state; ``shared``: it is broadcast state."""
    declared = None if kind.type is None else _type_in_sql(kind.type)
    parts: Sequence[TypeData] = () if kind.type is None else kind.type.get("of", ())
    if shared or kind.kind == MAP:
        if len(parts) != 2:
            return StateTypes()
        key, value = map(_type_in_sql, parts)
        return StateTypes(key, None, value) if shared else StateTypes(None, key, value)
    if kind.kind == LIST:
        return StateTypes(value=_type_in_sql(parts[0])) if len(parts) == 1 else StateTypes()
    return StateTypes() if kind.kind == TIMES else StateTypes(value=declared)


def _type_in_sql(data: TypeData) -> TypeInformation | None:
    if data["type"] == ANY:
        return None
    try:
        declared = type_from_data(data)
    except PlanError:  # a class of the program, which SQL does not know
        return None
    return declared if declared_column(declared) is not None else None


def declared_column(declared: TypeInformation) -> pa.DataType | None:
    """Return the type of a column for a declared type; None: SQL does not have it."""
    try:
        return arrow_type(declared)
    except PlanError:
        return None


def type_of_key(key: Any) -> pa.DataType | None:
    """Return the type of a column of keys like this one; None: they are shown as text."""
    return _OF_PYTHON.get(type(key))


def text_of(value: Any) -> str | None:
    """Return a value as JSON where JSON has it, and otherwise as Python shows it."""
    if value is None:
        return None
    try:
        text = repr(value) if _has_other_keys(value) else json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # halves of surrogate pairs, which UTF-8 does not have
        return text.encode(errors="backslashreplace").decode()
    return text


def _has_other_keys(value: Any) -> bool:
    """Return whether a dict has keys that JSON would turn into texts."""
    if isinstance(value, dict):
        return not all(isinstance(key, str) for key in value) or _has_other_keys([*value.values()])
    return isinstance(value, list | tuple) and any(map(_has_other_keys, value))


@dataclass(frozen=True)
class Column:
    """A column of encoded values: ``kind`` None shows them as text.

    ``part``: which part of a stored pair is the value, if it is stored as a pair. ``pickled``: the
    values are shown as they are stored. ``stored``: the column of the records, if it has another
    name.
    """

    name: str
    kind: pa.DataType | None
    part: int | None = None
    pickled: bool = False
    stored: str | None = None

    @property
    def field(self) -> pa.Field:
        """The column of the table."""
        return pa.field(self.name, self.kind or pa.string())

    def read(self, encoded: Sequence[bytes | None]) -> pa.Array:
        """Return the values.

        Raises:
            TypeMismatchError: one has another type than the column.
        """
        if self.pickled and self.part is None:
            return pa.array(encoded, pa.binary())
        with nullcontext() if self.pickled else stand_ins():
            values = [None if data is None else decode(data) for data in encoded]
        if self.part is not None:
            values = [None if value is None else value[self.part] for value in values]
        if self.pickled:
            return pa.array([None if value is None else encode(value) for value in values])
        if self.kind is None:
            return pa.array([*map(text_of, values)], pa.string())
        try:
            self._refuse_what_arrow_would_change(values)
            return arrow_values(self.field, values)
        except TypeMismatchError as error:
            error.hint = "read it as text: read(..., as_text=True)"
            raise

    def _refuse_what_arrow_would_change(self, values: Sequence[Any]) -> None:
        """Refuse fractions among integers, which Arrow cuts off, and bytes among texts."""
        kind: type | None = None
        if pa.types.is_integer(self.kind):
            kind = Integral
        elif pa.types.is_string(self.kind):
            kind = str
        if kind is None:
            return
        for value in values:
            if value is not None and not isinstance(value, kind):
                raise TypeMismatchError(
                    f"a value does not fit the column {self.name!r} ({self.kind}): {value!r}"
                )


@dataclass(frozen=True)
class Table:
    """The columns of a table: those that are decoded, and ``plain`` ones, as (stored name, column).

    ``keys``: only rows of these keys; None: all. ``only_data``: pickles that can run code are
    refused.
    """

    decoded: tuple[Column, ...]
    plain: tuple[tuple[str, pa.Field], ...] = ()
    keys: frozenset[Any] | None = None
    only_data: bool = True

    @property
    def schema(self) -> pa.Schema:
        """All columns."""
        return pa.schema([*(c.field for c in self.decoded), *(field for _, field in self.plain)])

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of batches with the stored columns."""
        for batch in batches:
            with only_data(self.only_data):
                rows = self._rows(batch)
            yield rows

    def _rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.keys is not None:
            with stand_ins():
                found = [*map(decode_key, batch.column("key").to_pylist())]
            batch = batch.filter(pa.array([key in self.keys for key in found], pa.bool_()))
        arrays = [
            column.read(batch.column(column.stored or column.name).to_pylist())
            for column in self.decoded
        ]
        arrays += [batch.column(stored).cast(field.type) for stored, field in self.plain]
        return pa.record_batch(arrays, schema=self.schema)


@dataclass(frozen=True)
class Changed:
    """Keeps the rows of two savepoints whose values differ, and shows them as text.

    ``only_data``: pickles that can run code are refused.
    """

    only_data: bool = True

    schema = pa.schema(
        [pa.field(name, pa.string()) for name in ("state", "key", "namespace", "item")]
        + [pa.field("position", pa.int64())]
        + [pa.field(name, pa.string()) for name in ("first", "second")]
    )

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the rows that differ: equal values may have been encoded in several ways."""
        for batch in batches:
            with only_data(self.only_data), stand_ins():
                rows = [_shown(row) for row in batch.to_pylist() if _differs(row)]
            yield pa.RecordBatch.from_pylist(rows, self.schema)


def _differs(row: dict[str, Any]) -> bool:
    one, other = row["first"], row["second"]
    if one is None or other is None:
        return True
    if one == other:
        return False
    first, second = decode(one), decode(other)
    try:
        if first == second:
            return False
    except ValueError:  # arrays of NumPy have an answer for each element
        pass
    # A value with a NaN, and objects that are equal to themselves only, may still be the same.
    try:
        return serialize_key(first) != serialize_key(second)
    except pickle.PicklingError:  # of a class that cannot be imported here
        return True


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    shown = {"state": row["state"], "position": row["position"]}
    for name in ("key", "item", "namespace"):
        shown[name] = None if row[name] is None else text_of(decode(row[name]))
    for name in ("first", "second"):
        value = row[name]
        shown[name] = None if value is None else text_of(decode(value)) or "null"
    return shown
