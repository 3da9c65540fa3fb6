"""What a source says of its records; the module's name is PyFlink's."""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.common.typeinfo import TypeInformation

__all__ = ["ResultTypeQueryable"]


class ResultTypeQueryable(ABC):
    """Something that knows the type of what it produces."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """The type of the records."""
