"""Where records come from and go to. Names are imported when they are first asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.connector import DeliveryGuarantee, Sink, Source
    from headrace.datastream.connectors.dynamic_kafka import (
        DynamicKafkaSource,
        DynamicKafkaSourceBuilder,
        KafkaMetadataService,
        KafkaRecordDeserializationSchema,
        KafkaStreamSetSubscriber,
        KafkaStreamSubscriber,
        SingleClusterTopicMetadataService,
        StreamPatternSubscriber,
    )
    from headrace.datastream.connectors.file_system import (
        BucketAssigner,
        FileEnumeratorProvider,
        FileSink,
        FileSource,
        FileSourceBuilder,
        FileSplitAssignerProvider,
        OutputFileConfig,
        RollingPolicy,
        StreamFormat,
        StreamingFileSink,
    )
    from headrace.datastream.connectors.jdbc import (
        JdbcConnectionOptions,
        JdbcExecutionOptions,
        JdbcSink,
    )
    from headrace.datastream.connectors.kafka import (
        FlinkKafkaConsumer,
        FlinkKafkaProducer,
        KafkaSource,
        Semantic,
    )
    from headrace.datastream.connectors.number_seq import NumberSequenceSource
    from headrace.datastream.connectors.pulsar import (
        PulsarSource,
        PulsarSourceBuilder,
        StartCursor,
        StopCursor,
    )
    from headrace.datastream.connectors.rabbitmq import RMQConnectionConfig, RMQSink, RMQSource

_HOMES = {
    "DeliveryGuarantee": "base",
    "Sink": "base",
    "Source": "base",
    "DynamicKafkaSource": "dynamic_kafka",
    "DynamicKafkaSourceBuilder": "dynamic_kafka",
    "KafkaMetadataService": "dynamic_kafka",
    "KafkaRecordDeserializationSchema": "dynamic_kafka",
    "KafkaStreamSetSubscriber": "dynamic_kafka",
    "KafkaStreamSubscriber": "dynamic_kafka",
    "SingleClusterTopicMetadataService": "dynamic_kafka",
    "StreamPatternSubscriber": "dynamic_kafka",
    "BucketAssigner": "file_system",
    "FileEnumeratorProvider": "file_system",
    "FileSink": "file_system",
    "FileSource": "file_system",
    "FileSourceBuilder": "file_system",
    "FileSplitAssignerProvider": "file_system",
    "OutputFileConfig": "file_system",
    "RollingPolicy": "file_system",
    "StreamFormat": "file_system",
    "StreamingFileSink": "file_system",
    "JdbcConnectionOptions": "jdbc",
    "JdbcExecutionOptions": "jdbc",
    "JdbcSink": "jdbc",
    "FlinkKafkaConsumer": "kafka",
    "FlinkKafkaProducer": "kafka",
    "KafkaSource": "kafka",
    "Semantic": "kafka",
    "NumberSequenceSource": "number_seq",
    "PulsarSource": "pulsar",
    "PulsarSourceBuilder": "pulsar",
    "StartCursor": "pulsar",
    "StopCursor": "pulsar",
    "RMQConnectionConfig": "rabbitmq",
    "RMQSink": "rabbitmq",
    "RMQSource": "rabbitmq",
}

__all__ = [
    "BucketAssigner",
    "DeliveryGuarantee",
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "FileEnumeratorProvider",
    "FileSink",
    "FileSource",
    "FileSourceBuilder",
    "FileSplitAssignerProvider",
    "FlinkKafkaConsumer",
    "FlinkKafkaProducer",
    "JdbcConnectionOptions",
    "JdbcExecutionOptions",
    "JdbcSink",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaSource",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "NumberSequenceSource",
    "OutputFileConfig",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RMQConnectionConfig",
    "RMQSink",
    "RMQSource",
    "RollingPolicy",
    "Semantic",
    "SingleClusterTopicMetadataService",
    "Sink",
    "Source",
    "StartCursor",
    "StopCursor",
    "StreamFormat",
    "StreamPatternSubscriber",
    "StreamingFileSink",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
