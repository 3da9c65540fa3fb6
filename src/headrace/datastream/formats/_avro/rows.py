"""PyFlink's row schemas for Avro: rows from and to the bytes of records, without a registry."""

from __future__ import annotations

from typing import Any

from headrace.common.serialization import DeserializationSchema, SerializationSchema
from headrace.common.typeinfo import RowTypeInfo
from headrace.common.types import Row
from headrace.datastream.formats._avro.decoding import decoder
from headrace.datastream.formats._avro.encoding import encoder
from headrace.datastream.formats._avro.record_types import RecordType
from headrace.datastream.formats._avro.schema import AvroSchema
from headrace.datastream.formats._avro.types import row_type_of_schema
from headrace.errors import DecodeError, TypeMismatchError, UnsupportedError


class AvroRowDeserializationSchema(DeserializationSchema):
    """Rows from messages of Avro without a header.

    Timestamps are without a zone, and mean UTC; times have milliseconds. As in Flink, bytes after
    the record are not looked at.
    """

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _given(record_class, avro_schema_string)
        self._row_type = row_type_of_schema(self._schema)
        self._decode = decoder(
            self._schema, self._schema, RecordType(Row, legacy=True), exact=False
        )

    def __reduce__(self) -> tuple[object, ...]:
        return (AvroRowDeserializationSchema, (None, self._schema.text))

    def get_produced_type(self) -> RowTypeInfo:
        """The type of the rows."""
        return self._row_type

    def deserialize(self, data: bytes) -> Any:
        """The row in the message.

        Raises:
            DecodeError: there is none.
        """
        try:
            return self._decode(data)
        except DecodeError as error:
            raise DecodeError(error.message, where={"record": repr(data[:200])}) from error


class AvroRowSerializationSchema(SerializationSchema):
    """Messages of Avro, without a header, from rows; a timestamp without a zone is in UTC."""

    def __init__(
        self, record_class: str | None = None, avro_schema_string: str | None = None
    ) -> None:
        self._schema = _given(record_class, avro_schema_string)
        row_type_of_schema(self._schema)
        self._encode = encoder(self._schema)

    def __reduce__(self) -> tuple[object, ...]:
        return (AvroRowSerializationSchema, (None, self._schema.text))

    def serialize(self, value: Any) -> bytes:
        """The row as a message.

        Raises:
            TypeMismatchError: it does not fit the schema.
        """
        return self._encode(value)


def _given(record_class: str | None, avro_schema_string: str | None) -> AvroSchema:
    if record_class is not None:
        raise UnsupportedError(
            f"the Java class {record_class!r} is not available: there is no JVM of Flink's",
            hint="pass avro_schema_string, which the class was generated from",
        )
    if avro_schema_string is None:
        raise TypeMismatchError("an Avro row schema needs avro_schema_string")
    return AvroSchema.parse_string(avro_schema_string)
