"""Types of other packages, such as tables, where the DataStream API takes a type.

A package that has such types registers how they are converted.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any


@singledispatch
def as_type_information(given: Any) -> Any:
    """Return the ``TypeInformation`` of a type; what is no type of another package stays."""
    return given


@singledispatch
def as_arrow_schema(given: Any) -> Any:
    """Return the pyarrow schema of a row type; what is no type of another package stays."""
    return given
