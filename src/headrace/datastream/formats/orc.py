"""ORC: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_REASON = "the ORC format is not part of this release"

OrcBulkWriters = unsupported(f"{__name__}.OrcBulkWriters", _REASON)
