"""``OutputTag``, which names a side output, at PyFlink's path."""

from typing import TYPE_CHECKING

from headrace._lazy_exports import lazy_exports
from headrace.common._output_tag import OutputTag

__all__ = ["OutputTag"]

if not TYPE_CHECKING:  # type checkers find names in their defining modules
    __getattr__ = lazy_exports(__name__)
