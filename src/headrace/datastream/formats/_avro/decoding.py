"""Bytes of Avro to values."""

from __future__ import annotations

import struct
from collections.abc import Callable
from io import BytesIO
from typing import Any

from headrace.datastream._extras import fastavro
from headrace.datastream.formats._avro.record_types import RecordType
from headrace.datastream.formats._avro.resolution import resolve
from headrace.datastream.formats._avro.schema import AvroSchema
from headrace.errors import DecodeError, HeadraceError

Decode = Callable[[bytes], Any]

TAGGED = {"return_named_type": True, "return_named_type_override": True}

UNREADABLE = (
    ValueError,
    TypeError,
    LookupError,
    ArithmeticError,
    EOFError,
    MemoryError,
    RecursionError,
    struct.error,
)
"""What fastavro raises for bytes that are not of the schema."""


def decoder(
    writer: AvroSchema, reader: AvroSchema, shape: RecordType, exact: bool = True
) -> Decode:
    """A function from bytes, without any header, to the value in them.

    The function raises ``DecodeError`` with the reason in one line. ``exact``: bytes after the
    value are an error, too; Flink ignores them.

    Raises:
        Mismatch: no bytes of the writer's schema can be read by the reader's.
    """
    found = resolve(writer, reader, shape)
    read, layout, convert = fastavro().schemaless_reader, found.layout, found.convert
    options = TAGGED if found.tagged else {}

    def decode(data: bytes) -> Any:
        file = BytesIO(data)
        try:
            value = read(file, layout, None, **options)
            if convert is not None:
                value = convert(value)
        except HeadraceError:
            raise
        except UNREADABLE as error:
            raise DecodeError(unreadable(error)) from error
        if exact and file.tell() != len(data):
            left = len(data) - file.tell()
            raise DecodeError(f"it does not match the schema: {left} bytes are left after its end")
        return value

    return decode


def unreadable(error: BaseException) -> str:
    """Why bytes could not be read, in one line."""
    text = str(error)
    # fastavro's varint reads beyond the end as an index that is out of range
    if isinstance(error, EOFError) or text == "string index out of range":
        return "it is truncated"
    if isinstance(error, UnicodeDecodeError):
        return f"it does not match the schema: a string is not UTF-8 ({error.reason})"
    return f"it does not match the schema: {text or type(error).__name__}"
