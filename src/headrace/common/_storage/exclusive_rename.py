"""An atomic rename that fails if the target exists, which ``os`` does not have."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache

_AT_FDCWD = -100
_RENAME_NOREPLACE = 1  # Linux 3.15, glibc 2.28
_RENAME_EXCL = 4  # macOS 10.12
_NOT_SUPPORTED = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP)

Call = Callable[[bytes, bytes], int]


def rename_exclusively(source: str, target: str) -> bool | None:
    """Rename a file; False where the target exists.

    None where the operating system or the file system does not support it.

    Raises:
        OSError: the rename failed for another reason.
    """
    call = _system_call()
    if call is None:
        return None
    if call(os.fsencode(source), os.fsencode(target)) == 0:
        return True
    import ctypes  # only file sinks need it

    number = ctypes.get_errno()
    if number == errno.EEXIST:
        return False
    if number in _NOT_SUPPORTED:
        return None
    raise OSError(number, os.strerror(number), source, None, target)


@cache
def _system_call() -> Call | None:
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    try:
        if sys.platform == "darwin":
            exclusive = library.renamex_np
            return lambda source, target: int(exclusive(source, target, _RENAME_EXCL))
        rename = library.renameat2
    except AttributeError:
        return None
    return lambda source, target: int(
        rename(_AT_FDCWD, source, _AT_FDCWD, target, _RENAME_NOREPLACE)
    )
