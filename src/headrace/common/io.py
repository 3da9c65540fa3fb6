"""``InputFormat``, which ``StreamExecutionEnvironment.create_input`` takes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """Files with their format, such as ``AvroInputFormat``."""

    @abstractmethod
    def files(self) -> tuple[Any, str]:
        """The format, as for ``FileSource.for_bulk_file_format``, and the path."""
