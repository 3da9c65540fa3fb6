"""One source after another: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the hybrid connector is not part of this release"

HybridSource = unsupported(f"{__name__}.HybridSource", _REASON)
HybridSourceBuilder = unsupported(f"{__name__}.HybridSourceBuilder", _REASON)
