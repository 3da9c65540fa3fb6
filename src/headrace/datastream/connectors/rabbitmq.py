"""RabbitMQ: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the RabbitMQ connector is not part of this release"

RMQConnectionConfig = unsupported(f"{__name__}.RMQConnectionConfig", _REASON)
RMQSource = unsupported(f"{__name__}.RMQSource", _REASON)
RMQSink = unsupported(f"{__name__}.RMQSink", _REASON)
