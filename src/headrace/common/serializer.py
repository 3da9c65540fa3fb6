"""How a value is written to and read from a stream of bytes, by user code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads values of one type; equal to another of its class with equal attributes."""

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write one value."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read one value."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """Writes nothing and reads ``b""``: the namespace of state outside windows."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Nothing."""

    def deserialize(self, stream: BytesIO) -> bytes:
        """``b""``."""
        return b""
