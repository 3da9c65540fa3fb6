"""What ``StreamExecutionEnvironment.create_input`` reads, at PyFlink's path."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """Files, and how records lie in them: ``AvroInputFormat``, say."""

    @abstractmethod
    def files(self) -> tuple[Any, str]:
        """The format (as ``FileSource.for_bulk_file_format`` takes it), and the path."""
