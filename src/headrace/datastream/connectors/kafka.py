"""Kafka: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the Kafka connectors are not part of this release"

FlinkKafkaConsumerBase = unsupported(f"{__name__}.FlinkKafkaConsumerBase", _REASON)
FlinkKafkaConsumer = unsupported(f"{__name__}.FlinkKafkaConsumer", _REASON)
Semantic = unsupported(f"{__name__}.Semantic", _REASON)
FlinkKafkaProducerBase = unsupported(f"{__name__}.FlinkKafkaProducerBase", _REASON)
FlinkKafkaProducer = unsupported(f"{__name__}.FlinkKafkaProducer", _REASON)
KafkaSource = unsupported(f"{__name__}.KafkaSource", _REASON)
KafkaSourceBuilder = unsupported(f"{__name__}.KafkaSourceBuilder", _REASON)
KafkaTopicPartition = unsupported(f"{__name__}.KafkaTopicPartition", _REASON)
KafkaOffsetResetStrategy = unsupported(f"{__name__}.KafkaOffsetResetStrategy", _REASON)
KafkaOffsetsInitializer = unsupported(f"{__name__}.KafkaOffsetsInitializer", _REASON)
KafkaSink = unsupported(f"{__name__}.KafkaSink", _REASON)
KafkaSinkBuilder = unsupported(f"{__name__}.KafkaSinkBuilder", _REASON)
KafkaRecordSerializationSchema = unsupported(f"{__name__}.KafkaRecordSerializationSchema", _REASON)
KafkaRecordSerializationSchemaBuilder = unsupported(
    f"{__name__}.KafkaRecordSerializationSchemaBuilder", _REASON
)
KafkaTopicSelector = unsupported(f"{__name__}.KafkaTopicSelector", _REASON)
