"""``InputFormat``, the argument of ``StreamExecutionEnvironment.create_input``."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

__all__ = ["InputFormat"]


class InputFormat(ABC):
    """A path of files and the format to read them with, such as ``AvroInputFormat``."""

    @abstractmethod
    def files(self) -> tuple[Any, str]:
        """Return the format (as for ``FileSource.for_bulk_file_format``) and the path."""
