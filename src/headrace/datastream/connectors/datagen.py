"""A source that generates records from their index, with an optional rate."""

from __future__ import annotations

import copy
import inspect
import pickle
import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.typeinfo import RowTypeInfo
from headrace.common.types import Row
from headrace.connector import ColumnChunk, Source, SplitEnumerator, SplitRange, SplitReader
from headrace.datastream.connectors._indexed import IndexedEnumerator, IndexedReader
from headrace.errors import PlanError, TypeMismatchError
from headrace.runtime.columns.shapes import DICTS, NAMED_ROWS, Shape
from headrace.runtime.immutability import (
    all_atomic,
    all_immutable,
    has_only_attributes,
    is_immutable,
)
from headrace.runtime.record_copies import copy_record

__all__ = [
    "DataGeneratorSource",
]


@dataclass(frozen=True)
class DataGeneratorSource(Source):
    """Generates records 0, 1, … by ``generator_function(index)``, or ``(index, random)``.

    A function with two required arguments also receives a ``random.Random`` that depends only on
    the seed (default 0) and the index. It must take its random numbers from there, so that a
    repeated record is the same. ``count=None`` never ends. With a rate, the number of available
    records depends on the time since the job first started; a restarted job catches up.
    """

    generator_function: Callable[..., Any]
    count: int | None = None
    rate_per_second: float | None = None
    seed: int | None = None
    type_info: Any = None

    @staticmethod
    def of_columns(
        columns_function: Callable[[Any], Any],
        count: int | None = None,
        rate_per_second: float | None = None,
        record_type: RowTypeInfo | None = None,
    ) -> DataGeneratorSource:
        """Generate many records at a time: ``columns_function(indexes)`` returns their columns.

        It receives a numpy array of int64, and returns a pyarrow record batch, or a mapping from
        names to arrays, as long as the indexes. The values of one index must not depend on the
        other indexes. Records are dictionaries; with ``record_type``, a ``Types.ROW_NAMED`` with
        the names of the columns, they are rows. Operators that accept columns receive them
        unchanged.
        """
        columns = _Columns(columns_function, record_type)
        return DataGeneratorSource(columns, count, rate_per_second)

    @property
    def record_type(self) -> Any | None:
        """The type of records that are generated as columns, if it was given."""
        function = self.generator_function
        return function.record_type if isinstance(function, _Columns) else None

    @property
    def gives(self) -> ChangelogMode | None:
        """None: the user's function may generate rows of any kind."""
        return None

    @property
    def kind(self) -> str:
        """``paced-generator`` with a rate, whose positions also contain the start time.

        Otherwise ``generator``.
        """
        return "generator" if self.rate_per_second is None else "paced-generator"

    def __post_init__(self) -> None:
        if self.count is not None and self.count < 0:
            raise PlanError(f"the count of a data generator is negative: {self.count}")
        if self.rate_per_second is not None and not self.rate_per_second > 0:
            raise PlanError(f"the rate of a data generator is not above 0: {self.rate_per_second}")
        if not callable(self.generator_function):
            raise PlanError(
                f"the generator is a {type(self.generator_function).__name__}, not a function",
                hint="pass a function of the record's index, e.g. lambda index: (index, 'a')",
            )

    @property
    def bounded(self) -> bool:
        """True if there is a count."""
        return self.count is not None

    def enumerator(self, directory: str) -> SplitEnumerator:
        """Return a new enumerator, which writes no files."""
        return IndexedEnumerator(
            "generator",
            self.count,
            lambda start, end: None,
            self.rate_per_second,
            isinstance(self.generator_function, _Columns),
        )

    def reader(self) -> SplitReader:
        make = self.generator_function
        if isinstance(make, _Columns):
            return IndexedReader(make.records, make.chunk)
        if _accepts_two_arguments(make):
            two, seed, seeded = make, (self.seed or 0) << 64, random.Random

            def make(index: int) -> Any:
                return two(index, seeded(seed + index))

        return IndexedReader(_GeneratedRecords(make))


@dataclass(frozen=True)
class _Columns:
    """Makes records as columns, and of these as dictionaries or rows."""

    function: Callable[[Any], Any]
    record_type: RowTypeInfo | None = None

    @property
    def shape(self) -> Shape:
        """Dictionaries, unless there is a type."""
        return DICTS if self.record_type is None else NAMED_ROWS

    def __call__(self, index: int) -> Any:
        """The record of an index."""
        (record,) = self.shape(self._generate_batch(index, index + 1))
        return record

    def records(self, split_range: SplitRange, start: int, end: int) -> list[Any]:
        """Return the records of some indexes."""
        return self.shape(self._generate_batch(start, end))

    def chunk(self, start: int, end: int) -> ColumnChunk:
        """Return the same as columns."""
        return ColumnChunk(self._generate_batch(start, end), self.shape)

    def _generate_batch(self, start: int, end: int) -> Any:
        import numpy as np
        import pyarrow as pa

        made = self.function(np.arange(start, end, dtype=np.int64))
        batch = made if isinstance(made, pa.RecordBatch) else pa.RecordBatch.from_pydict({**made})
        if batch.num_rows != end - start:
            raise TypeMismatchError(
                f"the generator made {batch.num_rows} rows for {end - start} indexes",
                where={"indexes": f"{start} to {end - 1}"},
                hint="give columns that are as long as the array of indexes",
            )
        if self.record_type is not None:
            names = self.record_type.get_field_names()
            if batch.schema.names != names:
                raise TypeMismatchError(
                    "the generator's columns are not the fields of its type",
                    where={"columns": ", ".join(batch.schema.names), "fields": ", ".join(names)},
                )
        return batch


class _GeneratedRecords:
    """Generates chunks of new records, as a job may change the records that it gets."""

    def __init__(self, make: Callable[[int], Any]) -> None:
        self._make = make
        self._all_plain = False

    def __call__(self, split_range: SplitRange, start: int, end: int) -> list[Any]:
        """The records of these indexes."""
        make = self._make
        if self._all_plain:
            values = [make(index) for index in range(start, end)]
            if all_immutable(values):
                return values
        made = [_private_copy(make, index) for index in range(start, end)]
        self._all_plain = all_immutable(made)
        return made


def _private_copy(make: Callable[[int], Any], index: int) -> Any:
    """Make a record; copy it if ``make`` may still refer to it or to a part of it."""
    value, holders = _with_holders(make, index)
    if is_immutable(value) or (holders <= _ALONE and _holds_plain(value)):
        return value
    try:
        return copy_record(value)
    except (TypeError, AttributeError, pickle.PicklingError):
        return copy.deepcopy(value)  # a class within a function, say


def _with_holders(make: Callable[[int], Any], index: int) -> tuple[Any, int]:
    value = make(index)
    return value, sys.getrefcount(value)


_ALONE = _with_holders(lambda index: [index], 0)[1]
"""The reference count of a new object that nothing else refers to."""


def _holds_plain(value: Any) -> bool:
    kind = type(value)
    if kind is dict:
        return all_atomic(map(type, value.values()))
    if kind is list:
        return all_atomic(map(type, value))
    if kind is Row:
        return all_atomic(map(type, value._values))
    return has_only_attributes(kind) and all_atomic(map(type, vars(value).values()))


def _accepts_two_arguments(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some builtins have no signature: they get the index alone
        return False
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    needed = [p for p in parameters if p.kind in positional and p.default is p.empty]
    return len(needed) == 2
