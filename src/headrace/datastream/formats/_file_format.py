"""``FileFormat``: how files are measured, split and read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headrace.common.typeinfo import TypeInformation
from headrace.connector import Chunk, ColumnChunk
from headrace.errors import PlanError

CHUNK_RECORDS = 4096
"""The maximum number of records per chunk."""

COLUMNS_RECORDS = 1 << 16
"""The maximum number of records per chunk of columns; shorter chunks would be less efficient."""


@dataclass(frozen=True)
class FileStats:
    """The size of a file in the units of the format's positions.

    ``extent``: the position of the end. ``units_per_record``, ``bytes_per_unit``: estimates, to
    convert a budget to units. A file that is not ``splittable`` is read from 0 to ``extent`` in one
    range.
    """

    extent: int
    units_per_record: float = 1.0
    bytes_per_unit: float = 1.0
    splittable: bool = True


class FileFormat(ABC):
    """Reads the records of a file. Subclasses must be frozen and picklable, without open files.

    Positions are integers from 0 to the file's extent: bytes for lines, rows for Parquet. The
    records of ``[a, b)`` followed by those of ``[b, c)`` are those of ``[a, c)``, for any b.
    """

    @property
    def record_type(self) -> TypeInformation | None:
        """The type of the records; None if it is not known before reading."""
        return None

    @property
    def bad_record_hint(self) -> str | None:
        """What to do about a record that cannot be decoded."""
        return "send such records to a side output: FileSource…on_error(OutputTag('bad'))"

    @abstractmethod
    def measure(self, path: str, extent: int | None = None) -> FileStats:
        """Return the extent of a file, and estimates of the size of its records.

        The file source calls it when it lists a file, and again after a restart. ``extent``: where
        the file ended when it was listed, or None at first. A format whose files may grow must
        ignore what is after it, so that the same micro-batches are planned again.
        """

    def align(self, path: str, position: int, extent: int, start: int = 0) -> int:
        """Return the first record start at or after ``position``, at most ``extent``.

        The enumerator calls it with a position chosen by size, to end a micro-batch there.
        ``start``: where a record starts before it.
        """
        return min(position, extent)

    @abstractmethod
    def cuts(self, path: str, start: int, end: int, max_range_bytes: int) -> Sequence[int]:
        """Return positions strictly between ``start`` and ``end`` that split the range.

        The enumerator calls it to share a file among tasks. Each piece should have about
        ``max_range_bytes``; the list is empty if the format cannot split the range.
        """

    @abstractmethod
    def read(self, path: str, start: int, end: int, extent: int) -> Iterator[Chunk]:
        """Yield the records that start in ``[start, end)``; nothing after ``extent`` is read.

        Input that cannot be decoded is in ``Chunk.bad``; it raises no error.
        """

    def read_columns(
        self, path: str, start: int, end: int, extent: int
    ) -> Iterator[Chunk | ColumnChunk] | None:
        """Yield the same records as columns, if the format is columnar; otherwise return None."""
        return None

    @property
    def has_columns(self) -> bool:
        """Whether ``read_columns`` may yield columns."""
        return False

    def for_reader(self) -> FileFormat:
        """Return the format for one reader, which may keep files open until it is closed."""
        return self

    def close(self) -> None:
        """Close the files that a format from ``for_reader`` keeps open."""


class BulkFormat(FileFormat):
    """A file format that is read in batches of rows."""


def refuse_hadoop(hadoop_config: Any, what: str) -> None:
    """Check that a Hadoop configuration is empty; PyFlink's examples pass an empty one.

    Raises:
        PlanError: the configuration is not empty.
    """
    properties = hadoop_config.to_dict() if hasattr(hadoop_config, "to_dict") else hadoop_config
    if properties:
        raise PlanError(f"{what} by pyarrow: a Hadoop configuration has no effect")
