"""What a format of tables is: values of bytes to columns, and columns to values of bytes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

from headrace.common.changelog_mode import ChangelogMode
from headrace.common.serialization import BulkWriterFactory
from headrace.datastream.formats._file_format import FileFormat
from headrace.sql.rel import Columns, arrow_schema, chosen_columns
from headrace.table._formats.column_text import values_of
from headrace.table._options import TableOption

Place = Literal["files", "messages"]


@dataclass(frozen=True)
class BadValue:
    """A value that a format cannot decode: its place in the values, and why."""

    index: int
    reason: str


@dataclass
class Decoded:
    """Rows decoded from values.

    ``batch``: a ``pyarrow.RecordBatch`` with the table's columns. ``origins``: for each row, the
    index of its value, ascending (a numpy array of int64); None: row i is of value i. ``kinds``:
    the row kinds (an int8 array); None: all are inserts. ``bad``: by index. ``skipped``: the
    number of values that are left out, as their errors are ignored.
    """

    batch: Any
    origins: Any | None = None
    kinds: Any | None = None
    bad: list[BadValue] = field(default_factory=list)
    skipped: int = 0


@dataclass(frozen=True)
class TableFormat(ABC):
    """A format, for some columns; it can be pickled."""

    identifier: ClassVar[str]
    options: ClassVar[tuple[TableOption, ...]] = ()
    """The options, without the format's name before them."""
    places: ClassVar[tuple[Place, ...]] = ("files", "messages")
    """Where values of the format can be."""
    encodes_arrays: ClassVar[bool] = False
    """Whether ``encode`` also takes columns as Arrow arrays."""

    columns: Columns

    @classmethod
    @abstractmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        """Return the format of a table. ``options``: a parsed value for each of ``options``.

        Raises:
            SqlValidationError: options contradict each other, or columns have unsupported types.
        """

    @property
    def gives(self) -> ChangelogMode:
        """The row kinds that decoding may give."""
        return ChangelogMode.insert_only()

    @property
    def accepts(self) -> ChangelogMode:
        """The row kinds that can be encoded."""
        return ChangelogMode.insert_only()

    @property
    def schema(self) -> Any:
        """The Arrow schema of the columns."""
        return arrow_schema(self.columns)

    @property
    def bad_value_hint(self) -> str | None:
        """What to do about a value that cannot be decoded."""
        if all(option.key != "ignore-parse-errors" for option in self.options):
            return None
        key = f"{self.identifier}.ignore-parse-errors"
        return f"the table's option {key!r} = 'true' makes such fields NULL, and skips such rows"

    def of_columns(self, names: Collection[str]) -> Self:
        """Return the format that decodes only the columns with these names."""
        return replace(self, columns=chosen_columns(self.columns, names))

    def __getstate__(self) -> dict[str, Any]:
        # Properties that are computed once are not pickled.
        return {each.name: vars(self)[each.name] for each in fields(self)}

    @abstractmethod
    def decode(self, values: Sequence[bytes]) -> Decoded:
        """Return the rows of values, in order."""

    def decode_lines(self, lines: bytes) -> Decoded:
        """Return the rows of the lines of a text; an index is that of a line."""
        return self.decode(split_lines(lines))

    @property
    def may_span_lines(self) -> bool:
        """Whether a value in a file may have several lines."""
        return False

    def is_open(self, lines: bytes, opened: bool = False) -> bool:
        """Return whether the lines end inside a value; ``opened``: they begin in one."""
        return False

    @abstractmethod
    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        """Return the value of each row.

        ``columns``: the Python values of each column, or an Arrow array if the format
        ``encodes_arrays``. ``kinds``: None: all are inserts.

        Raises:
            TypeMismatchError: a row has no form in this format.
        """

    def encode_arrays(self, columns: Sequence[Any], kinds: Sequence[int] | None) -> list[bytes]:
        """Return the same as ``encode``; any column may be an Arrow array."""
        return self.encode(columns if self.encodes_arrays else [*map(values_of, columns)], kinds)


@dataclass(frozen=True)
class BulkTableFormat(TableFormat):
    """A format of whole files, whose values cannot be decoded one by one."""

    @abstractmethod
    def file_format(self) -> FileFormat:
        """Return what reads files; chunks of columns have those of the table that are there."""

    @abstractmethod
    def writer_factory(self) -> BulkWriterFactory:
        """Return what writes files of rows."""


def split_lines(text: bytes) -> list[bytes]:
    r"""Return the lines of a text, without ``\n`` and ``\r\n``."""
    lines = text.split(b"\n")
    if not lines[-1]:
        del lines[-1]
    if b"\r" in text:
        lines = [line.removesuffix(b"\r") for line in lines]
    return lines
