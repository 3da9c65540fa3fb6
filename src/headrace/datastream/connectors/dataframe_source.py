"""Any Spark DataFrame, streaming or batch, as a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import PlanError

if TYPE_CHECKING:
    from headrace.datastream.connectors.base import Source


@dataclass(frozen=True, eq=False)
class DataFrameSource:
    """The rows of a DataFrame. Spark itself reads them, so there are no splits and no readers.

    The DataFrame stays with the driver: a copy sent to a worker holds None in its place.
    """

    dataframe: Any
    bounded: bool

    is_dataframe = True
    bad_record_tag = None

    @property
    def name(self) -> str:
        """What the source is called in plans and errors."""
        return "DataFrame"

    def __getstate__(self) -> dict[str, Any]:
        return {"dataframe": None, "bounded": self.bounded}


def from_dataframe(dataframe: Any) -> Source:
    """A source for ``env.from_source`` with the rows of a Spark DataFrame.

    Raises:
        PlanError: it is no DataFrame.
    """
    is_streaming = getattr(dataframe, "isStreaming", None)
    if not isinstance(is_streaming, bool):
        raise PlanError(f"from_dataframe() takes a Spark DataFrame, not {dataframe!r:.100}")
    source: Any = DataFrameSource(dataframe, bounded=not is_streaming)
    return source  # type: ignore[no-any-return]  # used as a Source, though it has no splits
