"""Pulsar: there is no such connector; each name says so when it is used."""

from headrace.common._unsupported import unsupported

__all__ = [
    "MessageDelayer",
    "PulsarSink",
    "PulsarSinkBuilder",
    "PulsarSource",
    "PulsarSourceBuilder",
    "RangeGenerator",
    "StartCursor",
    "StopCursor",
    "TopicRoutingMode",
]

_REASON = "there is no Pulsar connector"

StartCursor = unsupported(f"{__name__}.StartCursor", _REASON)
StopCursor = unsupported(f"{__name__}.StopCursor", _REASON)
RangeGenerator = unsupported(f"{__name__}.RangeGenerator", _REASON)
PulsarSource = unsupported(f"{__name__}.PulsarSource", _REASON)
PulsarSourceBuilder = unsupported(f"{__name__}.PulsarSourceBuilder", _REASON)
TopicRoutingMode = unsupported(f"{__name__}.TopicRoutingMode", _REASON)
MessageDelayer = unsupported(f"{__name__}.MessageDelayer", _REASON)
PulsarSink = unsupported(f"{__name__}.PulsarSink", _REASON)
PulsarSinkBuilder = unsupported(f"{__name__}.PulsarSinkBuilder", _REASON)
