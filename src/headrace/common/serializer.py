"""``TypeSerializer``: the base of custom serializers, which write values to a byte stream."""

from __future__ import annotations

from abc import ABC, abstractmethod
from io import BytesIO
from typing import Generic, TypeVar

__all__ = ["TypeSerializer", "VoidNamespaceSerializer"]

T = TypeVar("T")


class TypeSerializer(ABC, Generic[T]):
    """Writes and reads values of one type.

    Two serializers are equal when their classes and attributes are equal.
    """

    @abstractmethod
    def serialize(self, element: T, stream: BytesIO) -> None:
        """Write a value to the stream."""

    @abstractmethod
    def deserialize(self, stream: BytesIO) -> T:
        """Read the next value from the stream."""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class VoidNamespaceSerializer(TypeSerializer[bytes]):
    """The serializer of the empty namespace, which state outside windows has."""

    def serialize(self, element: bytes, stream: BytesIO) -> None:
        """Write nothing: the empty namespace has no content."""

    def deserialize(self, stream: BytesIO) -> bytes:
        """Read nothing, and return ``b""``."""
        return b""
