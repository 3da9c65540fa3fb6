"""How records become bytes and bytes records, where they enter and leave a job."""

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
    """Makes bytes of records. Subclasses are picklable."""

    @abstractmethod
    def serialize(self, value: Any) -> bytes:
        """The record as bytes.

        Raises:
            TypeMismatchError: this schema cannot write it.
        """


class DeserializationSchema(ABC):
    """Makes records of bytes. Subclasses are picklable."""

    @abstractmethod
    def deserialize(self, data: bytes) -> Any:
        """The record in the bytes.

        Raises:
            DecodeError: there is none; the engine reports the bytes, or stops, as configured.
        """

    def deserialize_all(self, data: Sequence[bytes]) -> list[Any]:
        """What ``deserialize`` gives for each, for schemas that are faster with several at once.

        It raises what ``deserialize`` raises, or any other exception: who called it then asks for
        one after the other.
        """
        return [*map(self.deserialize, data)]


@dataclass(frozen=True)
class SimpleStringSchema(SerializationSchema, DeserializationSchema):
    """Strings as their bytes in a charset."""

    charset: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset(self.charset)

    def serialize(self, value: Any) -> bytes:
        """The string's bytes."""
        if not isinstance(value, str):
            raise _cannot_write(value, "SimpleStringSchema writes str")
        return value.encode(self.charset)

    def deserialize(self, data: bytes) -> str:
        """The string in the bytes; unlike Flink, bytes that are none in this charset raise."""
        try:
            return data.decode(self.charset)
        except UnicodeDecodeError as error:
            raise DecodeError(
                f"not {self.charset}: {error.reason} at byte {error.start}"
            ) from error


@dataclass(frozen=True)
class ByteArraySchema(SerializationSchema, DeserializationSchema):
    """Bytes as they are."""

    def serialize(self, value: Any) -> bytes:
        """The same bytes."""
        if not isinstance(value, bytes | bytearray):
            raise _cannot_write(value, "ByteArraySchema writes bytes")
        return bytes(value)

    def deserialize(self, data: bytes) -> bytes:
        """The same bytes."""
        return data


@dataclass(frozen=True)
class RowFieldExtractorSchema(SerializationSchema):
    """One field of a row, which must hold bytes: a Kafka record's key, say."""

    field_index: int

    def __post_init__(self) -> None:
        if self.field_index < 0:
            raise PlanError(f"the field index is {self.field_index}: it must not be negative")

    def serialize(self, value: Any) -> bytes:
        """The bytes in that field; of a row, a tuple or a list."""
        try:
            field = value[self.field_index]
        except (TypeError, IndexError, KeyError):
            raise _cannot_write(value, f"there is no field {self.field_index}") from None
        if not isinstance(field, bytes | bytearray):
            raise _cannot_write(value, f"field {self.field_index} is no bytes")
        return bytes(field)


@dataclass(frozen=True)
class Encoder:
    """Makes lines of a file of records."""

    charset_name: str = "UTF-8"

    def __post_init__(self) -> None:
        _check_charset(self.charset_name)

    @staticmethod
    def simple_string_encoder(charset_name: str = "UTF-8") -> Encoder:
        """An encoder that writes each record's text and a newline."""
        return Encoder(charset_name)

    def encode(self, value: Any, type_info: TypeInformation | None = None) -> bytes:
        """One line: the text as Flink prints a record of the declared type, else ``str(value)``."""
        text = str(value) if type_info is None else type_info.format(value)
        return f"{text}\n".encode(self.charset_name)


class BulkWriterFactory(ABC):  # noqa: B024 - what a writer needs differs by format
    """A format that writes whole files (Parquet, say): formats derive from it."""


class RowDataBulkWriterFactory(BulkWriterFactory):
    """A bulk format for rows of one declared type."""

    def __init__(self, row_type: TypeInformation) -> None:
        self._row_type = row_type

    def get_row_type(self) -> TypeInformation:
        """The type of the rows."""
        return self._row_type


def _check_charset(name: str) -> None:
    try:
        codecs.lookup(name)
    except LookupError:
        raise PlanError(f"there is no charset {name!r}") from None


def _cannot_write(value: Any, why: str) -> TypeMismatchError:
    return TypeMismatchError(
        f"{why}, not this record",
        where={"value": repr(value)[:120], "type": type(value).__name__},
        hint="map the records before the sink",
    )
