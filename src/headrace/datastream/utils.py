"""``ResultTypeQueryable``, at PyFlink's path."""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.common.typeinfo import TypeInformation

__all__ = ["ResultTypeQueryable"]


class ResultTypeQueryable(ABC):
    """An object that knows the type of the records that it produces."""

    @abstractmethod
    def get_produced_type(self) -> TypeInformation:
        """Return the type of the records."""
