# The public names, by the modules that define them. The package reads this file.

from headrace.datastream.connectors.base import (
    DeliveryGuarantee as DeliveryGuarantee,
    Sink as Sink,
    Source as Source,
)
from headrace.datastream.connectors.dynamic_kafka import (
    DynamicKafkaSource as DynamicKafkaSource,
    DynamicKafkaSourceBuilder as DynamicKafkaSourceBuilder,
    KafkaMetadataService as KafkaMetadataService,
    KafkaRecordDeserializationSchema as KafkaRecordDeserializationSchema,
    KafkaStreamSetSubscriber as KafkaStreamSetSubscriber,
    KafkaStreamSubscriber as KafkaStreamSubscriber,
    SingleClusterTopicMetadataService as SingleClusterTopicMetadataService,
    StreamPatternSubscriber as StreamPatternSubscriber,
)
from headrace.datastream.connectors.file_system import (
    BucketAssigner as BucketAssigner,
    FileEnumeratorProvider as FileEnumeratorProvider,
    FileSink as FileSink,
    FileSource as FileSource,
    FileSourceBuilder as FileSourceBuilder,
    FileSplitAssignerProvider as FileSplitAssignerProvider,
    OutputFileConfig as OutputFileConfig,
    RollingPolicy as RollingPolicy,
    StreamFormat as StreamFormat,
    StreamingFileSink as StreamingFileSink,
)
from headrace.datastream.connectors.jdbc import (
    JdbcConnectionOptions as JdbcConnectionOptions,
    JdbcExecutionOptions as JdbcExecutionOptions,
    JdbcSink as JdbcSink,
)
from headrace.datastream.connectors.kafka import (
    FlinkKafkaConsumer as FlinkKafkaConsumer,
    FlinkKafkaProducer as FlinkKafkaProducer,
    KafkaSource as KafkaSource,
    Semantic as Semantic,
)
from headrace.datastream.connectors.number_seq import NumberSequenceSource as NumberSequenceSource
from headrace.datastream.connectors.pulsar import (
    PulsarSource as PulsarSource,
    PulsarSourceBuilder as PulsarSourceBuilder,
    StartCursor as StartCursor,
    StopCursor as StopCursor,
)
from headrace.datastream.connectors.rabbitmq import (
    RMQConnectionConfig as RMQConnectionConfig,
    RMQSink as RMQSink,
    RMQSource as RMQSource,
)
