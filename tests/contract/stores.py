"""Stores to test state with."""

from __future__ import annotations


class CountingStore:
    """A ``PageStore`` in memory that counts what it is asked for."""

    def __init__(self) -> None:
        self.records: dict[str, bytes] = {}
        self.reset()

    def reset(self) -> None:
        """Count from zero."""
        self.read: list[str] = []
        self.written: list[str] = []
        self.removed: list[str] = []
        self.moved_bytes = 0

    def get(self, name: str) -> bytes | None:
        """The bytes under a name, or None."""
        data = self.records.get(name)
        self.read.append(name)
        self.moved_bytes += len(data or b"")
        return data

    def put(self, name: str, data: bytes) -> None:
        """Store bytes under a name."""
        self.written.append(name)
        self.moved_bytes += len(data)
        self.records[name] = data

    def remove(self, name: str) -> None:
        """Forget a name."""
        self.removed.append(name)
        self.records.pop(name, None)
