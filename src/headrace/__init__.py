"""Flink's DataStream model in Python, on Spark."""

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

try:
    __version__ = version("headrace")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"

__all__ = ["__version__", "from_dataframe"]


def from_dataframe(dataframe: Any) -> Any:
    """A source for ``env.from_source``: the rows of a Spark DataFrame, streaming or batch.

    Raises:
        PlanError: it is not a Spark DataFrame.
    """
    # found by name: this package is imported by every package below the API, and must not import it
    home = import_module("headrace.datastream.connectors._dataframe_source")
    return home.from_dataframe(dataframe)
