"""Kafka as a source and a sink; all names that PyFlink has at this path can be imported here."""

from headrace.common._unsupported import unsupported
from headrace.connector import DeliveryGuarantee
from headrace.datastream.connectors._kafka.sink.serialization import (
    KafkaProducerRecord,
    KafkaRecordSerializationSchema,
    KafkaRecordSerializationSchemaBuilder,
    KafkaSinkContext,
    KafkaTopicSelector,
)
from headrace.datastream.connectors._kafka.sink.sink import KafkaSink, KafkaSinkBuilder
from headrace.datastream.connectors._kafka.sink.timestamps import RecordTimestamp
from headrace.datastream.connectors._kafka.source.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.datastream.connectors._kafka.source.records import (
    BadKafkaRecord,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from headrace.datastream.connectors._kafka.source.source import KafkaSource, KafkaSourceBuilder

_OLD = "Flink removed it; use KafkaSource"
_OLD_SINK = "Flink removed it; use KafkaSink"

FlinkKafkaConsumerBase = unsupported(f"{__name__}.FlinkKafkaConsumerBase", _OLD)
FlinkKafkaConsumer = unsupported(f"{__name__}.FlinkKafkaConsumer", _OLD)
Semantic = unsupported(f"{__name__}.Semantic", _OLD_SINK)
FlinkKafkaProducerBase = unsupported(f"{__name__}.FlinkKafkaProducerBase", _OLD_SINK)
FlinkKafkaProducer = unsupported(f"{__name__}.FlinkKafkaProducer", _OLD_SINK)

__all__ = [
    "BadKafkaRecord",
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaProducerRecord",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSinkContext",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "RecordTimestamp",
    "Semantic",
]
