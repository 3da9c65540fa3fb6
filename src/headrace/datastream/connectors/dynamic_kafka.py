"""Kafka over several clusters: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the Kafka connectors are not part of this release"

KafkaMetadataService = unsupported(f"{__name__}.KafkaMetadataService", _REASON)
SingleClusterTopicMetadataService = unsupported(
    f"{__name__}.SingleClusterTopicMetadataService", _REASON
)
KafkaStreamSubscriber = unsupported(f"{__name__}.KafkaStreamSubscriber", _REASON)
KafkaStreamSetSubscriber = unsupported(f"{__name__}.KafkaStreamSetSubscriber", _REASON)
StreamPatternSubscriber = unsupported(f"{__name__}.StreamPatternSubscriber", _REASON)
KafkaRecordDeserializationSchema = unsupported(
    f"{__name__}.KafkaRecordDeserializationSchema", _REASON
)
DynamicKafkaSource = unsupported(f"{__name__}.DynamicKafkaSource", _REASON)
DynamicKafkaSourceBuilder = unsupported(f"{__name__}.DynamicKafkaSourceBuilder", _REASON)
