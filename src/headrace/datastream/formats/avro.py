"""Avro: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the Avro format is not part of this release"

AvroSchema = unsupported(f"{__name__}.AvroSchema", _REASON)
GenericRecordAvroTypeInfo = unsupported(f"{__name__}.GenericRecordAvroTypeInfo", _REASON)
AvroInputFormat = unsupported(f"{__name__}.AvroInputFormat", _REASON)
AvroBulkWriters = unsupported(f"{__name__}.AvroBulkWriters", _REASON)
AvroRowDeserializationSchema = unsupported(f"{__name__}.AvroRowDeserializationSchema", _REASON)
AvroRowSerializationSchema = unsupported(f"{__name__}.AvroRowSerializationSchema", _REASON)
