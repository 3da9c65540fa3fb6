"""Flink's DataStream API in Python, on Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["__version__", "from_dataframe"]

if TYPE_CHECKING:
    __version__: str


def from_dataframe(dataframe: Any) -> Any:
    """Return a source that reads a Spark DataFrame, streaming or batch, for ``env.from_source``.

    Raises:
        PlanError: the argument is not a Spark DataFrame.
    """
    # found by name: this package is imported by every package below the API, and must not import it
    home = import_module("headrace.datastream.connectors._dataframe_source")
    return home.from_dataframe(dataframe)


if not TYPE_CHECKING:

    def __getattr__(name: str) -> str:
        if name != "__version__":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        # imported here: it takes longer than all else that importing headrace does
        from importlib.metadata import PackageNotFoundError, version

        global __version__
        try:
            __version__ = version(__name__)
        except PackageNotFoundError:  # a source tree that was never installed
            __version__ = "0.0.0"
        return __version__
