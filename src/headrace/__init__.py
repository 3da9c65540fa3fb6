"""Flink's DataStream model in Python, carried by Spark."""

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headrace.datastream.connectors.dataframe_source import from_dataframe

try:
    __version__ = version("headrace")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"

__all__ = ["__version__", "from_dataframe"]


def __getattr__(name: str) -> Any:
    if name == "from_dataframe":  # when asked for: it brings in the API
        from headrace.datastream.connectors.dataframe_source import from_dataframe

        return from_dataframe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
