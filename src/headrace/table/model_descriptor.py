"""Models."""

from headrace.common._unsupported import unsupported

__all__ = [
    "ModelDescriptor",
]

_REASON = "models are not supported: call one in a function of yours"
ModelDescriptor = unsupported("headrace.table.model_descriptor.ModelDescriptor", _REASON)
