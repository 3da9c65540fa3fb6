"""``raw``: the value of the only column, as it is."""

from __future__ import annotations

import codecs
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from headrace.common._options.values import ValueKind
from headrace.errors import SqlValidationError, TypeMismatchError
from headrace.sql.rel import Columns
from headrace.sql.types import (
    BooleanType,
    BytesType,
    CharacterType,
    DoubleType,
    FloatType,
    IntegerType,
    SqlType,
)
from headrace.table._formats.format import Decoded, TableFormat
from headrace.table._formats.rows import RowsBuilder
from headrace.table._options import TableOption

_CHARSET = TableOption("charset", default="UTF-8")
_ENDIANNESS = TableOption(
    "endianness", ValueKind.CHOICE, "big-endian", choices=("big-endian", "little-endian")
)
_CODES = {8: "b", 16: "h", 32: "i", 64: "q"}


@dataclass(frozen=True)
class RawFormat(TableFormat):
    """One column: text, bytes, or the bytes of a number."""

    charset: str = "UTF-8"
    little_endian: bool = False

    identifier = "raw"
    options = (_CHARSET, _ENDIANNESS)

    @classmethod
    def create(cls, table: str, columns: Columns, options: Mapping[str, Any]) -> Self:
        if len(columns) != 1:
            raise SqlValidationError(
                f"table {table!r}: the 'raw' format only supports single physical column, but"
                f" there are {len(columns)}"
            )
        try:
            codecs.lookup(options["charset"])
        except LookupError:
            raise SqlValidationError(
                f"table {table!r}: unsupported 'raw.charset' name: {options['charset']}"
            ) from None
        made = cls(columns, options["charset"], options["endianness"] == "little-endian")
        kind = columns[0].type
        if not isinstance(kind, CharacterType | BytesType) and made._struct(kind) is None:
            raise SqlValidationError(
                f"table {table!r}: the 'raw' format doesn't support {kind} as column type"
            )
        return made

    def decode(self, values: Sequence[bytes]) -> Decoded:
        read, rows = self._reader(), RowsBuilder(self.schema)
        for index, value in enumerate(values):
            try:
                rows.add(index, (read(value),))
            except (ValueError, struct.error) as error:
                rows.bad(index, str(error))
        return rows.build(len(values))

    def encode(self, columns: Sequence[Sequence[Any]], kinds: Sequence[int] | None) -> list[bytes]:
        write = self._writer()
        if None in columns[0]:
            raise TypeMismatchError("the 'raw' format cannot write NULL")
        return [*map(write, columns[0])]

    def _struct(self, kind: SqlType) -> struct.Struct | None:
        order = "<" if self.little_endian else ">"
        match kind:
            case BooleanType():
                return struct.Struct(order + "?")
            case IntegerType():
                return struct.Struct(order + _CODES[kind.bits])
            case FloatType():
                return struct.Struct(order + "f")
            case DoubleType():
                return struct.Struct(order + "d")
        return None

    def _reader(self) -> Callable[[bytes], Any]:
        kind, charset = self.columns[0].type, self.charset
        if isinstance(kind, CharacterType):
            # As Java does, which puts a replacement for bytes that are no text.
            return lambda value: value.decode(charset, "replace")
        if isinstance(kind, BytesType):
            return bytes
        form = self._struct(kind)
        assert form is not None
        return lambda value: form.unpack(value)[0]

    def _writer(self) -> Callable[[Any], bytes]:
        kind, charset = self.columns[0].type, self.charset
        if isinstance(kind, CharacterType):
            return lambda value: str(value).encode(charset, "replace")
        if isinstance(kind, BytesType):
            return bytes
        form = self._struct(kind)
        assert form is not None
        return form.pack
