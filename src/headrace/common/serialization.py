"""Schemas and encoders: conversion of records to and from bytes in sources and sinks."""

from __future__ import annotations

import codecs
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace._lazy_exports import lazy_exports
from headrace.common._types.information import TypeInformation
from headrace.errors import DecodeError, PlanError, TypeMismatchError

__all__ = [
    "BulkWriterFactory",
    "ByteArraySchema",
    "DeserializationSchema",
    "Encoder",
    "RowDataBulkWriterFactory",
    "RowFieldExtractorSchema",
    "SerializationSchema",
    "SimpleStringSchema",
]

if not TYPE_CHECKING:  # a type checker asks for names where they are defined
    __getattr__ = lazy_exports(__name__)


class SerializationSchema(ABC):
    """Converts records to bytes. Instances must pickle."""

    @abstractmethod
    def serialize(self, value: Any) -> bytes:
        """Convert a record to bytes.

        Raises:
            TypeMismatchError: the schema cannot serialize this record.
        """


class DeserializationSchema(ABC):
    """Converts bytes to records. Instances must pickle."""

    @abstractmethod
    def deserialize(self, data: bytes) -> Any:
        """Convert bytes to a record.

        Raises:
            DecodeError: the bytes are not a record; the source then stops, or emits the bytes as
                a bad record, as configured.
        """

    def deserialize_all(self, data: Sequence[bytes]) -> list[Any]:
        """Deserialize several records at once; override it where that is faster.

        If it raises any exception, the caller calls ``deserialize`` for each record instead.
        """
        return [*map(self.deserialize, data)]


@dataclass(frozen=True)
class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Converts strings to bytes of a charset, and back."""

    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset(self.charset)

    def serialize(self, value: Any) -> bytes:
        """Encode the string.

        Raises:
            TypeMismatchError: the value is not a str.
        """
        if not isinstance(value, str):
            raise _cannot_write(value, "SimpleStringSchema writes str")
        return value.encode(self.charset)

    def deserialize(self, data: bytes) -> str:
        """Decode the bytes to a string.

        Raises:
            DecodeError: the bytes are not text in this charset (Flink replaces them).
        """
        try:
            return data.decode(self.charset)
        except UnicodeDecodeError as error:
            raise DecodeError(
                f"not {self.charset}: {error.reason} at byte {error.start}"
            ) from error


@dataclass(frozen=True)
class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Passes bytes on unchanged."""

    def serialize(self, value: Any) -> bytes:
        """Return the bytes unchanged."""
        if not isinstance(value, bytes | bytearray):
            raise _cannot_write(value, "ByteArraySchema writes bytes")
        return bytes(value)

    def deserialize(self, data: bytes) -> bytes:
        """Return the bytes unchanged."""
        return data


@dataclass(frozen=True)
class RowFieldExtractorSchema(SerializationSchema):
    """Takes the bytes in one field of a row, for example the key of a Kafka record."""

    field_index: int

    def __post_init__(self) -> None:
        if self.field_index < 0:
            raise PlanError(f"the field index is {self.field_index}", hint="it must be 0 or more")

    def serialize(self, value: Any) -> bytes:
        """Return the bytes in that field of a row, tuple or list.

        Raises:
            TypeMismatchError: there is no such field, or it does not contain bytes.
        """
        try:
            field = value[self.field_index]
        except (TypeError, IndexError, KeyError):
            raise _cannot_write(value, f"there is no field {self.field_index}") from None
        if not isinstance(field, bytes | bytearray):
            raise _cannot_write(value, f"field {self.field_index} is not bytes")
        return bytes(field)


@dataclass(frozen=True)
class Encoder:
    """Encodes records as lines of a text file."""

    charset_name: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset(self.charset_name)

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """Return an encoder that writes ``str(record)`` and a newline."""
        return Encoder(charset_name)

    def encode(self, value: Any, type_info: TypeInformation | None = None) -> bytes:
        """Return the record's line: with ``type_info`` as Flink formats it, else ``str(value)``."""
        text = str(value) if type_info is None else type_info.format(value)
        return f"{text}\n".encode(self.charset_name)


class BulkWriterFactory(ABC):  # noqa: B024 - the arguments of a writer differ by format
    """The base of writers of bulk formats, such as Parquet."""


class RowDataBulkWriterFactory(BulkWriterFactory):
    """The base of writers of bulk formats for rows of a declared type."""

    def __init__(self, row_type: TypeInformation) -> None:
        self._row_type = row_type

    def get_row_type(self) -> TypeInformation:
        """Return the type of the rows."""
        return self._row_type


def _check_charset(name: str) -> None:
    """Raise PlanError if Python has no codec of this name."""
    try:
        codecs.lookup(name)
    except LookupError:
        raise PlanError(
            f"there is no charset {name!r}", hint="give the name of a Python codec, such as UTF-8"
        ) from None


def _cannot_write(value: Any, why: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"{why}, not this record",
        where={"value": repr(value)[:120], "type": type(value).__name__},
        hint="convert the records with map() before the sink",
    )
