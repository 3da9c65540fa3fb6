"""Savepoints on disk, for tests."""

from __future__ import annotations

import tempfile

from headrace.runtime.savepoint.savepoint import MemorySavepoint


def stored(savepoint: MemorySavepoint) -> MemorySavepoint:
    """Return the savepoint as it comes back from a folder."""
    # Imported here because it imports pyarrow, which most tests do not need.
    from headrace.runtime.savepoint.folder import StoredSavepoint, write_savepoint

    with tempfile.TemporaryDirectory(prefix="headrace-savepoint-") as folder:
        write_savepoint(savepoint, folder)
        found = StoredSavepoint(folder)
        parts = {name: [*found.read(name)] for name in found.manifest.parts}
        return MemorySavepoint(found.manifest, parts)
