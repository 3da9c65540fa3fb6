"""Kafka as a source; everything that PyFlink has at this path is importable from here."""

from headrace.common.unsupported import unsupported
from headrace.connector import DeliveryGuarantee
from headrace.datastream.connectors.kafka.offsets import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
)
from headrace.datastream.connectors.kafka.records import (
    BadKafkaRecord,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
)
from headrace.datastream.connectors.kafka.source import KafkaSource, KafkaSourceBuilder

_OLD = "Flink removed it; use KafkaSource"
_SINK = "writing to Kafka is not part of this release"

FlinkKafkaConsumerBase = unsupported(f"{__name__}.FlinkKafkaConsumerBase", _OLD)
FlinkKafkaConsumer = unsupported(f"{__name__}.FlinkKafkaConsumer", _OLD)
Semantic = unsupported(f"{__name__}.Semantic", _SINK)
FlinkKafkaProducerBase = unsupported(f"{__name__}.FlinkKafkaProducerBase", _SINK)
FlinkKafkaProducer = unsupported(f"{__name__}.FlinkKafkaProducer", _SINK)
KafkaSink = unsupported(f"{__name__}.KafkaSink", _SINK)
KafkaSinkBuilder = unsupported(f"{__name__}.KafkaSinkBuilder", _SINK)
KafkaRecordSerializationSchema = unsupported(f"{__name__}.KafkaRecordSerializationSchema", _SINK)
KafkaRecordSerializationSchemaBuilder = unsupported(
    f"{__name__}.KafkaRecordSerializationSchemaBuilder", _SINK
)
KafkaTopicSelector = unsupported(f"{__name__}.KafkaTopicSelector", _SINK)

__all__ = [
    "BadKafkaRecord",
    "DeliveryGuarantee",
    "FlinkKafkaConsumer",
    "FlinkKafkaConsumerBase",
    "FlinkKafkaProducer",
    "FlinkKafkaProducerBase",
    "KafkaOffsetResetStrategy",
    "KafkaOffsetsInitializer",
    "KafkaRecord",
    "KafkaRecordDeserializationSchema",
    "KafkaRecordSerializationSchema",
    "KafkaRecordSerializationSchemaBuilder",
    "KafkaSink",
    "KafkaSinkBuilder",
    "KafkaSource",
    "KafkaSourceBuilder",
    "KafkaTopicPartition",
    "KafkaTopicSelector",
    "Semantic",
]
