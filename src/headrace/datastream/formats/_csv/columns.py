"""Blocks of CSV as columns, if pyarrow reads them exactly as the reader of rows does.

A block is checked for everything that the two read differently: quotes, escapes, comments, blank
lines, lone carriage returns, hexadecimal numbers, NaN. A block with any of these, or that pyarrow
rejects, is left to the reader of rows, which reports the bad line and its offset.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headrace.common.typeinfo import BasicType, BasicTypeInfo
from headrace.datastream.formats._csv.schema import CsvSchema

BOM = b"\xef\xbb\xbf"

_ARROW_TYPES: dict[BasicType, str] = {
    BasicType.STRING: "string",
    BasicType.BOOLEAN: "bool",
    BasicType.BYTE: "int8",
    BasicType.SHORT: "int16",
    BasicType.INT: "int32",
    BasicType.LONG: "int64",
    BasicType.BIG_INT: "int64",
    BasicType.DOUBLE: "float64",
}
"""The columns whose texts pyarrow reads as rows are read, or refuses."""


def has_columns(schema: CsvSchema) -> bool:
    """Return whether blocks of files with this schema can be columns."""
    delimiter = schema.dialect.delimiter
    return (
        all(_arrow_type(kind) is not None for kind in schema.types)
        and delimiter.isascii()
        and delimiter not in ("\n", "\r", "\0", schema.dialect.quote, schema.dialect.escape)
        and schema.dialect.null != ""
    )


def _arrow_type(kind: Any) -> str | None:
    return _ARROW_TYPES.get(kind._basic_type) if isinstance(kind, BasicTypeInfo) else None


@dataclass(frozen=True)
class CsvColumns:
    """Reads blocks of complete lines into record batches with the columns of a schema.

    ``columns``: the names in the file's header, or those of the schema if there is no header.
    """

    schema: CsvSchema
    columns: Sequence[str]

    def batch(self, block: bytes) -> Any | None:
        """Return the record batch of a block; None: its lines must be read as rows."""
        import pyarrow as pa
        from pyarrow import csv

        if not self._is_plain(block):
            return None
        # A block is read in one piece.
        options = csv.ReadOptions(
            use_threads=False, block_size=len(block) + 1, column_names=self._numbers
        )
        parsing, converting = self._options
        try:
            table = csv.read_csv(pa.BufferReader(block), options, parsing, converting)
        except pa.ArrowException:
            return None
        (found,) = table.to_batches()
        if any(not _is_finite(found.column(at)) for at in self._floats):
            return None
        return pa.RecordBatch.from_arrays(found.columns, names=[*self.schema.names])

    def _is_plain(self, block: bytes) -> bool:
        """Return whether a block contains only fields, delimiters and line ends."""
        # A byte is found at once where two take long.
        if any(each[-1:] in block and each in block for each in self._specials):
            return False
        if block.startswith(self._starts):
            return False
        if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
            return False
        if block.isascii():
            return True
        try:
            block.decode()  # also of columns that are not selected
        except UnicodeDecodeError:
            return False
        return True

    @cached_property
    def _specials(self) -> tuple[bytes, ...]:
        return self._find_specials()

    def _find_specials(self) -> tuple[bytes, ...]:
        """Return the bytes that pyarrow reads otherwise than the reader of rows does."""
        dialect = self.schema.dialect
        found = [b"\0", b"\n\n", b"\n\r\n"]
        found += [char.encode() for char in (dialect.quote, dialect.escape) if char is not None]
        if self.schema.allow_comments:
            found.append(b"\n#")
        if any(kind != "string" for kind in self._types):
            found += [b"0x", b"0X"]
        return tuple(found)

    @cached_property
    def _starts(self) -> tuple[bytes, ...]:
        # A block inside a file may begin with bytes that pyarrow takes for a byte order mark.
        return (b"\n", b"\r\n", BOM, *((b"#",) if self.schema.allow_comments else ()))

    @cached_property
    def _types(self) -> list[str]:
        return [str(_arrow_type(kind)) for kind in self.schema.types]

    @property
    def _numbers(self) -> list[str]:
        return [str(number) for number in range(len(self.columns))]

    @cached_property
    def _floats(self) -> list[int]:
        return [number for number, kind in enumerate(self._types) if kind == "float64"]

    @cached_property
    def _options(self) -> tuple[Any, Any]:
        return self._make_options()

    def _make_options(self) -> tuple[Any, Any]:
        """Return pyarrow's options of parsing, and of conversion."""
        import pyarrow as pa
        from pyarrow import csv

        dialect = self.schema.dialect
        columns = list(self.columns)
        wanted = [str(columns.index(name)) for name in self.schema.names]
        nulls = [""] if dialect.null is None else [dialect.null]
        if dialect.null is not None and "string" not in self._types:
            nulls.append("")  # an empty field is null in number columns, and text in others
        parsing = csv.ParseOptions(delimiter=dialect.delimiter, quote_char=False, escape_char=False)
        converting = csv.ConvertOptions(
            column_types={
                number: pa.type_for_alias(kind)
                for number, kind in zip(wanted, self._types, strict=True)
            },
            null_values=nulls,
            true_values=["true", "True", "TRUE"],
            false_values=["false", "False", "FALSE"],
            strings_can_be_null=dialect.null is not None,
            include_columns=wanted,
        )
        return parsing, converting


def _is_finite(column: Any) -> bool:
    import pyarrow.compute as pc

    return pc.all(pc.is_finite(column), min_count=0).as_py() is True
