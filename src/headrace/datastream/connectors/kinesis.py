"""Kinesis: there is no such connector; each name says so when it is used."""

from headrace.common._unsupported import unsupported

__all__ = [
    "FlinkKinesisConsumer",
    "KinesisDeserializationSchema",
    "KinesisFirehoseSink",
    "KinesisFirehoseSinkBuilder",
    "KinesisShardAssigner",
    "KinesisStreamsSink",
    "KinesisStreamsSinkBuilder",
    "PartitionKeyGenerator",
    "WatermarkTracker",
]

_REASON = "there is no Kinesis connector"

KinesisShardAssigner = unsupported(f"{__name__}.KinesisShardAssigner", _REASON)
KinesisDeserializationSchema = unsupported(f"{__name__}.KinesisDeserializationSchema", _REASON)
WatermarkTracker = unsupported(f"{__name__}.WatermarkTracker", _REASON)
FlinkKinesisConsumer = unsupported(f"{__name__}.FlinkKinesisConsumer", _REASON)
PartitionKeyGenerator = unsupported(f"{__name__}.PartitionKeyGenerator", _REASON)
KinesisStreamsSink = unsupported(f"{__name__}.KinesisStreamsSink", _REASON)
KinesisStreamsSinkBuilder = unsupported(f"{__name__}.KinesisStreamsSinkBuilder", _REASON)
KinesisFirehoseSink = unsupported(f"{__name__}.KinesisFirehoseSink", _REASON)
KinesisFirehoseSinkBuilder = unsupported(f"{__name__}.KinesisFirehoseSinkBuilder", _REASON)
