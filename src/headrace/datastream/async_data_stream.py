"""Asynchronous I/O: declared, not part of this release."""

from headrace.common.unsupported import unsupported

_ASYNC = "asynchronous functions are not part of this release"

AsyncDataStream = unsupported(f"{__name__}.AsyncDataStream", _ASYNC)
