"""What ``StreamExecutionEnvironment.create_input`` reads, at PyFlink's path."""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.connector import Source

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """A way to read records, with what it reads: ``AvroInputFormat``, say."""

    @abstractmethod
    def source(self) -> Source:
        """The source that reads them."""
