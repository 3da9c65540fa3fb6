"""Kafka over several clusters: there is no such connector; each name says so when it is used."""

from headrace.common._unsupported import unsupported
from headrace.datastream.connectors._kafka.source.records import (
    KafkaRecordDeserializationSchema as KafkaRecordDeserializationSchema,
)

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]

_REASON = "KafkaSource reads one cluster; a union of several sources reads several"

KafkaMetadataService = unsupported(f"{__name__}.KafkaMetadataService", _REASON)
SingleClusterTopicMetadataService = unsupported(
    f"{__name__}.SingleClusterTopicMetadataService", _REASON
)
KafkaStreamSubscriber = unsupported(f"{__name__}.KafkaStreamSubscriber", _REASON)
KafkaStreamSetSubscriber = unsupported(f"{__name__}.KafkaStreamSetSubscriber", _REASON)
StreamPatternSubscriber = unsupported(f"{__name__}.StreamPatternSubscriber", _REASON)
DynamicKafkaSource = unsupported(f"{__name__}.DynamicKafkaSource", _REASON)
DynamicKafkaSourceBuilder = unsupported(f"{__name__}.DynamicKafkaSourceBuilder", _REASON)
