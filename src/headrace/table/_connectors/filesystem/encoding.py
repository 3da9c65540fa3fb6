"""Rows written to files: their lines, and their folders."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from headrace.common.types import Row, RowKind
from headrace.connector import ColumnChunk
from headrace.datastream.connectors._files.rolling import BucketAssigner
from headrace.sql.types import DateType, SqlType, TimestampLtzType, TimeType
from headrace.table._connectors.chunks import python_columns
from headrace.table._formats.format import TableFormat
from headrace.table._formats.value_text import value_text

_EPOCH = datetime.date(1970, 1, 1)
_ESCAPED = {*"\"#%'*/:=?\\\x7f{[]^", *map(chr, range(1, 32))}
"""The characters that Flink escapes in the name of a partition's folder."""


@dataclass(frozen=True)
class TableLineEncoder:
    """Encodes rows as lines. ``kept``: the positions of the columns that are written."""

    format: TableFormat
    kept: tuple[int, ...]
    takes_columns = True

    def encode(self, value: Row) -> bytes:
        """Return the line of a row."""
        return self.encode_all((value,))

    def encode_all(self, values: Sequence[Row]) -> bytes:
        """Return the lines of rows."""
        columns = python_columns(values, len(self.kept))
        kinds = [row.get_row_kind().value for row in values]
        changes = None if set(kinds) <= {RowKind.INSERT.value} else kinds
        return _joined(self.format.encode([columns[place] for place in self.kept], changes))

    def encode_columns(self, chunk: ColumnChunk) -> bytes:
        """Return the lines of rows as columns, which are all inserts."""
        columns = [chunk.batch.column(place) for place in self.kept]
        return _joined(self.format.encode_arrays(columns, None))


def _joined(lines: Sequence[bytes]) -> bytes:
    return b"\n".join([*lines, b""]) if lines else b""


@dataclass(frozen=True)
class PartitionFolders(BucketAssigner):
    """Chooses the folder ``key=value/…`` of a row."""

    keys: tuple[str, ...]
    places: tuple[int, ...]
    types: tuple[SqlType, ...]
    default: str

    def get_bucket_id(self, value: Row, timestamp: int | None) -> str:
        """Return the folder of a row."""
        return "/".join(
            [
                f"{key}={self._folder(text(value[place]), value[place])}"
                for key, place, text in zip(self._names, self.places, self._texts, strict=True)
            ]
        )

    def _folder(self, text: str, value: Any) -> str:
        if value is None or not text.strip():
            return self.default
        return escape_folder(text)

    @cached_property
    def _names(self) -> list[str]:
        return [*map(escape_folder, self.keys)]

    @cached_property
    def _texts(self) -> list[Callable[[Any], str]]:
        return [*map(_folder_text, self.types)]

    def __getstate__(self) -> dict[str, Any]:
        return {each.name: vars(self)[each.name] for each in fields(self)}


def _folder_text(kind: SqlType) -> Callable[[Any], str]:
    """Return a function to the text of a value in a path: Flink's own form of the value."""
    write = value_text(kind)
    match kind:
        case DateType():
            return lambda day: "" if day is None else str((day - _EPOCH).days)
        case TimeType():
            return lambda time: "" if time is None else str(_milliseconds(time))
        case TimestampLtzType():
            return lambda moment: write(moment).removesuffix("Z")
    return write


def _milliseconds(time: datetime.time) -> int:
    seconds = (time.hour * 60 + time.minute) * 60 + time.second
    return seconds * 1000 + time.microsecond // 1000


def escape_folder(text: str) -> str:
    """Return a key or value as a part of a path, as Flink writes it."""
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)
