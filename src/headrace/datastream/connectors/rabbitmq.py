"""RabbitMQ: there is no such connector; each name says so when it is used."""

from headrace.common._unsupported import unsupported

__all__ = [
    "RMQConnectionConfig",
    "RMQSink",
    "RMQSource",
]

_REASON = "there is no RabbitMQ connector"

RMQConnectionConfig = unsupported(f"{__name__}.RMQConnectionConfig", _REASON)
RMQSource = unsupported(f"{__name__}.RMQSource", _REASON)
RMQSink = unsupported(f"{__name__}.RMQSink", _REASON)
