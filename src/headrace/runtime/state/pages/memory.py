"""Pages in memory."""

from __future__ import annotations

from collections.abc import Mapping


class MemoryPages:
    """A ``PageStore`` in a dictionary: ``records``, by name."""

    def __init__(self, records: Mapping[str, bytes] | None = None) -> None:
        self.records: dict[str, bytes] = dict(records or {})

    def get(self, name: str) -> bytes | None:
        """Return the bytes under a name, or None."""
        return self.records.get(name)

    def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name."""
        self.records[name] = data

    def remove(self, name: str) -> None:
        """Remove a name; a missing one is no error."""
        self.records.pop(name, None)
