"""Columns of a file's rows that are not in the file: of its path, and about the file."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any
from urllib.parse import unquote

from headrace.common._storage.file_system import ListedFile
from headrace.common._storage.locations import stat_file
from headrace.errors import SqlValidationError, TypeMismatchError
from headrace.sql.evaluate import compile_condition
from headrace.sql.expressions import Expression, columns_of
from headrace.sql.functions.function import Session
from headrace.sql.rel import Columns, arrow_schema, chosen_columns
from headrace.sql.types import (
    BIGINT,
    STRING,
    TimestampLtzType,
    to_arrow,
)
from headrace.table._connectors.connector import MetadataField, TableRequest
from headrace.table._formats.moments import read_time_ms

METADATA = {
    "file.path": STRING.with_nullable(False),
    "file.name": STRING.with_nullable(False),
    "file.size": BIGINT.with_nullable(False),
    "file.modification-time": TimestampLtzType(3, nullable=False),
}


@dataclass(frozen=True)
class FileColumns:
    """Adds columns to the rows of a file, and puts all in the order of the table.

    ``columns``: of the table. ``metadata``: by column, its key. ``default_partition``: the name of
    a folder whose value is NULL or empty. ``projection``: the names of the columns to give; None:
    all. ``where``: files whose rows do not meet this condition are left out. ``time_zone``: that of
    the session.
    """

    columns: Columns
    metadata: tuple[MetadataField, ...] = ()
    partition_keys: tuple[str, ...] = ()
    default_partition: str = ""
    projection: tuple[str, ...] | None = None
    where: Expression | None = None
    time_zone: str = "UTC"

    @property
    def in_files(self) -> Columns:
        """The columns that files hold."""
        others = self.columns_of_files
        return tuple(each for each in self.columns if each.name not in others)

    @property
    def columns_of_files(self) -> frozenset[str]:
        """The columns with the same value in all rows of a file."""
        return frozenset((*self.partition_keys, *(each.name for each in self.metadata)))

    @property
    def decoded(self) -> tuple[str, ...]:
        """The columns of files that are needed; at least one, by which rows are counted."""
        names = tuple(column.name for column in self.in_files)
        given = frozenset(self._schema.names)
        return tuple(each for each in names if each in given) or names[:1]

    def for_file(self, path: str) -> Callable[[Any], Any]:
        """Return a function from a batch of the columns ``decoded`` to one of those to give."""
        if [*self.decoded] == self._schema.names:
            return lambda batch: batch
        import pyarrow as pa

        schema = self._schema
        names = self.columns_of_files.intersection(schema.names)
        is_known = names.isdisjoint(each.name for each in self.metadata)
        values = self._values_of(ListedFile(path, 0, 0) if is_known else stat_file(path), names)

        def complete(batch: Any) -> Any:
            count = batch.num_rows
            arrays = [
                pa.repeat(values[field.name], count)
                if field.name in values
                else batch.column(field.name)
                for field in schema
            ]
            return pa.RecordBatch.from_arrays(arrays, names=schema.names)

        return complete

    def takes(self, file: ListedFile) -> bool:
        """Return whether the rows of a file meet the condition.

        Raises:
            SqlValidationError: the path lacks a folder of a partition.
            TypeMismatchError: a folder's name is no value of its column.
        """
        if self.where is None:
            return True
        import pyarrow as pa

        schema, holds = self._compiled
        values = self._values_of(file, schema.names)
        arrays = [pa.repeat(values[name], 1) for name in schema.names]
        batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
        return bool(holds(batch, Session(self.time_zone)).true_count)

    @cached_property
    def _compiled(self) -> tuple[Any, Any]:
        """The columns of the condition, and its function."""
        assert self.where is not None
        schema = arrow_schema(chosen_columns(self.columns, columns_of(self.where)))
        return schema, compile_condition(self.where, schema)

    @cached_property
    def _schema(self) -> Any:
        return arrow_schema(chosen_columns(self.columns, self.projection))

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: vars(self)[each.name] for each in fields(self)}

    def _values_of(self, file: ListedFile, names: Collection[str]) -> dict[str, Any]:
        """Return the values of some columns of a file, as Arrow scalars."""
        import pyarrow as pa

        known: dict[str, Any] = {
            "file.path": file.path,
            "file.name": os.path.basename(file.path),
            "file.size": file.size_bytes,
            "file.modification-time": file.mtime_ms,
        }
        values = {each.name: known[each.key] for each in self.metadata}
        if self.partition_keys:
            values |= self._partition_of(file.path)
        scalars: dict[str, Any] = {}
        for column in chosen_columns(self.columns, names):
            name, kind, value = column.name, to_arrow(column.type), values[column.name]
            try:
                scalars[name] = _scalar(value, kind, pa)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
                raise TypeMismatchError(
                    f"column {name!r} is {kind}, and for a file it is {value!r}",
                    where={"file": file.path, "reason": str(error)},
                ) from None
        return scalars

    def _partition_of(self, path: str) -> dict[str, Any]:
        folders = dict(
            part.split("=", 1) for part in os.path.dirname(path).split("/") if "=" in part
        )
        found: dict[str, Any] = {}
        for key in self.partition_keys:
            text = folders.get(key)
            if text is None:
                raise SqlValidationError(
                    f"the path {path!r} has no folder {key}=…, which the table is partitioned by"
                )
            text = unquote(text)
            found[key] = None if text == self.default_partition else text
        return found


def _scalar(value: Any, kind: Any, pa: Any) -> Any:
    if isinstance(value, str) and (pa.types.is_date(kind) or pa.types.is_time(kind)):
        if value.lstrip("-").isdecimal():  # as Flink writes it: days, or ms
            return pa.scalar(int(value), pa.int32()).cast(kind)
        if pa.types.is_time(kind):
            return pa.scalar(read_time_ms(value), pa.int32()).cast(kind)
    if isinstance(value, str) and kind != pa.string():
        return pa.scalar(value, pa.string()).cast(kind)
    if isinstance(value, int) and pa.types.is_timestamp(kind):
        return pa.scalar(value, pa.timestamp("ms", "UTC")).cast(kind)
    return pa.scalar(value, kind)


def check_metadata(request: TableRequest) -> None:
    """Check that the keys of metadata columns exist.

    Raises:
        SqlValidationError: one does not.
    """
    for each in request.metadata:
        if each.key not in METADATA:
            raise SqlValidationError(
                f"table {request.name!r}: there is no metadata {each.key!r} in files",
                where={"column": each.name, "metadata": ", ".join(METADATA)},
            )


def check_partition_keys(request: TableRequest) -> None:
    """Check the columns by which a table is partitioned.

    Raises:
        SqlValidationError: one does not exist, or there are no others.
    """
    names = {column.name for column in request.columns}
    for key in request.partition_keys:
        if key not in names:
            raise SqlValidationError(
                f"table {request.name!r} is partitioned by {key!r}, which is not a column of it"
            )
    if request.partition_keys and len(request.partition_keys) == len(names):
        raise SqlValidationError(
            f"table {request.name!r} has no columns but those that it is partitioned by"
        )
