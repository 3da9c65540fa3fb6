"""Pulsar: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the Pulsar connector is not part of this release"

StartCursor = unsupported(f"{__name__}.StartCursor", _REASON)
StopCursor = unsupported(f"{__name__}.StopCursor", _REASON)
RangeGenerator = unsupported(f"{__name__}.RangeGenerator", _REASON)
PulsarSource = unsupported(f"{__name__}.PulsarSource", _REASON)
PulsarSourceBuilder = unsupported(f"{__name__}.PulsarSourceBuilder", _REASON)
TopicRoutingMode = unsupported(f"{__name__}.TopicRoutingMode", _REASON)
MessageDelayer = unsupported(f"{__name__}.MessageDelayer", _REASON)
PulsarSink = unsupported(f"{__name__}.PulsarSink", _REASON)
PulsarSinkBuilder = unsupported(f"{__name__}.PulsarSinkBuilder", _REASON)
