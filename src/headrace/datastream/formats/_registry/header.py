"""Messages of any schema with Confluent's header."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.common.serialization import DeserializationSchema
from headrace.datastream.formats._registry.registry import HEADER_BYTES, schema_id


@dataclass(frozen=True)
class ConfluentHeaderStripper(DeserializationSchema):
    """Deserializes messages that begin with Confluent's header, using another schema.

    The schema id in the header is ignored: the other schema describes the message.
    """

    schema: DeserializationSchema

    def deserialize(self, data: bytes) -> Any:
        """Return the record after the header.

        Raises:
            DecodeError: there is no header, or no valid record after it.
        """
        schema_id(data)
        return self.schema.deserialize(data[HEADER_BYTES:])
