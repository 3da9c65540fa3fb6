"""Any schema's messages with Confluent's header: strings, CSV, bytes, whatever is registered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.serialization import DeserializationSchema
from headrace.datastream.formats._registry.registry import HEADER_BYTES, schema_id


@dataclass(frozen=True)
class ConfluentHeaderStripper(DeserializationSchema):
    """The records of another schema, in messages that begin with Confluent's header.

    The id in the header is not looked up: the other schema says what is in the message.
    """

    schema: DeserializationSchema

    def deserialize(self, data: bytes) -> Any:
        """The record after the header.

        Raises:
            DecodeError: there is no header, or no record after it.
        """
        schema_id(data)
        return self.schema.deserialize(data[HEADER_BYTES:])
