"""An object store in the memory of a process, for tests and for runs without a checkpoint."""

from __future__ import annotations

import threading

from headrace.common._storage.object_store import ObjectStore, require_name, require_prefix


class MemoryStore(ObjectStore):
    """Objects in a dictionary; several threads may use it."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def put(self, name: str, data: bytes) -> None:
        """Store an object; an older one of this name is replaced."""
        with self._lock:
            self._objects[require_name(name)] = bytes(data)

    def put_if_absent(self, name: str, data: bytes) -> bool:
        """Store an object; False where there is one of this name."""
        with self._lock:
            if require_name(name) in self._objects:
                return False
            self._objects[name] = bytes(data)
            return True

    def get(self, name: str) -> bytes | None:
        """Return the object, or None if it does not exist."""
        with self._lock:
            return self._objects.get(require_name(name))

    def list(self, prefix: str = "") -> list[str]:
        require_prefix(prefix)
        with self._lock:
            return sorted(name for name in self._objects if name.startswith(prefix))

    def delete(self, name: str) -> None:
        with self._lock:
            self._objects.pop(require_name(name), None)

    def location(self, name: str) -> str:
        """Return ``memory:`` and the name."""
        return f"memory:{name}"
