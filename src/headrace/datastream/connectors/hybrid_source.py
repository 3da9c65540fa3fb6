"""One source after another: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = (
    "one source after another is not part of this release; two Kafka ranges are one source with"
    " stopping offsets, run with headrace.stop.drain: false and then without an end"
)

HybridSource = unsupported(f"{__name__}.HybridSource", _REASON)
HybridSourceBuilder = unsupported(f"{__name__}.HybridSourceBuilder", _REASON)
